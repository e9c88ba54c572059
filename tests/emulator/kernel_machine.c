/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compile.h"
#include "launch_args.h"
#include "render.h"
#include "workspace.h"

static bool machine_alloc(void *data, size_t bytes, uint64_t *address_out)
{
  kernel_machine *m = data;
  *address_out = emu_alloc(bytes);
  (void)snprintf(m->message, sizeof m->message, "no device memory");
  return *address_out != 0;
}

static void machine_release(void *data, uint64_t address)
{
  (void)data;
  (void)emu_free(address);
}

static bool machine_write(void *data, uint64_t to, const void *from, size_t bytes)
{
  kernel_machine *m = data;
  (void)snprintf(m->message, sizeof m->message, "a copy to the device outside of its memory");
  return emu_copy_in(to, from, bytes) == EMU_OK;
}

static bool machine_read(void *data, void *to, uint64_t from, size_t bytes)
{
  kernel_machine *m = data;
  (void)snprintf(m->message, sizeof m->message, "a copy from the device outside of its memory");
  return emu_copy_out(to, from, bytes) == EMU_OK;
}

static const char *machine_message(void *data)
{
  return ((kernel_machine *)data)->message;
}

/* ---- A launch --------------------------------------------------------------------------------------------- */

static swa_jit_status fail_with(kernel_machine *m, const char *what)
{
  (void)snprintf(m->message, sizeof m->message, "%s", what);
  return SWA_JIT_CUDA_ERROR;
}

/* The source as it is compiled; NULL: a failure, told in message. */
static char *render(kernel_machine *m, const swa_jit_config *config, const sj_tile_plan *plan)
{
  char *source = NULL;
  if (sj_render_make(config, plan, &source) != SWA_JIT_OK) {
    (void)fail_with(m, swa_jit_message());
    return NULL;
  }
  return m->change == NULL ? source : m->change(m, config, plan, source);
}

swa_jit_status kernel_machine_compile(kernel_machine *m, const swa_jit_config *config, const sj_tile_plan *plan,
                                      emu_module **module_out)
{
  const sj_log silence = {0};
  sj_compiled compiled;
  char *source = render(m, config, plan);
  if (source == NULL) {
    return SWA_JIT_CUDA_ERROR;
  }
  const swa_jit_status status = sj_compile_run(&m->nvrtc, m->arch, sj_render_kernel_name(config), source,
                                               SJ_COMPILE_PTX_ALONE, &silence, &compiled);
  free(source);
  if (status != SWA_JIT_OK) {
    m->was_refused = true;
    sj_compiled_finish(&compiled);
    return fail_with(m, swa_jit_message());
  }
  emu_message message;
  const int loaded = emu_module_load(compiled.ptx, strlen(compiled.ptx), m->device, module_out, &message);
  const char *dump = getenv("EMULATOR_TEST_PTX");
  FILE *file = dump == NULL ? NULL : fopen(dump, "w");
  if (file != NULL) {
    (void)fputs(compiled.ptx, file);
    (void)fclose(file);
  }
  sj_compiled_finish(&compiled);
  return loaded == EMU_OK ? SWA_JIT_OK : fail_with(m, message.text);
}

static double now(void)
{
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

swa_jit_status kernel_machine_launch(kernel_machine *m, const emu_launch *launch)
{
  emu_message report;
  emu_run_stats stats = {0};
  const double begin = now();
  const int result = emu_run(m->device, launch, &stats, &report);
  m->seconds += now() - begin;
  m->stats.warp_instructions += stats.warp_instructions;
  m->stats.thread_instructions += stats.thread_instructions;
  m->was_faulted = result != EMU_OK;
  return result == EMU_OK ? SWA_JIT_OK : fail_with(m, report.text);
}

static swa_jit_status launch(kernel_machine *m, const emu_module *module, const sj_tile_plan *plan,
                             const swa_params *params)
{
  const emu_kernel *kernel = emu_module_kernel(module, "swa_decode");
  const uint32_t cluster = emu_kernel_get_info(kernel)->required_cluster[0], ctas = cluster != 0 ? cluster : 1;
  return kernel_machine_launch(m, &(emu_launch){.kernel = kernel,
                                                .grid = {params->num_tokens * ctas, params->kv_head_groups,
                                                         params->num_kv_heads * params->num_splits},
                                                .block = {plan->num_warps * 32, 1, 1},
                                                .dynamic_shared = plan->shared_memory_bytes,
                                                .params = params,
                                                .params_size = sizeof *params});
}

/* An allocation as it was, to be brought back: out's or LSE's poison. */
typedef struct snapshot {
  void *host, *copy;
  size_t size;
} snapshot;

static bool take_snapshot(const void *address, snapshot *out)
{
  uint64_t base = 0;
  *out = (snapshot){0};
  if (address == NULL) {
    return true;
  }
  if (emu_range((uint64_t)(uintptr_t)address, &base, &out->size) != EMU_OK) {
    return false;
  }
  out->host = emu_host(base, out->size);
  out->copy = malloc(out->size);
  if (out->copy != NULL) {
    memcpy(out->copy, out->host, out->size);
  }
  return out->copy != NULL;
}

static void bring_back(snapshot *taken)
{
  if (taken->copy != NULL) {
    memcpy(taken->host, taken->copy, taken->size);
  }
}

/* Twice with the same workspace: the second finds the counts as the first has left them, and nothing of use besides,
 * for another launch may have been between. */
static swa_jit_status launch_twice(kernel_machine *m, const emu_module *module, const sj_tile_plan *plan,
                                   const swa_params *params, unsigned char *parts, size_t parts_bytes)
{
  snapshot out, lse;
  swa_jit_status status = SWA_JIT_OUT_OF_MEMORY;
  const bool is_taken = take_snapshot(params->out, &out);
  if (take_snapshot(params->lse, &lse) && is_taken) {
    status = launch(m, module, plan, params);
  }
  if (status == SWA_JIT_OK) {
    memset(parts, 0xff, parts_bytes);
    bring_back(&out);
    bring_back(&lse);
    status = launch(m, module, plan, params);
  }
  free(out.copy);
  free(lse.copy);
  return status;
}

static swa_jit_status launch_split(kernel_machine *m, const emu_module *module, const swa_jit_config *config,
                                   const sj_tile_plan *plan, swa_params *params)
{
  const uint64_t units =
      sj_workspace_units(config, plan, (uint64_t)params->num_tokens * params->kv_head_groups * params->num_kv_heads);
  const uint64_t bytes = sj_workspace_bytes(config, plan, units, params->num_splits);
  const uint64_t offset = sj_workspace_offset(units), parts = offset + (units * sizeof(unsigned) + 15) / 16 * 16;
  const uint64_t address = emu_alloc(bytes);
  unsigned char *host = address == 0 ? NULL : emu_host(address, bytes);
  if (host == NULL) {
    return fail_with(m, "no memory for a workspace");
  }
  memset(host, 0, bytes);
  emu_mark_written(address, bytes);
  params->workspace = (void *)(uintptr_t)(address + offset);
  const swa_jit_status status = launch_twice(m, module, plan, params, host + parts, bytes - parts);
  (void)emu_free(address);
  return status;
}

static swa_jit_status machine_decode(void *data, const swa_jit_config *wanted, const swa_jit_decode_args *args)
{
  kernel_machine *m = data;
  swa_jit_config config = *wanted;
  sj_tile_plan plan;
  swa_params params;
  config.arch = m->arch->id;
  if (args->num_tokens == 0) {
    return SWA_JIT_OK; /* the library launches nothing */
  }
  if (sj_tile_plan_make(&config, m->arch, &plan) != SWA_JIT_OK) {
    return SWA_JIT_UNSUPPORTED;
  }
  if (sj_launch_args_make(&config, args, &params) != SWA_JIT_OK) {
    return fail_with(m, swa_jit_message());
  }
  emu_module *module = NULL;
  swa_jit_status status = kernel_machine_compile(m, &config, &plan, &module);
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = config.splits != 0 ? launch_split(m, module, &config, &plan, &params) : launch(m, module, &plan, &params);
  emu_module_free(module);
  return status;
}

/* ---- All of it -------------------------------------------------------------------------------------------- */

bool kernel_machine_open(kernel_machine *m, const char *arch, uint64_t seed, unsigned num_threads)
{
  const sj_log silence = {0};
  *m = (kernel_machine){.device = emu_device_find(arch), .arch = sj_arch_find_name(arch)};
  emu_configure(&(emu_settings){seed, num_threads});
  if (sj_nvrtc_api_open(NULL, NULL, m->arch->min_nvrtc, &silence, &m->nvrtc) == SWA_JIT_OK) {
    return true;
  }
  (void)fail_with(m, swa_jit_message());
  return false;
}

void kernel_machine_close(kernel_machine *m)
{
  sj_nvrtc_api_close(&m->nvrtc);
}

decode_device kernel_machine_device(kernel_machine *m, unsigned num_threads)
{
  return (decode_device){.data = m,
                         .alloc = machine_alloc,
                         .release = machine_release,
                         .write = machine_write,
                         .read = machine_read,
                         .decode = machine_decode,
                         .message = machine_message,
                         .num_threads = num_threads};
}
