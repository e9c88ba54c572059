/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser's files share. After the first failure every token is PTX_END, so that all loops end; the message
 * is the first failure's. */
#ifndef EMU_PARSE_H
#define EMU_PARSE_H

#include "arena.h"
#include "lex.h"
#include "ptx_module.h"

enum { PTX_BUCKETS = 4096 };

/* A name that stands for something from its declaration to the end of its scope. */
typedef struct ptx_entry {
  struct ptx_entry *next_in_bucket, *next_in_scope;
  ptx_name name;
  ptx_symbol *symbol;
  const ptx_symbol *family; /* "%r<10>": the model of its members, made when they are used */
  uint64_t family_size;
  uint32_t depth; /* of its scope: in a bucket the deepest is the first */
} ptx_entry;

typedef struct ptx_scope {
  struct ptx_scope *parent;
  ptx_entry *entries;
  uint32_t depth;
} ptx_scope;

typedef struct ptx_label {
  struct ptx_label *next;
  ptx_name name;
  const ptx_scope *scope;
  ptx_place place;
  uint32_t target;      /* of a label: the instruction that follows */
  ptx_operand *operand; /* of a use */
} ptx_label;

typedef struct ptx_parser {
  ptx_lexer lexer;
  ptx_token token; /* the one to look at next */
  ptx_module *module;
  emu_message *message;
  int result; /* EMU_OK until something failed */
  ptx_entry *buckets[PTX_BUCKETS];
  ptx_scope *scope;
  ptx_kernel *kernel; /* NULL outside of one */
  ptx_label *labels, *label_uses;
  uint32_t source_file, source_line;
  uint32_t symbol_room, instruction_room;
} ptx_parser;

void ptx_fail(ptx_parser *parser, ptx_place place, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "unexpected 'x': wanted what". */
void ptx_unexpected(ptx_parser *parser, const char *wanted);
void *ptx_get(ptx_parser *parser, size_t size);

void ptx_next(ptx_parser *parser);
bool ptx_at_mark(const ptx_parser *parser, char mark);
bool ptx_at(const ptx_parser *parser, const char *directive_or_word);
bool ptx_take_mark(ptx_parser *parser, char mark);
bool ptx_take(ptx_parser *parser, const char *directive_or_word);
bool ptx_want_mark(ptx_parser *parser, char mark);
/* A whole number that fits; also as -n with the sign taken into the bits. */
bool ptx_want_integer(ptx_parser *parser, uint64_t *value_out);
bool ptx_want_u32(ptx_parser *parser, uint32_t *value_out);

void ptx_scope_open(ptx_parser *parser);
void ptx_scope_close(ptx_parser *parser);
ptx_symbol *ptx_find(ptx_parser *parser, ptx_name name);
void ptx_declare(ptx_parser *parser, ptx_symbol *symbol);
void ptx_declare_family(ptx_parser *parser, const ptx_symbol *model, uint64_t count);

/* Declarations of variables and registers, from the space's word on. */
bool ptx_is_space(ptx_token token, ptx_space *space_out);
void ptx_parse_variables(ptx_parser *parser, ptx_space space, bool is_extern);
ptx_symbol *ptx_parse_param(ptx_parser *parser);

void ptx_parse_body(ptx_parser *parser);
void ptx_parse_operand(ptx_parser *parser, ptx_operand *operand);
/* ptx_special, -1 if none. */
int ptx_special_find(ptx_name name);

#endif
