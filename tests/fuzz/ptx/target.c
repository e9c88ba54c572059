/* SPDX-License-Identifier: Apache-2.0 */
/* PTX for the emulator: any bytes are refused with a line and a column, or become kernels whose steps stay inside of
 * what belongs to them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "instructions.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { MOST_BYTES = 1 << 20 }; /* of variables: larger ones only take time */

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

static void demand_message(const emu_message *message)
{
  demand(message->text[0] != 0 && memchr(message->text, 0, sizeof message->text) != NULL);
}

/* Whether the text parses and is small enough to be loaded. */
static int is_small(const char *text, size_t count)
{
  emu_message message;
  ptx_module *module = NULL;
  const int result = ptx_parse(text, count, &module, &message);
  if (result != EMU_OK) {
    demand_message(&message);
    demand(result == EMU_INVALID_PTX && message.text[0] >= '1' && message.text[0] <= '9');
    return 0;
  }
  uint64_t sum = 0;
  for (uint32_t i = 0; i < module->num_symbols; i++) {
    sum += module->symbols[i]->size;
  }
  ptx_free(module);
  return sum < MOST_BYTES;
}

static void look_at_slot(const emu_kernel *kernel, const emu_slot *slot)
{
  const uint32_t room = slot->bank == EMU_BANK_REGISTERS   ? kernel->register_bytes
                        : slot->bank == EMU_BANK_CONSTANTS ? kernel->constant_bytes
                                                           : kernel->special_bytes;
  const uint32_t bytes = slot->size == 0 ? 4 : 32 * (slot->size <= 4 ? 4u : slot->size);
  demand(slot->bank < EMU_NUM_BANKS && slot->reg < kernel->num_written);
  demand(slot->offset <= room && bytes <= room - slot->offset);
}

static void look_at(const emu_kernel *kernel)
{
  for (uint32_t i = 0; i < kernel->num_steps; i++) {
    const emu_step *step = &kernel->steps[i];
    demand(step->exec != NULL && step->target < kernel->num_steps);
    for (unsigned s = 0; s < step->num_dst; s++) {
      look_at_slot(kernel, &step->dst[s]);
    }
    for (unsigned s = 0; s < step->num_src; s++) {
      look_at_slot(kernel, &step->src[s]);
    }
    if (step->has_guard) {
      look_at_slot(kernel, &step->guard);
    }
  }
}

static void load_for(const char *arch, const char *text, size_t count)
{
  emu_message message;
  emu_module *module = NULL;
  if (emu_module_load(text, count, emu_device_find(arch), &module, &message) != EMU_OK) {
    demand_message(&message);
    return;
  }
  for (unsigned i = 0; i < emu_module_num_kernels(module); i++) {
    look_at(emu_module_kernel_at(module, i));
  }
  emu_module_free(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  const char *text = (const char *)bytes;
  if (is_small(text, count)) {
    load_for("sm_90a", text, count);
    load_for("sm_100a", text, count);
  }
  return 0;
}
