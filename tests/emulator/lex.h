/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a PTX text, one at a time. */
#ifndef EMU_LEX_H
#define EMU_LEX_H

#include "ptx_module.h"

typedef enum ptx_token_kind {
  PTX_END,
  PTX_WORD,      /* name, %name, $name */
  PTX_DIRECTIVE, /* .name, with ::parts */
  PTX_INTEGER_NUMBER,
  PTX_F32_NUMBER,
  PTX_F64_NUMBER,
  PTX_STRING, /* without its quotes */
  PTX_MARK,   /* one character */
  PTX_BAD     /* nothing that PTX has */
} ptx_token_kind;

typedef struct ptx_token {
  ptx_token_kind kind;
  ptx_name text;
  ptx_place place;
  uint64_t bits; /* of a number */
} ptx_token;

typedef struct ptx_lexer {
  const char *at, *end, *line_start;
  uint32_t line;
} ptx_lexer;

void ptx_lex_start(ptx_lexer *lexer, const char *text, const char *end);
ptx_token ptx_lex(ptx_lexer *lexer);
/* Lengthens a word by the modifiers that follow it without a blank: "ld" to "ld.global.u32". */
void ptx_lex_opcode(ptx_lexer *lexer, ptx_token *token);

bool ptx_name_is(ptx_name name, const char *text);

#endif
