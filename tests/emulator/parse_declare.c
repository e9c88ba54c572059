/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes, and what is declared in them: registers, variables, parameters. */
#include "parse.h"

#include <string.h>

enum { MAX_VARIABLE = 1 << 28 };

/* ---- Scopes ----------------------------------------------------------------------------------------------- */

static uint32_t bucket_of(ptx_name name)
{
  uint32_t hash = 2166136261u;
  for (uint32_t i = 0; i < name.length; i++) {
    hash = (hash ^ (unsigned char)name.at[i]) * 16777619u;
  }
  return (hash ^ hash >> 16) % PTX_BUCKETS;
}

static bool same(ptx_name a, ptx_name b)
{
  return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

void ptx_scope_open(ptx_parser *parser)
{
  ptx_scope *scope = ptx_get(parser, sizeof *scope);
  if (scope != NULL) {
    scope->parent = parser->scope;
    scope->depth = parser->scope == NULL ? 0 : parser->scope->depth + 1;
    parser->scope = scope;
  }
}

void ptx_scope_close(ptx_parser *parser)
{
  for (ptx_entry *entry = parser->scope->entries; entry != NULL; entry = entry->next_in_scope) {
    ptx_entry **at = &parser->buckets[bucket_of(entry->name)];
    while (*at != entry) {
      at = &(*at)->next_in_bucket;
    }
    *at = entry->next_in_bucket;
  }
  if (parser->scope->parent != NULL) {
    parser->scope = parser->scope->parent;
  }
}

static ptx_entry *find_entry(ptx_parser *parser, ptx_name name, bool family)
{
  ptx_entry *entry = parser->buckets[bucket_of(name)];
  while (entry != NULL && ((entry->family != NULL) != family || !same(entry->name, name))) {
    entry = entry->next_in_bucket;
  }
  return entry;
}

static ptx_entry *add_entry(ptx_parser *parser, ptx_name name, ptx_entry **scope_list, uint32_t depth)
{
  ptx_entry *entry = ptx_get(parser, sizeof *entry);
  if (entry != NULL) {
    ptx_entry **at = &parser->buckets[bucket_of(name)];
    while (*at != NULL && (*at)->depth > depth) {
      at = &(*at)->next_in_bucket;
    }
    entry->name = name;
    entry->depth = depth;
    entry->next_in_bucket = *at;
    entry->next_in_scope = *scope_list;
    *at = *scope_list = entry;
  }
  return entry;
}

/* Keeps a symbol in its kernel's or the module's list. */
static void keep(ptx_parser *parser, ptx_symbol *symbol)
{
  ptx_symbol ***list = parser->kernel != NULL ? &parser->kernel->symbols : &parser->module->symbols;
  uint32_t *count = parser->kernel != NULL ? &parser->kernel->num_symbols : &parser->module->num_symbols;
  if ((*count & (*count - 1)) == 0) { /* the room is a power of two */
    const size_t old = *count * sizeof(ptx_symbol *);
    *list = ptx_arena_grow(parser->module->arena, *list, old, 2 * old + sizeof(ptx_symbol *));
    if (*list == NULL) {
      parser->result = EMU_OUT_OF_MEMORY;
      return;
    }
  }
  (*list)[(*count)++] = symbol;
  if (symbol->space == PTX_REG) {
    symbol->index = parser->kernel->num_registers++;
  }
}

void ptx_declare(ptx_parser *parser, ptx_symbol *symbol)
{
  const ptx_entry *old = find_entry(parser, symbol->name, false);
  if (old != NULL && old->depth == parser->scope->depth) { /* one scope of a depth is open */
    ptx_fail(parser, symbol->place, "'%.*s' is declared at %u:%u already", (int)symbol->name.length, symbol->name.at,
             old->symbol->place.line, old->symbol->place.column);
    return;
  }
  ptx_entry *entry = add_entry(parser, symbol->name, &parser->scope->entries, parser->scope->depth);
  if (entry != NULL) {
    entry->symbol = symbol;
    keep(parser, symbol);
  }
}

void ptx_declare_family(ptx_parser *parser, const ptx_symbol *model, uint64_t count)
{
  ptx_entry *entry = add_entry(parser, model->name, &parser->scope->entries, parser->scope->depth);
  if (entry != NULL) {
    entry->family = model;
    entry->family_size = count;
  }
}

/* The number at a name's end and where it begins; false where there is none. */
static bool split_number(ptx_name name, uint32_t *stem_out, uint64_t *number_out)
{
  uint32_t stem = name.length;
  while (stem > 0 && name.at[stem - 1] >= '0' && name.at[stem - 1] <= '9') {
    stem--;
  }
  const uint32_t digits = name.length - stem;
  if (digits == 0 || stem == 0 || digits > 9 || (digits > 1 && name.at[stem] == '0')) {
    return false;
  }
  *number_out = 0;
  for (uint32_t i = stem; i < name.length; i++) {
    *number_out = *number_out * 10 + (uint64_t)(name.at[i] - '0');
  }
  *stem_out = stem;
  return true;
}

/* "%r12" of the family "%r<20>" becomes a name of the family's scope when it is first used. */
static ptx_symbol *make_member(ptx_parser *parser, ptx_entry *family, ptx_name name)
{
  ptx_symbol *symbol = ptx_get(parser, sizeof *symbol);
  ptx_entry *entry = symbol == NULL ? NULL : add_entry(parser, name, &family->next_in_scope, family->depth);
  if (entry == NULL) {
    return NULL;
  }
  *symbol = *family->family;
  symbol->name = name;
  keep(parser, symbol);
  entry->symbol = symbol;
  return symbol;
}

ptx_symbol *ptx_find(ptx_parser *parser, ptx_name name)
{
  const ptx_entry *entry = find_entry(parser, name, false);
  uint32_t stem = 0;
  uint64_t number = 0;
  if (split_number(name, &stem, &number)) {
    ptx_entry *family = find_entry(parser, (ptx_name){name.at, stem}, true);
    if (family != NULL && number < family->family_size && (entry == NULL || entry->depth < family->depth)) {
      return make_member(parser, family, name);
    }
  }
  return entry != NULL ? entry->symbol : NULL;
}

/* ---- Types ------------------------------------------------------------------------------------------------ */

bool ptx_is_space(ptx_token token, ptx_space *space_out)
{
  static const struct {
    const char *word;
    ptx_space space;
  } words[] = {{".reg", PTX_REG},       {".global", PTX_GLOBAL}, {".const", PTX_CONST},
               {".shared", PTX_SHARED}, {".local", PTX_LOCAL},   {".param", PTX_PARAM}};
  for (unsigned i = 0; token.kind == PTX_DIRECTIVE && i < sizeof words / sizeof words[0]; i++) {
    if (ptx_name_is(token.text, words[i].word)) {
      *space_out = words[i].space;
      return true;
    }
  }
  return false;
}

/* The bytes of a type's word; 0 for .pred, -1 for what is no type. */
static int type_size(ptx_token token)
{
  static const struct {
    const char *word;
    int size;
  } words[] = {{".pred", 0}, {".b8", 1},  {".u8", 1},    {".s8", 1},    {".b16", 2},  {".u16", 2},   {".s16", 2},
               {".f16", 2},  {".b32", 4}, {".u32", 4},   {".s32", 4},   {".f32", 4},  {".b64", 8},   {".u64", 8},
               {".s64", 8},  {".f64", 8}, {".b128", 16}, {".f16x2", 4}, {".bf16", 2}, {".bf16x2", 4}};
  for (unsigned i = 0; token.kind == PTX_DIRECTIVE && i < sizeof words / sizeof words[0]; i++) {
    if (ptx_name_is(token.text, words[i].word)) {
      return words[i].size;
    }
  }
  return -1;
}

/* .align N, .attribute(...), .v2 and .v4 and the type, in any order, the type last. */
static bool parse_type(ptx_parser *parser, ptx_symbol *symbol)
{
  uint32_t vector = 1, alignment = 0;
  for (;;) {
    const ptx_place place = parser->token.place;
    if (ptx_take(parser, ".align")) {
      if (!ptx_want_u32(parser, &alignment)) {
        return false;
      }
      if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 65536) {
        ptx_fail(parser, place, ".align %u: a power of two, at most 65536, is wanted", alignment);
        return false;
      }
    } else if (ptx_take(parser, ".v2")) {
      vector = 2;
    } else if (ptx_take(parser, ".v4")) {
      vector = 4;
    } else {
      break;
    }
  }
  const int size = type_size(parser->token);
  if (size < 0) {
    ptx_unexpected(parser, "a type");
    return false;
  }
  if (symbol->space == PTX_REG && (vector > 1 || alignment > 0)) {
    ptx_fail(parser, parser->token.place, "a vector of registers: the emulator has none");
    return false;
  }
  if (size == 0 && symbol->space != PTX_REG) {
    ptx_fail(parser, parser->token.place, "a variable cannot be .pred");
    return false;
  }
  symbol->is_predicate = size == 0;
  symbol->elem_size = (uint32_t)size;
  symbol->size = (uint64_t)size * vector;
  symbol->alignment = alignment > 0 ? alignment : (uint32_t)size * vector;
  ptx_next(parser);
  return true;
}

/* ---- Variables -------------------------------------------------------------------------------------------- */

/* [8][2], or [] for an extern one and for what an initialiser counts. */
static void parse_dimensions(ptx_parser *parser, ptx_symbol *symbol, bool *is_open_out)
{
  *is_open_out = false;
  while (ptx_take_mark(parser, '[')) {
    const ptx_place place = parser->token.place;
    uint32_t count = 0;
    if (ptx_take_mark(parser, ']')) {
      *is_open_out = true;
      continue;
    }
    if (!ptx_want_u32(parser, &count) || !ptx_want_mark(parser, ']')) {
      return;
    }
    symbol->size *= count;
    if (symbol->size > MAX_VARIABLE) {
      ptx_fail(parser, place, "a variable of more than %d bytes", MAX_VARIABLE);
      return;
    }
  }
}

static void parse_number(ptx_parser *parser, ptx_symbol *symbol, uint64_t *at, uint64_t limit)
{
  const ptx_place place = parser->token.place;
  const bool minus = ptx_take_mark(parser, '-');
  uint64_t bits = parser->token.bits;
  if (parser->token.kind == PTX_INTEGER_NUMBER) {
    bits = minus ? 0 - bits : bits;
  } else if (parser->token.kind == PTX_F32_NUMBER || parser->token.kind == PTX_F64_NUMBER) {
    if (parser->token.kind == PTX_F64_NUMBER && symbol->elem_size == 4) {
      double wide;
      memcpy(&wide, &bits, sizeof wide);
      const float narrow = (float)wide;
      bits = 0;
      memcpy(&bits, &narrow, sizeof narrow);
    }
    bits ^= minus ? 1ull << (symbol->elem_size * 8 - 1) : 0;
  } else {
    ptx_unexpected(parser, "a number (the emulator knows no addresses in an initialiser)");
    return;
  }
  ptx_next(parser);
  if (*at + symbol->elem_size > limit || symbol->elem_size > 8) {
    ptx_fail(parser, place, "the initialiser is larger than '%.*s'", (int)symbol->name.length, symbol->name.at);
    return;
  }
  memcpy(symbol->initial + *at, &bits, symbol->elem_size);
  *at += symbol->elem_size;
}

static void parse_initialiser(ptx_parser *parser, ptx_symbol *symbol)
{
  symbol->initial = ptx_get(parser, symbol->size + 8);
  uint64_t at = 0;
  unsigned depth = 0;
  while (parser->result == EMU_OK) {
    if (ptx_take_mark(parser, '{')) {
      depth++;
    } else if (ptx_take_mark(parser, '}')) {
      if (depth == 0) {
        ptx_unexpected(parser, "';'");
        return;
      }
      depth--;
    } else if (!ptx_take_mark(parser, ',') || depth == 0) {
      parse_number(parser, symbol, &at, symbol->size);
    }
    if (depth == 0) {
      return;
    }
  }
}

static void parse_register(ptx_parser *parser, ptx_symbol *symbol)
{
  const ptx_place place = parser->token.place;
  if (ptx_take_mark(parser, '<')) {
    uint32_t count = 0;
    if (ptx_want_u32(parser, &count) && ptx_want_mark(parser, '>')) {
      ptx_declare_family(parser, symbol, count);
    }
  } else if (ptx_at_mark(parser, '[')) {
    ptx_fail(parser, place, "an array of registers: the emulator has none");
  } else {
    ptx_declare(parser, symbol);
  }
}

static void parse_variable(ptx_parser *parser, ptx_symbol *symbol)
{
  bool is_open = false;
  parse_dimensions(parser, symbol, &is_open);
  const ptx_place place = parser->token.place;
  if (is_open) {
    if (!symbol->is_extern || symbol->space != PTX_SHARED) {
      ptx_fail(parser, place, "only an extern .shared variable may leave its size open");
      return;
    }
    symbol->size = 0;
  } else if (symbol->is_extern) {
    ptx_fail(parser, symbol->place, "extern '%.*s': there is no other module to take it from", (int)symbol->name.length,
             symbol->name.at);
    return;
  }
  if (ptx_take_mark(parser, '=')) {
    if (symbol->space != PTX_GLOBAL && symbol->space != PTX_CONST) {
      ptx_fail(parser, place, "only .global and .const variables can be initialised");
      return;
    }
    parse_initialiser(parser, symbol);
  }
  ptx_declare(parser, symbol);
}

void ptx_parse_variables(ptx_parser *parser, ptx_space space, bool is_extern)
{
  ptx_symbol model = {.space = space, .is_extern = is_extern};
  if (!parse_type(parser, &model)) {
    return;
  }
  do {
    ptx_symbol *symbol = ptx_get(parser, sizeof *symbol);
    if (symbol == NULL || parser->token.kind != PTX_WORD) {
      ptx_unexpected(parser, "a name");
      return;
    }
    *symbol = model;
    symbol->name = parser->token.text;
    symbol->place = parser->token.place;
    ptx_next(parser);
    if (space == PTX_REG) {
      parse_register(parser, symbol);
    } else {
      parse_variable(parser, symbol);
    }
  } while (ptx_take_mark(parser, ','));
  ptx_want_mark(parser, ';');
}

ptx_symbol *ptx_parse_param(ptx_parser *parser)
{
  if (!ptx_take(parser, ".param")) {
    ptx_unexpected(parser, ".param");
    return NULL;
  }
  ptx_symbol *symbol = ptx_get(parser, sizeof *symbol);
  if (symbol == NULL) {
    return NULL;
  }
  symbol->space = PTX_PARAM;
  /* .param .u64 .ptr .global .align 16 name: what the pointer points to is a hint. */
  if (!parse_type(parser, symbol)) {
    return NULL;
  }
  while (parser->token.kind == PTX_DIRECTIVE) {
    uint32_t ignored = 0;
    if (ptx_take(parser, ".align")) {
      ptx_want_u32(parser, &ignored);
    } else if (!ptx_take(parser, ".ptr") && !ptx_take(parser, ".global") && !ptx_take(parser, ".shared")
               && !ptx_take(parser, ".const") && !ptx_take(parser, ".local")) {
      ptx_unexpected(parser, "the parameter's name");
      return NULL;
    }
  }
  if (parser->token.kind != PTX_WORD) {
    ptx_unexpected(parser, "the parameter's name");
    return NULL;
  }
  symbol->name = parser->token.text;
  symbol->place = parser->token.place;
  ptx_next(parser);
  bool is_open = false;
  parse_dimensions(parser, symbol, &is_open);
  if (is_open) {
    ptx_fail(parser, symbol->place, "a parameter needs its size");
    return NULL;
  }
  ptx_declare(parser, symbol);
  return parser->result == EMU_OK ? symbol : NULL;
}
