/* SPDX-License-Identifier: Apache-2.0 */
/* A module's life, and where its variables are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "memory.h"

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
  return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

/* Global and constant variables: one allocation, with unallocated bytes between them. */
enum { VARIABLE_GAP = 16 };

static bool is_device_variable(const ptx_symbol *symbol)
{
  return symbol->space == PTX_GLOBAL || symbol->space == PTX_CONST;
}

static uint64_t place_globals(ptx_module *ptx)
{
  uint64_t end = 0;
  for (uint32_t i = 0; i < ptx->num_symbols; i++) {
    ptx_symbol *symbol = ptx->symbols[i];
    if (is_device_variable(symbol)) {
      symbol->address = align_up(end + (end > 0 ? VARIABLE_GAP : 0), symbol->alignment);
      end = symbol->address + symbol->size;
    }
  }
  return end;
}

static int fill_globals(emu_module *module, uint64_t size, emu_message *message)
{
  if (size == 0) {
    return EMU_OK;
  }
  module->globals = emu_alloc(size);
  if (module->globals == 0) {
    snprintf(message->text, sizeof message->text, "no memory for %llu bytes of variables", (unsigned long long)size);
    return EMU_OUT_OF_MEMORY;
  }
  const emu_global *memory = emu_global_memory();
  const uint64_t base = module->globals - EMU_GLOBAL_WINDOW;
  memset(memory->states + base, EMU_BYTE_NONE, size);
  for (uint32_t i = 0; i < module->ptx->num_symbols; i++) {
    ptx_symbol *symbol = module->ptx->symbols[i];
    if (!is_device_variable(symbol)) {
      continue;
    }
    uint8_t *at = memory->data + base + symbol->address;
    memset(at, 0, symbol->size);
    if (symbol->initial != NULL) {
      memcpy(at, symbol->initial, symbol->size);
    }
    memset(memory->states + base + symbol->address, EMU_BYTE_WRITTEN, symbol->size);
    symbol->address += module->globals;
  }
  return EMU_OK;
}

/* Shared variables of the module first, then each kernel's; the dynamic part lies behind them. */
static uint64_t place_shared(ptx_symbol *const *symbols, uint32_t count, uint64_t from)
{
  uint64_t end = from;
  for (uint32_t i = 0; i < count; i++) {
    ptx_symbol *symbol = symbols[i];
    if (symbol->space == PTX_SHARED && !symbol->is_extern) {
      symbol->address = align_up(end, symbol->alignment);
      end = symbol->address + symbol->size;
    }
  }
  return end;
}

static void place_dynamic(ptx_symbol *const *symbols, uint32_t count, uint64_t *at, uint32_t *alignment)
{
  for (uint32_t i = 0; i < count; i++) {
    if (symbols[i]->space == PTX_SHARED && symbols[i]->is_extern && symbols[i]->alignment > *alignment) {
      *alignment = symbols[i]->alignment;
    }
  }
  *at = align_up(*at, *alignment);
  for (uint32_t i = 0; i < count; i++) {
    if (symbols[i]->space == PTX_SHARED && symbols[i]->is_extern) {
      symbols[i]->address = *at;
    }
  }
}

static uint32_t place_local(const ptx_kernel *kernel)
{
  uint64_t end = EMU_LOCAL_BASE;
  for (uint32_t i = 0; i < kernel->num_symbols; i++) {
    ptx_symbol *symbol = kernel->symbols[i];
    if (symbol->space == PTX_LOCAL) {
      symbol->address = align_up(end, symbol->alignment);
      end = symbol->address + symbol->size;
    }
  }
  return end > EMU_LOCAL_BASE ? (uint32_t)end : 0;
}

static int place_params(emu_kernel *kernel, const ptx_kernel *from, emu_message *message)
{
  kernel->info.num_params = from->num_params;
  emu_param *params = calloc(from->num_params + 1u, sizeof *params);
  if (params == NULL) {
    snprintf(message->text, sizeof message->text, "no memory for the parameters");
    return EMU_OUT_OF_MEMORY;
  }
  uint64_t end = 0;
  for (uint32_t i = 0; i < from->num_params; i++) {
    ptx_symbol *param = from->params[i];
    param->address = align_up(end, param->alignment);
    end = param->address + param->size;
    params[i] = (emu_param){(uint32_t)param->address, (uint32_t)param->size};
    if (end > 32764) {
      snprintf(message->text, sizeof message->text, "%u:%u: more than 32764 bytes of parameters", param->place.line,
               param->place.column);
      free(params);
      return EMU_INVALID_PTX;
    }
  }
  kernel->info.params = params;
  kernel->info.param_bytes = (uint32_t)end;
  return EMU_OK;
}

static int place_kernel(emu_module *module, emu_kernel *kernel, const ptx_kernel *from, uint64_t shared_end,
                        emu_message *message)
{
  const emu_device *device = module->device;
  kernel->dynamic_alignment = 16;
  uint64_t end = place_shared(from->symbols, from->num_symbols, shared_end);
  place_dynamic(from->symbols, from->num_symbols, &end, &kernel->dynamic_alignment);
  place_dynamic(module->ptx->symbols, module->ptx->num_symbols, &end, &kernel->dynamic_alignment);
  if (end - EMU_SHARED_BASE > device->shared_per_block_optin) {
    snprintf(message->text, sizeof message->text, "%u:%u: %llu bytes of shared variables; %s has %u", from->place.line,
             from->place.column, (unsigned long long)(end - EMU_SHARED_BASE), device->arch,
             device->shared_per_block_optin);
    return EMU_INVALID_PTX;
  }
  kernel->module = module;
  kernel->from = from;
  kernel->info.static_shared = (uint32_t)(end - EMU_SHARED_BASE);
  kernel->info.local_bytes = place_local(from);
  memcpy(kernel->info.required_cluster, from->required_cluster, sizeof from->required_cluster);
  uint64_t threads = (uint64_t)from->max_threads[0] * from->max_threads[1] * from->max_threads[2];
  if (threads == 0 || threads > device->max_threads_per_block) {
    threads = device->max_threads_per_block;
  }
  kernel->info.max_threads = (uint32_t)threads;
  /* What the hardware would take is the business of a compiler that is not here: as many as the threads allow. */
  const uint32_t share = device->registers_per_sm / (uint32_t)((threads + 31) / 32 * 32) / 8 * 8;
  const uint32_t named = from->num_registers < 16 ? 16 : from->num_registers;
  kernel->info.num_registers = share < named ? share : named;
  if (kernel->info.num_registers > 128) {
    kernel->info.num_registers = 128;
  }
  return place_params(kernel, from, message);
}

/* The name ends where the text goes on: a copy. */
static const char *copy_name(ptx_name name)
{
  return strndup(name.at, name.length);
}

int emu_layout(emu_module *module, emu_message *message)
{
  ptx_module *ptx = module->ptx;
  int result = fill_globals(module, place_globals(ptx), message);
  const uint64_t shared_end = place_shared(ptx->symbols, ptx->num_symbols, EMU_SHARED_BASE);
  for (uint32_t i = 0; i < ptx->num_kernels && result == EMU_OK; i++) {
    emu_kernel *kernel = &module->kernels[i];
    kernel->info.name = copy_name(ptx->kernels[i]->name);
    result = kernel->info.name == NULL ? EMU_OUT_OF_MEMORY
                                       : place_kernel(module, kernel, ptx->kernels[i], shared_end, message);
    if (result == EMU_OK) {
      result = emu_decode(module, kernel, ptx->kernels[i], message);
    }
  }
  return result;
}

/* ---- Modules ---------------------------------------------------------------------------------------------- */

static int number_of_target(ptx_name target, bool *is_own)
{
  int number = 0;
  uint32_t i = 3;
  if (target.length < 5 || memcmp(target.at, "sm_", 3) != 0) {
    return 0;
  }
  for (; i < target.length && target.at[i] >= '0' && target.at[i] <= '9' && number < 1000; i++) {
    number = number * 10 + (target.at[i] - '0');
  }
  *is_own = i + 1 == target.length && target.at[i] == 'a';
  return i == target.length || *is_own ? number : 0;
}

/* PTX runs on what is as new as its target, an a-target's on that alone. */
static int check_target(const ptx_module *ptx, const emu_device *device, emu_message *message)
{
  bool is_own = false;
  const int wanted = number_of_target(ptx->target, &is_own);
  const int have = device->major * 10 + device->minor;
  if (wanted != 0 && (is_own ? wanted == have : wanted <= have)) {
    return EMU_OK;
  }
  snprintf(message->text, sizeof message->text, "the text is for %.*s; the device is %s", (int)ptx->target.length,
           ptx->target.at, device->arch);
  return EMU_NO_BINARY;
}

int emu_module_load(const char *text, size_t size, const emu_device *device, emu_module **module_out,
                    emu_message *message)
{
  emu_module *module = calloc(1, sizeof *module);
  if (module == NULL) {
    snprintf(message->text, sizeof message->text, "no memory for a module");
    return EMU_OUT_OF_MEMORY;
  }
  module->device = device;
  int result = ptx_parse(text, size, &module->ptx, message);
  if (result == EMU_OK) {
    result = check_target(module->ptx, device, message);
  }
  if (result == EMU_OK) {
    module->num_kernels = module->ptx->num_kernels;
    module->kernels = calloc(module->num_kernels + 1u, sizeof *module->kernels);
    result = module->kernels == NULL ? EMU_OUT_OF_MEMORY : emu_layout(module, message);
  }
  if (result != EMU_OK) {
    emu_module_free(module);
    return result;
  }
  *module_out = module;
  return EMU_OK;
}

void emu_module_free(emu_module *module)
{
  if (module == NULL) {
    return;
  }
  for (uint32_t i = 0; module->kernels != NULL && i < module->num_kernels; i++) {
    emu_kernel *kernel = &module->kernels[i];
    free((void *)(uintptr_t)kernel->info.name);
    free((void *)(uintptr_t)kernel->info.params);
    free(kernel->constants);
    free(kernel->specials);
  }
  free(module->kernels);
  emu_free(module->globals);
  ptx_free(module->ptx);
  free(module);
}

unsigned emu_module_num_kernels(const emu_module *module)
{
  return module->num_kernels;
}

const emu_kernel *emu_module_kernel_at(const emu_module *module, unsigned index)
{
  return index < module->num_kernels ? &module->kernels[index] : NULL;
}

const emu_kernel *emu_module_kernel(const emu_module *module, const char *name)
{
  for (uint32_t i = 0; i < module->num_kernels; i++) {
    if (strcmp(module->kernels[i].info.name, name) == 0) {
      return &module->kernels[i];
    }
  }
  return NULL;
}

int emu_module_global(const emu_module *module, const char *name, uint64_t *address_out, size_t *size_out)
{
  for (uint32_t i = 0; i < module->ptx->num_symbols; i++) {
    const ptx_symbol *symbol = module->ptx->symbols[i];
    if (is_device_variable(symbol) && strlen(name) == symbol->name.length
        && memcmp(symbol->name.at, name, symbol->name.length) == 0) {
      *address_out = symbol->address;
      *size_out = symbol->size;
      return EMU_OK;
    }
  }
  return EMU_NOT_FOUND;
}

const emu_kernel_info *emu_kernel_get_info(const emu_kernel *kernel)
{
  return &kernel->info;
}
