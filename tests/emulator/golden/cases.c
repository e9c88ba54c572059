/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const golden_table *const tables[] = {&golden_integer,    &golden_float, &golden_packed, &golden_convert,
                                             &golden_comparison, &golden_move,  &golden_warp,   &golden_matrix,
                                             &golden_memory,     &golden_atomic};

static const char *end_of(const char *text, char mark)
{
  while (*text != 0 && *text != mark) {
    text++;
  }
  return text;
}

/* The choices of one word of a pattern, the one of leaving it out being the last. */
static unsigned choices(const char *word, const char *end)
{
  unsigned count = 1;
  for (const char *at = word; at < end; at++) {
    count += *at == '|' || *at == '?';
  }
  return count;
}

static size_t count_of(const char *pattern)
{
  size_t count = 1;
  for (const char *word = pattern; *word != 0;) {
    const char *end = end_of(word, '.');
    count *= choices(word, end);
    word = *end == '.' ? end + 1 : end;
  }
  return count;
}

/* The opcode with a number below the pattern's count; the last word changes fastest. */
static void expand(const char *pattern, size_t number, size_t count, char opcode[GOLDEN_OPCODE_SIZE])
{
  size_t length = 0;
  for (const char *word = pattern; *word != 0;) {
    const char *end = end_of(word, '.');
    const unsigned here = choices(word, end);
    count /= here;
    unsigned which = (unsigned)(number / count);
    number %= count;
    const char *from = word;
    for (; which > 0 && from < end; from++) {
      which -= *from == '|' || *from == '?';
    }
    const char *stop = from;
    while (stop < end && *stop != '|' && *stop != '?') {
      stop++;
    }
    if (stop > from && length + (size_t)(stop - from) + 2 < GOLDEN_OPCODE_SIZE) {
      if (length > 0) {
        opcode[length++] = '.';
      }
      memcpy(opcode + length, from, (size_t)(stop - from));
      length += (size_t)(stop - from);
    }
    word = *end == '.' ? end + 1 : end;
  }
  opcode[length] = 0;
}

static uint64_t add_digest(uint64_t digest, const char *text)
{
  for (; text != NULL && *text != 0; text++) {
    digest = (digest ^ (uint8_t)*text) * 0x100000001b3ull;
  }
  return (digest ^ 0xff) * 0x100000001b3ull;
}

static void fill(const golden_row *row, golden_case *one)
{
  one->row = row;
  for (const char *at = row->operands; *at != 0; at++) {
    if (*at == '=') {
      one->results[one->num_results++] = *++at;
    } else if (*at != ' ') {
      one->sources[one->num_sources++] = *at;
    }
  }
  one->digest = add_digest(add_digest(add_digest(0xcbf29ce484222325ull, one->opcode), row->operands), row->text);
}

golden_case *golden_cases(size_t *count_out)
{
  size_t count = 0, at = 0;
  for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
    for (size_t i = 0; i < tables[t]->count; i++) {
      count += count_of(tables[t]->rows[i].pattern);
    }
  }
  golden_case *cases = calloc(count, sizeof *cases);
  for (size_t t = 0; cases != NULL && t < sizeof tables / sizeof tables[0]; t++) {
    for (size_t i = 0; i < tables[t]->count; i++) {
      const golden_row *row = &tables[t]->rows[i];
      const size_t here = count_of(row->pattern);
      for (size_t number = 0; number < here; number++, at++) {
        expand(row->pattern, number, here, cases[at].opcode);
        fill(row, &cases[at]);
      }
    }
  }
  *count_out = count;
  return cases;
}

bool golden_is_exact(const golden_case *one)
{
  return one->row->bound.steps == 0 && one->row->bound.absolute == 0;
}
