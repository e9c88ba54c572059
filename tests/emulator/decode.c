/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's instructions to steps: each finds its row, and its operands their places. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "instructions.h"
#include "memory.h"

enum { MAX_SLOTS = 600, LANES = 32, CONSTANT_BUCKETS = 1024 };

typedef struct emu_decoder {
  emu_module *module;
  emu_kernel *kernel;
  const ptx_kernel *from;
  const ptx_instruction *at;
  emu_message *message;
  int result;
  emu_slot *registers; /* [index of the symbol] */
  emu_slot dst[MAX_SLOTS], src[MAX_SLOTS];
  unsigned num_dst, num_src;
  emu_step *step;
  uint32_t constant_room, special_room;
  char cta_group;                       /* of the tcgen05 instructions so far: '1', '2', 0 */
  uint32_t constants[CONSTANT_BUCKETS]; /* 1 + offset of the last of that hash */
} emu_decoder;

static void refuse(emu_decoder *decoder, ptx_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void refuse(emu_decoder *decoder, ptx_place place, const char *format, ...)
{
  if (decoder->result != EMU_OK) {
    return;
  }
  decoder->result = EMU_INVALID_PTX;
  char *text = decoder->message->text;
  const int head =
      snprintf(text, sizeof decoder->message->text, "%u:%u: %.*s: ", place.line, place.column,
               (int)(decoder->at->opcode.length < 200 ? decoder->at->opcode.length : 200), decoder->at->opcode.at);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + head, sizeof decoder->message->text - (size_t)head, format, arguments);
  va_end(arguments);
}

static void no_memory(emu_decoder *decoder)
{
  snprintf(decoder->message->text, sizeof decoder->message->text, "no memory to decode a kernel");
  decoder->result = EMU_OUT_OF_MEMORY;
}

/* ---- Places ----------------------------------------------------------------------------------------------- */

static uint32_t bytes_of(unsigned size)
{
  return size == 0 ? 4 : LANES * (size <= 4 ? 4u : size);
}

/* Vectors of lanes first, aligned to a cache line; predicates behind them. */
static void place_registers(emu_decoder *decoder)
{
  const ptx_kernel *from = decoder->from;
  uint32_t end = 0;
  for (unsigned pass = 0; pass < 2; pass++) {
    for (uint32_t i = 0; i < from->num_symbols; i++) {
      const ptx_symbol *symbol = from->symbols[i];
      if (symbol->space != PTX_REG || symbol->is_predicate != (pass == 1)) {
        continue;
      }
      decoder->registers[symbol->index] =
          (emu_slot){.offset = end, .reg = symbol->index + 1, .size = (uint8_t)(symbol->elem_size)};
      end += bytes_of(symbol->elem_size);
    }
  }
  /* The sink: two times the largest, as one result may be dropped twice. */
  decoder->registers[from->num_registers] = (emu_slot){.offset = (end + 63) / 64 * 64, .reg = from->num_registers + 1};
  decoder->kernel->register_bytes = (end + 63) / 64 * 64 + LANES * 16;
  decoder->kernel->num_written = from->num_registers + 2;
}

static emu_slot constant_slot(emu_decoder *decoder, uint64_t bits, unsigned size)
{
  emu_kernel *kernel = decoder->kernel;
  const uint32_t bytes = bytes_of(size == 0 ? 4 : size);
  uint32_t *bucket = &decoder->constants[(bits * 0x9e3779b97f4a7c15ull + size) >> 54];
  emu_slot slot = {.bank = EMU_BANK_CONSTANTS, .size = (uint8_t)size};
  if (*bucket != 0) {
    slot.offset = *bucket - 1;
    const uint8_t *there = kernel->constants + slot.offset;
    uint32_t low;
    uint64_t all;
    memcpy(&low, there, sizeof low);
    memcpy(&all, there, sizeof all);
    if (size == 8 ? slot.offset + 256 <= kernel->constant_bytes && all == bits && memcmp(there, there + 8, 248) == 0
                  : low == (uint32_t)bits && memcmp(there, there + 4, 124) == 0) {
      return slot;
    }
  }
  if (kernel->constant_bytes + bytes > decoder->constant_room) {
    const uint32_t room = 2 * decoder->constant_room + 16384;
    uint8_t *grown = aligned_alloc(64, room);
    if (grown == NULL) {
      no_memory(decoder);
      return slot;
    }
    if (kernel->constants != NULL) {
      memcpy(grown, kernel->constants, kernel->constant_bytes);
      free(kernel->constants);
    }
    kernel->constants = grown;
    decoder->constant_room = room;
  }
  slot.offset = kernel->constant_bytes;
  for (uint32_t lane = 0; lane < LANES; lane++) {
    if (size == 8) {
      memcpy(kernel->constants + slot.offset + lane * 8, &bits, 8);
    } else {
      memcpy(kernel->constants + slot.offset + lane * 4, &bits, 4);
    }
  }
  kernel->constant_bytes += bytes;
  *bucket = slot.offset + 1;
  return slot;
}

static bool special_is_wide(unsigned special)
{
  return special == PTX_GRIDID || special == PTX_CLOCK64 || special == PTX_GLOBALTIMER;
}

/* What a warp's lanes find in memory of their own: filled when the warp begins. */
static emu_slot find_special(emu_decoder *decoder, emu_used_special used, unsigned size)
{
  emu_kernel *kernel = decoder->kernel;
  emu_slot slot = {.bank = EMU_BANK_SPECIALS, .size = (uint8_t)size};
  for (uint32_t i = 0; i < kernel->num_specials; i++) {
    const emu_used_special *other = &kernel->specials[i];
    if (other->special == used.special && other->component == used.component && other->is_address == used.is_address
        && other->address == used.address) {
      slot.offset = other->offset;
      return slot;
    }
  }
  if (kernel->num_specials == decoder->special_room) {
    decoder->special_room += 16;
    emu_used_special *grown = realloc(kernel->specials, decoder->special_room * sizeof *grown);
    if (grown == NULL) {
      no_memory(decoder);
      return slot;
    }
    kernel->specials = grown;
  }
  slot.offset = kernel->special_bytes;
  used.offset = kernel->special_bytes;
  kernel->specials[kernel->num_specials++] = used;
  kernel->special_bytes += bytes_of(size);
  return slot;
}

static emu_slot special_slot(emu_decoder *decoder, const ptx_operand *operand)
{
  if (operand->special >= PTX_CLOCK) {
    decoder->step->reads_clock = 1;
  }
  const emu_used_special used = {.special = operand->special, .component = operand->component};
  return find_special(decoder, used, special_is_wide(operand->special) ? 8 : 4);
}

static emu_slot variable_slot(emu_decoder *decoder, const ptx_operand *operand, unsigned size)
{
  const uint64_t address = operand->symbol->address + (uint64_t)operand->offset;
  if (operand->symbol->space != PTX_SHARED) {
    return constant_slot(decoder, address, size);
  }
  const emu_used_special used = {.component = (uint8_t)size, .is_address = 1, .address = (uint32_t)address};
  return find_special(decoder, used, size);
}

/* ---- One operand ------------------------------------------------------------------------------------------ */

static bool fits_class(char class, unsigned size)
{
  switch (class) {
  case 'p':
    return size == 0;
  case 'h':
    return size == 2 || size == 1;
  case 'w':
    return size == 4;
  case 'l':
    return size == 8;
  case 'q':
    return size == 16;
  default: /* x */
    return size > 0;
  }
}

static unsigned class_size(char class)
{
  return class == 'p' ? 0 : class == 'h' ? 2 : class == 'w' ? 4 : class == 'q' ? 16 : 8;
}

static const char *class_words(char class)
{
  return class == 'p'   ? "a predicate"
         : class == 'h' ? "16 bits"
         : class == 'w' ? "32 bits"
         : class == 'l' ? "64 bits"
         : class == 'q' ? "128 bits"
                        : "a number";
}

static void add_slot(emu_decoder *decoder, bool is_result, emu_slot slot)
{
  unsigned *count = is_result ? &decoder->num_dst : &decoder->num_src;
  if (*count == MAX_SLOTS) {
    refuse(decoder, decoder->at->place, "too many operands");
    return;
  }
  (is_result ? decoder->dst : decoder->src)[(*count)++] = slot;
}

static bool number_slot(emu_decoder *decoder, const ptx_operand *operand, char class, emu_slot *slot_out)
{
  const unsigned size = class_size(class);
  uint64_t bits = operand->bits;
  if (class == 'q') {
    return false;
  }
  if (class == 'p') {
    bits = bits != 0 ? 0xffffffffu : 0;
  } else if (operand->kind == PTX_OP_F32 && class != 'w' && class != 'x') {
    return false;
  } else if (operand->kind == PTX_OP_F64 && class == 'w') {
    double wide;
    memcpy(&wide, &bits, sizeof wide);
    const float narrow = (float)wide;
    bits = 0;
    memcpy(&bits, &narrow, sizeof narrow);
  } else if (operand->kind == PTX_OP_F64 && class == 'h') {
    return false;
  }
  bits = size == 2 ? bits & 0xffff : size == 4 ? bits & 0xffffffff : bits;
  *slot_out = constant_slot(decoder, bits, size);
  return true;
}

static void plain_operand(emu_decoder *decoder, const ptx_operand *operand, char class, bool is_result)
{
  emu_slot slot = {0};
  bool ok = false;
  if (operand->kind == PTX_OP_REG && operand->offset == 0 && !operand->is_minus) {
    slot = decoder->registers[operand->symbol->index];
    slot.negated = operand->is_negated;
    ok = fits_class(class, slot.size) && !(is_result && operand->is_negated);
  } else if (operand->kind == PTX_OP_SINK && is_result) {
    slot = decoder->registers[decoder->from->num_registers];
    slot.size = (uint8_t)class_size(class);
    ok = true;
  } else if (is_result) {
    ok = false;
  } else if (operand->kind == PTX_OP_INTEGER || operand->kind == PTX_OP_F32 || operand->kind == PTX_OP_F64) {
    ok = number_slot(decoder, operand, class, &slot);
  } else if (operand->kind == PTX_OP_SPECIAL) {
    slot = special_slot(decoder, operand);
    ok = class == 'x' || slot.size == class_size(class);
  } else if (operand->kind == PTX_OP_VARIABLE && (class == 'w' || class == 'l' || class == 'x')) {
    slot = variable_slot(decoder, operand, class == 'w' ? 4 : 8);
    ok = true;
  }
  if (!ok) {
    refuse(decoder, operand->place, "%s is wanted here%s", class_words(class), is_result ? ", as a result" : "");
    return;
  }
  add_slot(decoder, is_result, slot);
}

static void address_operand(emu_decoder *decoder, const ptx_operand *operand, bool with_more)
{
  if (operand->kind != PTX_OP_ADDRESS || (operand->num_parts > 1 && !with_more)) {
    refuse(decoder, operand->place, "an address in brackets is wanted here");
    return;
  }
  ptx_operand base = operand->parts[0];
  emu_step *step = decoder->step;
  const unsigned number = step->num_addresses++;
  *(number == 0 ? &step->offset : number == 1 ? &step->offset2 : &step->offset3) = base.offset;
  base.offset = 0;
  plain_operand(decoder, &base, 'x', false);
  if (decoder->result == EMU_OK && decoder->src[decoder->num_src - 1].size < 4) {
    refuse(decoder, operand->place, "an address has 32 or 64 bits");
  }
  for (uint32_t i = 1; i < operand->num_parts; i++) {
    const ptx_operand *part = &operand->parts[i];
    const uint32_t count = part->kind == PTX_OP_VECTOR ? part->num_parts : 1;
    for (uint32_t j = 0; j < count; j++) {
      plain_operand(decoder, part->kind == PTX_OP_VECTOR ? &part->parts[j] : part, 'x', false);
    }
  }
}

static void vector_operand(emu_decoder *decoder, const ptx_operand *operand, unsigned count, char class, bool is_result)
{
  const bool is_vector = operand->kind == PTX_OP_VECTOR;
  const unsigned have = is_vector ? operand->num_parts : 1;
  if (count != 0 && have != count) {
    refuse(decoder, operand->place, "%u values in braces are wanted here, not %u", count, have);
    return;
  }
  for (unsigned i = 0; i < have && decoder->result == EMU_OK; i++) {
    plain_operand(decoder, is_vector ? &operand->parts[i] : operand, class, is_result);
  }
}

/* ---- An instruction's operands ---------------------------------------------------------------------------- */

static void pair_operand(emu_decoder *decoder, const ptx_operand *operand, const char *word, bool is_result)
{
  const bool is_pair = operand->kind == PTX_OP_PAIR;
  plain_operand(decoder, is_pair ? &operand->parts[0] : operand, word[0], is_result);
  const ptx_operand sink = {.kind = PTX_OP_SINK, .place = operand->place};
  plain_operand(decoder, is_pair ? &operand->parts[1] : &sink, word[2], is_result);
}

static void one_operand(emu_decoder *decoder, const ptx_operand *operand, const char *word, size_t length)
{
  const bool is_result = *word == '=';
  if (is_result) {
    word++;
    length--;
  }
  if (length == 3 && word[1] == '|') {
    pair_operand(decoder, operand, word, is_result);
  } else if (*word == 'L') {
    if (operand->kind != PTX_OP_LABEL) {
      refuse(decoder, operand->place, "a label is wanted here");
    }
    decoder->step->target = operand->target;
  } else if (*word == 'a' || *word == 'A') {
    address_operand(decoder, operand, *word == 'A');
  } else if (*word == 'v') {
    unsigned count = 0;
    size_t i = 1;
    for (; i < length && word[i] >= '0' && word[i] <= '9'; i++) {
      count = count * 10 + (unsigned)(word[i] - '0');
    }
    vector_operand(decoder, operand, count, word[i], is_result);
  } else if (*word == 'c') {
    if (operand->kind != PTX_OP_INTEGER) {
      refuse(decoder, operand->place, "a constant is wanted here");
    }
    plain_operand(decoder, operand, 'l', false);
  } else {
    plain_operand(decoder, operand, *word, is_result);
  }
}

static void all_operands(emu_decoder *decoder, const char *words)
{
  const ptx_instruction *at = decoder->at;
  uint32_t i = 0;
  while (*words != 0 && decoder->result == EMU_OK) {
    const size_t length = strcspn(words, " ");
    const bool optional = words[length - 1] == '?';
    if (i == at->num_operands) {
      if (!optional) {
        refuse(decoder, at->place, "an operand is missing");
      }
      return;
    }
    one_operand(decoder, &at->operands[i++], words, optional ? length - 1 : length);
    words += length;
    words += *words == ' ';
  }
  if (i < at->num_operands) {
    refuse(decoder, at->operands[i].place, "an operand too many");
  }
}

/* ---- Steps ------------------------------------------------------------------------------------------------ */

static void keep_slots(emu_decoder *decoder, emu_step *step)
{
  const size_t size = (decoder->num_dst + decoder->num_src) * sizeof(emu_slot);
  emu_slot *slots = ptx_arena_get(decoder->module->ptx->arena, size);
  if (slots == NULL) {
    no_memory(decoder);
    return;
  }
  memcpy(slots, decoder->dst, decoder->num_dst * sizeof(emu_slot));
  memcpy(slots + decoder->num_dst, decoder->src, decoder->num_src * sizeof(emu_slot));
  step->dst = slots;
  step->src = slots + decoder->num_dst;
  step->num_dst = (uint16_t)decoder->num_dst;
  step->num_src = (uint16_t)decoder->num_src;
}

static void use_row(emu_decoder *decoder, emu_step *step, const emu_row *row)
{
  decoder->num_dst = decoder->num_src = 0;
  decoder->step = step;
  step->num_addresses = 0;
  step->offset = step->offset2 = step->offset3 = 0;
  step->exec = row->exec;
  step->flags = row->flags;
  step->arg = row->arg;
  all_operands(decoder, row->operands);
}

/* All tcgen05 instructions of a kernel have the same .cta_group. */
static void check_cta_group(emu_decoder *decoder)
{
  static const char word[] = "cta_group::";
  const ptx_name opcode = decoder->at->opcode;
  for (size_t i = 0; i + sizeof word <= opcode.length; i++) {
    if (memcmp(opcode.at + i, word, sizeof word - 1) == 0) {
      const char group = opcode.at[i + sizeof word - 1];
      if (decoder->cta_group != 0 && decoder->cta_group != group) {
        refuse(decoder, decoder->at->place, "cta_group::%c in a kernel that has used cta_group::%c", group,
               decoder->cta_group);
      }
      decoder->cta_group = group;
    }
  }
}

static void decode_one(emu_decoder *decoder, emu_step *step)
{
  const ptx_instruction *at = decoder->at;
  const emu_device *device = decoder->module->device;
  emu_row_search search = {0};
  bool tried = false;
  step->from = at;
  step->is_target = at->is_target;
  for (;;) {
    const emu_row *row = emu_row_next(&search, at->opcode, device->major * 10 + device->minor, step->mods);
    if (row == NULL) {
      break;
    }
    decoder->result = EMU_OK;
    use_row(decoder, step, row);
    tried = true;
    if (decoder->result != EMU_INVALID_PTX) {
      break;
    }
  }
  if (!tried) {
    refuse(decoder, at->place,
           search.found_for_others ? "%s does not have this instruction"
                                   : "the emulator for %s does not know this instruction",
           device->arch);
  }
  if (decoder->result != EMU_OK) {
    return;
  }
  decoder->message->text[0] = 0; /* of rows that did not fit */
  if ((step->flags & EMU_ROW_ASYNC) != 0) {
    decoder->kernel->uses_async_proxy = true;
  }
  if ((step->flags & EMU_ROW_TENSOR) != 0) {
    decoder->kernel->uses_tensor_memory = true;
    check_cta_group(decoder);
  }
  if (at->guard != NULL) {
    step->has_guard = 1;
    step->guard = decoder->registers[at->guard->index];
    step->guard.negated = at->guard_negated;
  }
  keep_slots(decoder, step);
}

/* Behind the last instruction the threads end. */
static const ptx_instruction end_of_text = {.opcode = {"ret", 3}};

int emu_decode(emu_module *module, emu_kernel *kernel, const ptx_kernel *from, emu_message *message)
{
  emu_decoder *decoder = calloc(1, sizeof *decoder);
  emu_step *steps = ptx_arena_get(module->ptx->arena, (from->num_instructions + 1u) * sizeof *steps);
  emu_slot *registers = calloc(from->num_registers + 1u, sizeof *registers);
  int result = EMU_OUT_OF_MEMORY;
  if (decoder != NULL && steps != NULL && registers != NULL) {
    decoder->module = module;
    decoder->kernel = kernel;
    decoder->from = from;
    decoder->message = message;
    decoder->registers = registers;
    kernel->steps = steps;
    kernel->num_steps = from->num_instructions + 1;
    place_registers(decoder);
    for (uint32_t i = 0; i <= from->num_instructions && decoder->result == EMU_OK; i++) {
      decoder->at = i < from->num_instructions ? &from->instructions[i] : &end_of_text;
      decode_one(decoder, &steps[i]);
    }
    result = decoder->result;
  }
  free(decoder);
  free(registers);
  return result;
}
