/* SPDX-License-Identifier: Apache-2.0 */
/* A module: its head, its variables and its kernels. */
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 28, MAX_FILES = 4096 };

void ptx_fail(ptx_parser *parser, ptx_place place, const char *format, ...)
{
  if (parser->result != EMU_OK) {
    return;
  }
  parser->result = EMU_INVALID_PTX;
  char *text = parser->message->text;
  const int head = snprintf(text, sizeof parser->message->text, "%u:%u: ", place.line, place.column);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + head, sizeof parser->message->text - (size_t)head, format, arguments);
  va_end(arguments);
  parser->token = (ptx_token){PTX_END, {parser->lexer.end, 0}, place, 0};
}

void ptx_unexpected(ptx_parser *parser, const char *wanted)
{
  const ptx_token token = parser->token;
  if (token.kind == PTX_END) {
    ptx_fail(parser, token.place, "the text ends here: %s is missing", wanted);
  } else {
    ptx_fail(parser, token.place, "unexpected '%.*s': %s is wanted",
             (int)(token.text.length < 60 ? token.text.length : 60), token.text.at, wanted);
  }
}

void *ptx_get(ptx_parser *parser, size_t size)
{
  void *given = ptx_arena_get(parser->module->arena, size);
  if (given == NULL) {
    const ptx_place place = parser->token.place;
    ptx_fail(parser, place, "no memory for %zu bytes", size);
    parser->result = EMU_OUT_OF_MEMORY;
  }
  return given;
}

void ptx_next(ptx_parser *parser)
{
  if (parser->result != EMU_OK) {
    return;
  }
  parser->token = ptx_lex(&parser->lexer);
  if (parser->token.kind == PTX_BAD) {
    const unsigned char first = (unsigned char)*parser->token.text.at;
    if (first > 32 && first < 127) {
      ptx_unexpected(parser, "a word, a number or a mark");
    } else {
      ptx_fail(parser, parser->token.place, "byte %u is none of PTX", first);
    }
  }
}

bool ptx_at_mark(const ptx_parser *parser, char mark)
{
  return parser->token.kind == PTX_MARK && *parser->token.text.at == mark;
}

bool ptx_at(const ptx_parser *parser, const char *text)
{
  return (parser->token.kind == PTX_DIRECTIVE || parser->token.kind == PTX_WORD)
         && ptx_name_is(parser->token.text, text);
}

bool ptx_take_mark(ptx_parser *parser, char mark)
{
  const bool there = ptx_at_mark(parser, mark);
  if (there) {
    ptx_next(parser);
  }
  return there;
}

bool ptx_take(ptx_parser *parser, const char *text)
{
  const bool there = ptx_at(parser, text);
  if (there) {
    ptx_next(parser);
  }
  return there;
}

bool ptx_want_mark(ptx_parser *parser, char mark)
{
  if (ptx_take_mark(parser, mark)) {
    return true;
  }
  const char wanted[] = {'\'', mark, '\'', 0};
  ptx_unexpected(parser, wanted);
  return false;
}

bool ptx_want_integer(ptx_parser *parser, uint64_t *value_out)
{
  const bool minus = ptx_take_mark(parser, '-');
  if (parser->token.kind != PTX_INTEGER_NUMBER) {
    ptx_unexpected(parser, "a whole number");
    return false;
  }
  *value_out = minus ? 0 - parser->token.bits : parser->token.bits;
  ptx_next(parser);
  return true;
}

bool ptx_want_u32(ptx_parser *parser, uint32_t *value_out)
{
  const ptx_place place = parser->token.place;
  uint64_t value = 0;
  if (!ptx_want_integer(parser, &value)) {
    return false;
  }
  if (value > UINT32_MAX) {
    ptx_fail(parser, place, "the number is too large: at most %u", UINT32_MAX);
    return false;
  }
  *value_out = (uint32_t)value;
  return true;
}

/* ---- A kernel's head -------------------------------------------------------------------------------------- */

static void parse_params(ptx_parser *parser, ptx_kernel *kernel)
{
  if (!ptx_take_mark(parser, '(')) {
    return;
  }
  uint32_t room = 0;
  while (parser->result == EMU_OK && !ptx_at_mark(parser, ')')) {
    if (kernel->num_params > 0 && !ptx_want_mark(parser, ',')) {
      return;
    }
    ptx_symbol *param = ptx_parse_param(parser);
    if (param == NULL) {
      return;
    }
    if (kernel->num_params == room) {
      const size_t old = room * sizeof(ptx_symbol *);
      room = room == 0 ? 16 : 2 * room;
      kernel->params = ptx_arena_grow(parser->module->arena, kernel->params, old, room * sizeof(ptx_symbol *));
      if (kernel->params == NULL) {
        parser->result = EMU_OUT_OF_MEMORY;
        return;
      }
    }
    param->index = kernel->num_params;
    kernel->params[kernel->num_params++] = param;
  }
  ptx_want_mark(parser, ')');
}

static void parse_three(ptx_parser *parser, uint32_t out[3])
{
  out[0] = out[1] = out[2] = 1;
  ptx_next(parser);
  for (unsigned i = 0; i < 3; i++) {
    if (!ptx_want_u32(parser, &out[i]) || !ptx_take_mark(parser, ',')) {
      return;
    }
  }
  ptx_unexpected(parser, "at most three numbers");
}

static void parse_strings(ptx_parser *parser)
{
  ptx_next(parser);
  do {
    if (parser->token.kind != PTX_STRING) {
      ptx_unexpected(parser, "a string");
      return;
    }
    ptx_next(parser);
  } while (ptx_take_mark(parser, ','));
  ptx_want_mark(parser, ';');
}

static void parse_tuning(ptx_parser *parser, ptx_kernel *kernel)
{
  while (parser->token.kind == PTX_DIRECTIVE) {
    uint32_t ignored = 0;
    if (ptx_at(parser, ".maxntid")) {
      parse_three(parser, kernel->max_threads);
    } else if (ptx_at(parser, ".reqntid")) {
      parse_three(parser, kernel->max_threads);
      kernel->is_exact = true;
    } else if (ptx_at(parser, ".reqnctapercluster")) {
      parse_three(parser, kernel->required_cluster);
    } else if (ptx_at(parser, ".explicitcluster") || ptx_at(parser, ".noreturn")) {
      ptx_next(parser);
    } else if (ptx_at(parser, ".maxnreg")) {
      ptx_next(parser);
      ptx_want_u32(parser, &kernel->max_registers);
    } else if (ptx_at(parser, ".minnctapersm")) {
      ptx_next(parser);
      ptx_want_u32(parser, &kernel->min_blocks);
    } else if (ptx_at(parser, ".maxnctapersm") || ptx_at(parser, ".maxclusterrank")) {
      ptx_next(parser);
      ptx_want_u32(parser, &ignored);
    } else if (ptx_at(parser, ".pragma")) {
      parse_strings(parser);
    } else {
      ptx_unexpected(parser, "the kernel's body");
    }
  }
}

static void add_kernel(ptx_parser *parser, ptx_kernel *kernel)
{
  ptx_module *module = parser->module;
  const uint32_t count = module->num_kernels;
  if ((count & (count - 1)) == 0) { /* the room is a power of two */
    const size_t old = count * sizeof(ptx_kernel *);
    module->kernels = ptx_arena_grow(module->arena, module->kernels, old, 2 * old + sizeof(ptx_kernel *));
    if (module->kernels == NULL) {
      parser->result = EMU_OUT_OF_MEMORY;
      return;
    }
  }
  module->kernels[module->num_kernels++] = kernel;
}

static void parse_entry(ptx_parser *parser)
{
  ptx_next(parser);
  ptx_kernel *kernel = ptx_get(parser, sizeof *kernel);
  if (kernel == NULL) {
    return;
  }
  if (parser->token.kind != PTX_WORD) {
    ptx_unexpected(parser, "the kernel's name");
    return;
  }
  kernel->name = parser->token.text;
  kernel->place = parser->token.place;
  for (uint32_t i = 0; i < parser->module->num_kernels; i++) {
    const ptx_name other = parser->module->kernels[i]->name;
    if (other.length == kernel->name.length && memcmp(other.at, kernel->name.at, other.length) == 0) {
      ptx_fail(parser, kernel->place, "a kernel of this name stands above");
    }
  }
  ptx_next(parser);
  parser->kernel = kernel;
  parser->symbol_room = parser->instruction_room = 0;
  parser->source_file = parser->source_line = 0;
  ptx_scope_open(parser);
  parse_params(parser, kernel);
  parse_tuning(parser, kernel);
  if (ptx_take_mark(parser, ';')) {
    ptx_scope_close(parser);
    parser->kernel = NULL;
    return; /* a declaration */
  }
  ptx_parse_body(parser);
  ptx_scope_close(parser);
  parser->kernel = NULL;
  add_kernel(parser, kernel);
}

/* ---- The module ------------------------------------------------------------------------------------------- */

static void parse_version(ptx_parser *parser)
{
  ptx_next(parser);
  if (parser->token.kind != PTX_F64_NUMBER) {
    ptx_unexpected(parser, "a version such as 9.0");
    return;
  }
  double version = 0;
  memcpy(&version, &parser->token.bits, sizeof version);
  if (!(version >= 1 && version < 100)) {
    ptx_unexpected(parser, "a version such as 9.0");
    return;
  }
  parser->module->version_major = (int)version;
  parser->module->version_minor = (int)((version - (int)version) * 10 + 0.5);
  ptx_next(parser);
}

static void parse_target(ptx_parser *parser)
{
  ptx_next(parser);
  if (parser->token.kind != PTX_WORD) {
    ptx_unexpected(parser, "a target such as sm_90a");
    return;
  }
  parser->module->target = parser->token.text;
  do {
    ptx_next(parser);
  } while (ptx_at_mark(parser, ',') && (ptx_next(parser), parser->token.kind == PTX_WORD));
}

static void parse_file(ptx_parser *parser)
{
  ptx_next(parser);
  const ptx_place place = parser->token.place;
  uint32_t number = 0;
  if (!ptx_want_u32(parser, &number)) {
    return;
  }
  if (number >= MAX_FILES) {
    ptx_fail(parser, place, "file number %u: at most %d", number, MAX_FILES - 1);
    return;
  }
  if (parser->token.kind != PTX_STRING) {
    ptx_unexpected(parser, "a file name");
    return;
  }
  ptx_module *module = parser->module;
  if (number >= module->num_files) {
    module->files = ptx_arena_grow(module->arena, module->files, module->num_files * sizeof(ptx_name),
                                   (number + 1) * sizeof(ptx_name));
    if (module->files == NULL) {
      parser->result = EMU_OUT_OF_MEMORY;
      return;
    }
    module->num_files = number + 1;
  }
  module->files[number] = parser->token.text;
  ptx_next(parser);
  while (ptx_take_mark(parser, ',')) {
    uint64_t ignored = 0;
    ptx_want_integer(parser, &ignored);
  }
}

/* Debug information: nothing of it is needed. */
static void skip_section(ptx_parser *parser)
{
  while (parser->token.kind != PTX_END && !ptx_at_mark(parser, '{')) {
    ptx_next(parser);
  }
  while (parser->token.kind != PTX_END && !ptx_at_mark(parser, '}')) {
    ptx_next(parser);
  }
  ptx_want_mark(parser, '}');
}

static void parse_item(ptx_parser *parser)
{
  bool is_extern = false;
  while (ptx_at(parser, ".visible") || ptx_at(parser, ".extern") || ptx_at(parser, ".weak")
         || ptx_at(parser, ".common")) {
    is_extern = is_extern || ptx_at(parser, ".extern");
    ptx_next(parser);
  }
  ptx_space space;
  if (ptx_at(parser, ".entry")) {
    parse_entry(parser);
  } else if (ptx_at(parser, ".func")) {
    ptx_fail(parser, parser->token.place, ".func: the emulator has no device functions");
  } else if (ptx_is_space(parser->token, &space) && space != PTX_REG && space != PTX_PARAM && space != PTX_LOCAL) {
    ptx_next(parser);
    ptx_parse_variables(parser, space, is_extern);
  } else if (ptx_at(parser, ".file")) {
    parse_file(parser);
  } else if (ptx_at(parser, ".section")) {
    skip_section(parser);
  } else if (ptx_at(parser, ".pragma")) {
    parse_strings(parser);
  } else {
    ptx_unexpected(parser, "a variable or a kernel");
  }
}

static void parse_module(ptx_parser *parser)
{
  ptx_next(parser);
  if (!ptx_at(parser, ".version")) {
    ptx_unexpected(parser, ".version");
    return;
  }
  parse_version(parser);
  if (!ptx_at(parser, ".target")) {
    ptx_unexpected(parser, ".target");
    return;
  }
  parse_target(parser);
  if (ptx_take(parser, ".address_size")) {
    const ptx_place place = parser->token.place;
    uint32_t bits = 0;
    if (ptx_want_u32(parser, &bits) && bits != 64) {
      ptx_fail(parser, place, "addresses of %u bits: only 64 is known", bits);
    }
  }
  while (parser->token.kind != PTX_END) {
    parse_item(parser);
  }
}

int ptx_parse(const char *text, size_t size, ptx_module **module_out, emu_message *message)
{
  message->text[0] = 0;
  if (size > 0 && text[size - 1] == 0) {
    size--;
  }
  if (size > MAX_TEXT) {
    snprintf(message->text, sizeof message->text, "1:1: a text of %zu bytes; at most %d", size, MAX_TEXT);
    return EMU_INVALID_PTX;
  }
  ptx_parser *parser = calloc(1, sizeof *parser);
  ptx_arena *arena = ptx_arena_make();
  ptx_module *module = arena == NULL ? NULL : ptx_arena_get(arena, sizeof *module);
  char *copy = module == NULL ? NULL : ptx_arena_get(arena, size + 1);
  int result = EMU_OUT_OF_MEMORY;
  if (parser != NULL && copy != NULL) {
    memcpy(copy, text, size);
    module->arena = arena;
    parser->module = module;
    parser->message = message;
    ptx_lex_start(&parser->lexer, copy, copy + size);
    ptx_scope_open(parser);
    parse_module(parser);
    result = parser->result;
  }
  free(parser);
  if (result != EMU_OK) {
    if (message->text[0] == 0) {
      snprintf(message->text, sizeof message->text, "no memory to read a text of %zu bytes", size);
    }
    ptx_arena_free(arena);
    return result;
  }
  *module_out = module;
  return EMU_OK;
}

void ptx_free(ptx_module *module)
{
  if (module != NULL) {
    ptx_arena_free(module->arena);
  }
}
