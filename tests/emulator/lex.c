/* SPDX-License-Identifier: Apache-2.0 */
#include "lex.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER = 64 };

void ptx_lex_start(ptx_lexer *lexer, const char *text, const char *end)
{
  *lexer = (ptx_lexer){text, end, text, 1};
}

bool ptx_name_is(ptx_name name, const char *text)
{
  return strlen(text) == name.length && memcmp(name.at, text, name.length) == 0;
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static int hex_digit(char c)
{
  if (is_digit(c)) {
    return c - '0';
  }
  const char lower = (char)(c | 32);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool skip_comment(ptx_lexer *lexer)
{
  if (lexer->end - lexer->at < 2 || lexer->at[0] != '/') {
    return false;
  }
  if (lexer->at[1] == '/') {
    while (lexer->at < lexer->end && *lexer->at != '\n') {
      lexer->at++;
    }
    return true;
  }
  if (lexer->at[1] != '*') {
    return false;
  }
  lexer->at += 2;
  while (lexer->end - lexer->at >= 2 && (lexer->at[0] != '*' || lexer->at[1] != '/')) {
    if (*lexer->at == '\n') {
      lexer->line++;
      lexer->line_start = lexer->at + 1;
    }
    lexer->at++;
  }
  lexer->at = lexer->end - lexer->at >= 2 ? lexer->at + 2 : lexer->end;
  return true;
}

static void skip_blanks(ptx_lexer *lexer)
{
  while (lexer->at < lexer->end) {
    const char c = *lexer->at;
    if (c == '\n') {
      lexer->line++;
      lexer->line_start = ++lexer->at;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      lexer->at++;
    } else if (!skip_comment(lexer)) {
      return;
    }
  }
}

/* Exactly count hexadecimal digits behind "0f" or "0d". */
static bool read_bits(const char *digits, size_t length, size_t count, uint64_t *bits_out)
{
  if (length != count) {
    return false;
  }
  uint64_t bits = 0;
  for (size_t i = 0; i < length; i++) {
    const int digit = hex_digit(digits[i]);
    if (digit < 0) {
      return false;
    }
    bits = bits << 4 | (uint64_t)digit;
  }
  *bits_out = bits;
  return true;
}

static bool read_integer(const char *digits, size_t length, uint64_t *bits_out)
{
  unsigned base = 10;
  size_t i = 0;
  if (length > 1 && (digits[length - 1] == 'U' || digits[length - 1] == 'u')) {
    length--;
  }
  if (length > 2 && digits[0] == '0' && (digits[1] | 32) == 'x') {
    base = 16;
    i = 2;
  } else if (length > 2 && digits[0] == '0' && (digits[1] | 32) == 'b') {
    base = 2;
    i = 2;
  } else if (length > 1 && digits[0] == '0') {
    base = 8;
    i = 1;
  }
  uint64_t value = 0;
  for (; i < length; i++) {
    const int digit = hex_digit(digits[i]);
    if (digit < 0 || (unsigned)digit >= base || value > (UINT64_MAX - (unsigned)digit) / base) {
      return false;
    }
    value = value * base + (unsigned)digit;
  }
  *bits_out = value;
  return true;
}

static bool read_decimal(const char *digits, size_t length, uint64_t *bits_out)
{
  char copy[MAX_NUMBER];
  if (length >= sizeof copy) {
    return false;
  }
  memcpy(copy, digits, length);
  copy[length] = 0;
  char *end = NULL;
  const double value = strtod(copy, &end);
  memcpy(bits_out, &value, sizeof value);
  return end == copy + length;
}

/* A decimal number with a point: the point and an exponent's sign belong to it. */
static bool take_fraction(ptx_lexer *lexer)
{
  const char *at = lexer->at;
  if (at >= lexer->end || *at != '.' || lexer->end - at < 2 || !is_digit(at[1])) {
    return false;
  }
  at++;
  while (at < lexer->end && is_digit(*at)) {
    at++;
  }
  if (at < lexer->end && (*at | 32) == 'e') {
    at++;
    if (at < lexer->end && (*at == '+' || *at == '-')) {
      at++;
    }
    while (at < lexer->end && is_digit(*at)) {
      at++;
    }
  }
  lexer->at = at;
  return true;
}

static void lex_number(ptx_lexer *lexer, ptx_token *token)
{
  const char *start = lexer->at;
  while (lexer->at < lexer->end && is_word(*lexer->at)) {
    lexer->at++;
  }
  const size_t whole = (size_t)(lexer->at - start);
  const char second = whole > 1 ? (char)(start[1] | 32) : 0;
  bool ok;
  if (start[0] == '0' && second == 'f') {
    token->kind = PTX_F32_NUMBER;
    ok = read_bits(start + 2, whole - 2, 8, &token->bits);
  } else if (start[0] == '0' && second == 'd') {
    token->kind = PTX_F64_NUMBER;
    ok = read_bits(start + 2, whole - 2, 16, &token->bits);
  } else if (take_fraction(lexer)) {
    token->kind = PTX_F64_NUMBER;
    ok = read_decimal(start, (size_t)(lexer->at - start), &token->bits);
  } else {
    token->kind = PTX_INTEGER_NUMBER;
    ok = read_integer(start, whole, &token->bits);
  }
  if (!ok) {
    token->kind = PTX_BAD;
  }
}

static void lex_string(ptx_lexer *lexer, ptx_token *token)
{
  const char *start = ++lexer->at;
  while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n') {
    lexer->at++;
  }
  token->kind = lexer->at < lexer->end && *lexer->at == '"' ? PTX_STRING : PTX_BAD;
  token->text = (ptx_name){start, (uint32_t)(lexer->at - start)};
  if (token->kind == PTX_STRING) {
    lexer->at++;
  }
}

static void take_word(ptx_lexer *lexer, bool with_parts)
{
  while (lexer->at < lexer->end) {
    if (is_word(*lexer->at)) {
      lexer->at++;
    } else if (with_parts && lexer->end - lexer->at > 2 && lexer->at[0] == ':' && lexer->at[1] == ':'
               && is_word(lexer->at[2])) {
      lexer->at += 2;
    } else {
      return;
    }
  }
}

ptx_token ptx_lex(ptx_lexer *lexer)
{
  skip_blanks(lexer);
  const char *start = lexer->at;
  ptx_token token = {PTX_END, {start, 0}, {lexer->line, (uint32_t)(start - lexer->line_start) + 1}, 0};
  if (start >= lexer->end) {
    return token;
  }
  const char second = lexer->end - start > 1 ? start[1] : 0;
  if (is_digit(*start)) {
    lex_number(lexer, &token);
  } else if (*start == '"') {
    lex_string(lexer, &token);
    return token;
  } else if (*start == '.' && is_word(second)) {
    lexer->at++;
    take_word(lexer, true);
    token.kind = PTX_DIRECTIVE;
  } else if (is_word(*start) || (*start == '%' && is_word(second))) {
    lexer->at++;
    take_word(lexer, false);
    token.kind = PTX_WORD;
  } else {
    lexer->at++;
    token.kind = strchr("{}[]()<>,;:=+-*/@!|~&^%_", *start) != NULL && *start != 0 ? PTX_MARK : PTX_BAD;
  }
  token.text.length = (uint32_t)(lexer->at - start);
  return token;
}

void ptx_lex_opcode(ptx_lexer *lexer, ptx_token *token)
{
  while (lexer->end - lexer->at > 1 && lexer->at[0] == '.' && is_word(lexer->at[1])) {
    lexer->at++;
    take_word(lexer, true);
  }
  token->text.length = (uint32_t)(lexer->at - token->text.at);
}
