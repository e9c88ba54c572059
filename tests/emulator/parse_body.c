/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a kernel: declarations, labels, instructions and their operands. */
#include "parse.h"

#include <string.h>

enum { MAX_PARTS = 256, MAX_DEPTH = 64 };

/* ---- Special registers ------------------------------------------------------------------------------------ */

static const char *const specials[PTX_NUM_SPECIALS] = {"%tid",
                                                       "%ntid",
                                                       "%ctaid",
                                                       "%nctaid",
                                                       "%clusterid",
                                                       "%nclusterid",
                                                       "%cluster_ctaid",
                                                       "%cluster_nctaid",
                                                       "%cluster_ctarank",
                                                       "%cluster_nctarank",
                                                       "%is_explicit_cluster",
                                                       "%laneid",
                                                       "%warpid",
                                                       "%nwarpid",
                                                       "%smid",
                                                       "%nsmid",
                                                       "%gridid",
                                                       "%lanemask_eq",
                                                       "%lanemask_le",
                                                       "%lanemask_lt",
                                                       "%lanemask_ge",
                                                       "%lanemask_gt",
                                                       "%dynamic_smem_size",
                                                       "%total_smem_size",
                                                       "%clock",
                                                       "%clock_hi",
                                                       "%clock64",
                                                       "%globaltimer",
                                                       "%globaltimer_lo",
                                                       "%globaltimer_hi"};

int ptx_special_find(ptx_name name)
{
  for (int i = 0; i < PTX_NUM_SPECIALS; i++) {
    if (ptx_name_is(name, specials[i])) {
      return i;
    }
  }
  return -1;
}

/* ---- Operands --------------------------------------------------------------------------------------------- */

static ptx_operand *add_part(ptx_parser *parser, ptx_operand *operand)
{
  if (operand->num_parts == MAX_PARTS) {
    ptx_fail(parser, parser->token.place, "more than %d parts of an operand", MAX_PARTS);
    return NULL;
  }
  if ((operand->num_parts & (operand->num_parts - 1)) == 0) { /* the room is a power of two */
    const size_t old = operand->num_parts * sizeof(ptx_operand);
    operand->parts = ptx_arena_grow(parser->module->arena, operand->parts, old, 2 * old + sizeof(ptx_operand));
    if (operand->parts == NULL) {
      parser->result = EMU_OUT_OF_MEMORY;
      return NULL;
    }
  }
  ptx_operand *part = &operand->parts[operand->num_parts++];
  memset(part, 0, sizeof *part);
  return part;
}

static void parse_plain(ptx_parser *parser, ptx_operand *operand);

static void parse_vector(ptx_parser *parser, ptx_operand *operand)
{
  operand->kind = PTX_OP_VECTOR;
  ptx_next(parser);
  do {
    ptx_operand *part = add_part(parser, operand);
    if (part == NULL) {
      return;
    }
    parse_plain(parser, part);
  } while (ptx_take_mark(parser, ','));
  ptx_want_mark(parser, '}');
}

/* [base + offset], [base], [number], [base, {x, y}], [base + offset, mask]. */
static void parse_address(ptx_parser *parser, ptx_operand *operand)
{
  operand->kind = PTX_OP_ADDRESS;
  ptx_next(parser);
  do {
    ptx_operand *part = add_part(parser, operand);
    if (part == NULL) {
      return;
    }
    if (ptx_at_mark(parser, '{')) {
      part->place = parser->token.place;
      parse_vector(parser, part);
    } else {
      parse_plain(parser, part);
    }
  } while (ptx_take_mark(parser, ','));
  ptx_want_mark(parser, ']');
}

static void parse_offset(ptx_parser *parser, ptx_operand *operand)
{
  while (ptx_at_mark(parser, '+') || ptx_at_mark(parser, '-')) {
    uint64_t value = 0;
    const bool minus = ptx_at_mark(parser, '-');
    ptx_next(parser);
    if (!ptx_want_integer(parser, &value)) {
      return;
    }
    operand->offset = (int64_t)((uint64_t)operand->offset + (minus ? 0 - value : value));
  }
}

static void parse_label_use(ptx_parser *parser, ptx_operand *operand)
{
  operand->kind = PTX_OP_LABEL;
  ptx_label *use = ptx_get(parser, sizeof *use);
  if (use != NULL) {
    *use = (ptx_label){parser->label_uses, parser->token.text, parser->scope, parser->token.place, 0, operand};
    parser->label_uses = use;
  }
}

static void parse_component(ptx_parser *parser, ptx_operand *operand)
{
  static const char *const names[] = {".x", ".y", ".z"};
  if (operand->special > PTX_CLUSTER_NCTAID) {
    return;
  }
  for (uint8_t i = 0; i < 3; i++) {
    if (ptx_take(parser, names[i])) {
      operand->component = i;
      return;
    }
  }
  ptx_unexpected(parser, ".x, .y or .z");
}

static void parse_name(ptx_parser *parser, ptx_operand *operand)
{
  const ptx_name name = parser->token.text;
  if (ptx_name_is(name, "_")) {
    operand->kind = PTX_OP_SINK;
    ptx_next(parser);
    return;
  }
  const ptx_symbol *symbol = ptx_find(parser, name);
  if (symbol != NULL) {
    operand->kind = symbol->space == PTX_REG ? PTX_OP_REG : PTX_OP_VARIABLE;
    operand->symbol = symbol;
    ptx_next(parser);
    parse_offset(parser, operand);
    return;
  }
  if (ptx_name_is(name, "WARP_SZ")) {
    operand->kind = PTX_OP_INTEGER;
    operand->bits = 32;
    ptx_next(parser);
    return;
  }
  if (*name.at != '%') {
    parse_label_use(parser, operand);
    ptx_next(parser);
    return;
  }
  const int special = ptx_special_find(name);
  if (special < 0) {
    ptx_fail(parser, parser->token.place, "'%.*s' is not declared, and no special register that the emulator has",
             (int)name.length, name.at);
    return;
  }
  operand->kind = PTX_OP_SPECIAL;
  operand->special = (uint16_t)special;
  ptx_next(parser);
  parse_component(parser, operand);
}

static void parse_number(ptx_parser *parser, ptx_operand *operand, bool minus)
{
  const ptx_token token = parser->token;
  operand->bits = token.bits;
  if (token.kind == PTX_INTEGER_NUMBER) {
    operand->kind = PTX_OP_INTEGER;
    operand->bits = minus ? 0 - token.bits : token.bits;
  } else if (token.kind == PTX_F32_NUMBER) {
    operand->kind = PTX_OP_F32;
    operand->bits ^= minus ? 1ull << 31 : 0;
  } else if (token.kind == PTX_F64_NUMBER) {
    operand->kind = PTX_OP_F64;
    operand->bits ^= minus ? 1ull << 63 : 0;
  } else {
    ptx_unexpected(parser, "an operand");
    return;
  }
  ptx_next(parser);
}

/* A register, a name, a number, a label. */
static void parse_plain(ptx_parser *parser, ptx_operand *operand)
{
  operand->place = parser->token.place;
  operand->is_negated = ptx_take_mark(parser, '!');
  if (!operand->is_negated && ptx_take_mark(parser, '-')) {
    if (parser->token.kind == PTX_WORD) {
      operand->is_minus = true;
      parse_name(parser, operand);
    } else {
      parse_number(parser, operand, true);
    }
  } else if (parser->token.kind == PTX_WORD) {
    parse_name(parser, operand);
  } else {
    parse_number(parser, operand, false);
  }
  if (parser->result == EMU_OK && operand->is_negated
      && (operand->kind != PTX_OP_REG || !operand->symbol->is_predicate)) {
    ptx_fail(parser, operand->place, "'!' stands before predicates only");
  }
}

void ptx_parse_operand(ptx_parser *parser, ptx_operand *operand)
{
  operand->place = parser->token.place;
  if (ptx_at_mark(parser, '{')) {
    parse_vector(parser, operand);
    return;
  }
  if (ptx_at_mark(parser, '[')) {
    parse_address(parser, operand);
    return;
  }
  parse_plain(parser, operand);
  if (ptx_at_mark(parser, '|')) {
    const ptx_operand first = *operand;
    *operand = (ptx_operand){.kind = PTX_OP_PAIR, .place = first.place};
    ptx_next(parser);
    ptx_operand *one = add_part(parser, operand);
    ptx_operand *two = one == NULL ? NULL : add_part(parser, operand);
    if (two != NULL) {
      operand->parts[0] = first;
      parse_plain(parser, two);
    }
  }
}

/* ---- Instructions ----------------------------------------------------------------------------------------- */

static ptx_instruction *add_instruction(ptx_parser *parser)
{
  ptx_kernel *kernel = parser->kernel;
  if (kernel->num_instructions == parser->instruction_room) {
    const size_t old = parser->instruction_room * sizeof(ptx_instruction);
    parser->instruction_room = parser->instruction_room == 0 ? 64 : 2 * parser->instruction_room;
    kernel->instructions = ptx_arena_grow(parser->module->arena, kernel->instructions, old,
                                          parser->instruction_room * sizeof(ptx_instruction));
    if (kernel->instructions == NULL) {
      parser->result = EMU_OUT_OF_MEMORY;
      return NULL;
    }
  }
  ptx_instruction *made = &kernel->instructions[kernel->num_instructions++];
  memset(made, 0, sizeof *made);
  return made;
}

static void parse_guard(ptx_parser *parser, ptx_instruction *made)
{
  made->guard_negated = ptx_take_mark(parser, '!');
  const ptx_symbol *guard = parser->token.kind == PTX_WORD ? ptx_find(parser, parser->token.text) : NULL;
  if (guard == NULL || !guard->is_predicate) {
    ptx_unexpected(parser, "a predicate");
    return;
  }
  made->guard = guard;
  ptx_next(parser);
}

static void parse_instruction(ptx_parser *parser)
{
  ptx_instruction made = {.source_file = parser->source_file, .source_line = parser->source_line};
  made.place = parser->token.place;
  if (ptx_take_mark(parser, '@')) {
    parse_guard(parser, &made);
  }
  if (parser->token.kind != PTX_WORD) {
    ptx_unexpected(parser, "an instruction");
    return;
  }
  ptx_lex_opcode(&parser->lexer, &parser->token);
  made.opcode = parser->token.text;
  made.place = parser->token.place;
  ptx_operand list = {0};
  ptx_label *uses = parser->label_uses;
  ptx_next(parser);
  if (!ptx_at_mark(parser, ';')) {
    do {
      /* Label uses point into the list, which moves while it grows: see below. */
      ptx_operand *operand = add_part(parser, &list);
      if (operand == NULL) {
        return;
      }
      ptx_parse_operand(parser, operand);
    } while (ptx_take_mark(parser, ','));
  }
  ptx_want_mark(parser, ';');
  uint32_t last = list.num_parts;
  for (ptx_label *use = parser->label_uses; use != uses; use = use->next) {
    while (last > 0 && list.parts[last - 1].kind != PTX_OP_LABEL) {
      last--;
    }
    if (last == 0) {
      ptx_fail(parser, use->place, "'%.*s' is not declared", (int)use->name.length, use->name.at);
      return;
    }
    use->operand = &list.parts[--last];
  }
  made.num_operands = list.num_parts;
  made.operands = list.parts;
  ptx_instruction *kept = parser->result == EMU_OK ? add_instruction(parser) : NULL;
  if (kept != NULL) {
    *kept = made;
  }
}

/* ---- Labels ----------------------------------------------------------------------------------------------- */

static const ptx_label *find_label(const ptx_parser *parser, ptx_name name, const ptx_scope *scope)
{
  for (const ptx_label *label = parser->labels; label != NULL; label = label->next) {
    if (label->scope == scope && label->name.length == name.length
        && memcmp(label->name.at, name.at, name.length) == 0) {
      return label;
    }
  }
  return NULL;
}

static void add_label(ptx_parser *parser, ptx_token word)
{
  if (find_label(parser, word.text, parser->scope) != NULL) {
    ptx_fail(parser, word.place, "the label '%.*s' stands above already", (int)word.text.length, word.text.at);
    return;
  }
  ptx_label *label = ptx_get(parser, sizeof *label);
  if (label != NULL) {
    *label = (ptx_label){parser->labels, word.text, parser->scope, word.place, parser->kernel->num_instructions, NULL};
    parser->labels = label;
  }
}

static void resolve_labels(ptx_parser *parser)
{
  for (const ptx_label *use = parser->label_uses; use != NULL; use = use->next) {
    const ptx_label *found = NULL;
    for (const ptx_scope *scope = use->scope; scope != NULL && found == NULL; scope = scope->parent) {
      found = find_label(parser, use->name, scope);
    }
    if (found == NULL) {
      ptx_fail(parser, use->place, "'%.*s' is neither declared nor a label", (int)use->name.length, use->name.at);
      return;
    }
    use->operand->target = found->target;
  }
  for (const ptx_label *label = parser->labels; label != NULL; label = label->next) {
    if (label->target < parser->kernel->num_instructions) {
      parser->kernel->instructions[label->target].is_target = true;
    }
  }
}

/* ---- The body --------------------------------------------------------------------------------------------- */

/* .loc file line column [, function_name $label + n, inlined_at file line column] */
static void parse_loc(ptx_parser *parser)
{
  uint32_t column = 0;
  ptx_next(parser);
  if (!ptx_want_u32(parser, &parser->source_file) || !ptx_want_u32(parser, &parser->source_line)
      || !ptx_want_u32(parser, &column)) {
    return;
  }
  while (ptx_take_mark(parser, ',')) {
    if (parser->token.kind != PTX_WORD) {
      ptx_unexpected(parser, "function_name or inlined_at");
      return;
    }
    ptx_next(parser);
    while (parser->token.kind == PTX_WORD || parser->token.kind == PTX_INTEGER_NUMBER || ptx_at_mark(parser, '+')) {
      const uint32_t line = parser->token.place.line;
      ptx_next(parser);
      if (parser->token.place.line != line) {
        return;
      }
    }
  }
}

static void parse_pragma(ptx_parser *parser)
{
  ptx_next(parser);
  if (parser->token.kind != PTX_STRING) {
    ptx_unexpected(parser, "a string");
    return;
  }
  ptx_next(parser);
  ptx_want_mark(parser, ';');
}

static void parse_directive(ptx_parser *parser)
{
  ptx_space space;
  if (ptx_at(parser, ".loc")) {
    parse_loc(parser);
  } else if (ptx_at(parser, ".pragma")) {
    parse_pragma(parser);
  } else if (ptx_is_space(parser->token, &space) && space != PTX_PARAM) {
    ptx_next(parser);
    ptx_parse_variables(parser, space, false);
  } else {
    ptx_unexpected(parser, "a declaration or an instruction");
  }
}

static void parse_word(ptx_parser *parser)
{
  const ptx_token word = parser->token;
  const ptx_lexer before = parser->lexer;
  if (*word.text.at != '%') {
    ptx_next(parser);
    if (ptx_at_mark(parser, ':')) {
      ptx_next(parser);
      add_label(parser, word);
      return;
    }
    if (parser->result != EMU_OK) {
      return;
    }
    parser->lexer = before;
    parser->token = word;
  }
  parse_instruction(parser);
}

void ptx_parse_body(ptx_parser *parser)
{
  parser->labels = parser->label_uses = NULL;
  if (!ptx_want_mark(parser, '{')) {
    return;
  }
  unsigned depth = 1;
  while (parser->result == EMU_OK && depth > 0) {
    if (ptx_take_mark(parser, '{')) {
      if (++depth > MAX_DEPTH) {
        ptx_fail(parser, parser->token.place, "more than %d blocks in each other", MAX_DEPTH);
      }
      ptx_scope_open(parser);
    } else if (ptx_at_mark(parser, '}')) {
      ptx_next(parser);
      if (--depth > 0) {
        ptx_scope_close(parser);
      }
    } else if (parser->token.kind == PTX_DIRECTIVE) {
      parse_directive(parser);
    } else if (parser->token.kind == PTX_WORD) {
      parse_word(parser);
    } else if (ptx_at_mark(parser, '@')) {
      parse_instruction(parser);
    } else if (!ptx_take_mark(parser, ';')) {
      ptx_unexpected(parser, "an instruction or '}'");
    }
  }
  if (parser->result == EMU_OK) {
    resolve_labels(parser);
  }
}
