/* SPDX-License-Identifier: Apache-2.0 */
/* The real kernels on the machine, without the driver front: the stages render and compile a case's configuration to
 * PTX, and what the machine leaves is compared with the reference in doubles. Arguments: an architecture, a seed,
 * and a case, or the name of a grid of tests/decode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "compile.h"
#include "grid.h"
#include "launch_args.h"
#include "machine.h"
#include "render.h"
#include "workspace.h"

enum { SKIPPED = 77 };

typedef struct machine {
  const emu_device *device;
  const sj_arch *arch;
  sj_nvrtc_api nvrtc;
  emu_run_stats stats;
  double seconds; /* of emu_run */
  char message[3000];
} machine;

static bool machine_alloc(void *data, size_t bytes, uint64_t *address_out)
{
  machine *m = data;
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
  machine *m = data;
  (void)snprintf(m->message, sizeof m->message, "a copy to the device outside of its memory");
  return emu_copy_in(to, from, bytes) == EMU_OK;
}

static bool machine_read(void *data, void *to, uint64_t from, size_t bytes)
{
  machine *m = data;
  (void)snprintf(m->message, sizeof m->message, "a copy from the device outside of its memory");
  return emu_copy_out(to, from, bytes) == EMU_OK;
}

static const char *machine_message(void *data)
{
  return ((machine *)data)->message;
}

/* ---- A launch --------------------------------------------------------------------------------------------- */

static swa_jit_status fail_with(machine *m, const char *what)
{
  (void)snprintf(m->message, sizeof m->message, "%s", what);
  return SWA_JIT_CUDA_ERROR;
}

static swa_jit_status compile(machine *m, const swa_jit_config *config, const sj_tile_plan *plan, emu_module **out)
{
  char *source = NULL;
  const sj_log silence = {0};
  sj_compiled compiled;
  swa_jit_status status = sj_render_make(config, plan, &source);
  if (status != SWA_JIT_OK) {
    return fail_with(m, swa_jit_message());
  }
  status = sj_compile_run(&m->nvrtc, m->arch, sj_render_kernel_name(config), source, SJ_COMPILE_PTX_NEEDED, &silence,
                          &compiled);
  free(source);
  if (status != SWA_JIT_OK) {
    sj_compiled_finish(&compiled);
    return fail_with(m, swa_jit_message());
  }
  emu_message message;
  const int loaded = emu_module_load(compiled.ptx, strlen(compiled.ptx), m->device, out, &message);
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

static swa_jit_status launch(machine *m, const emu_module *module, const sj_tile_plan *plan, const swa_params *params)
{
  const emu_launch how = {
      .kernel = emu_module_kernel(module, "swa_decode"),
      .grid = {params->num_tokens, params->kv_head_groups, params->num_kv_heads * params->num_splits},
      .block = {plan->num_warps * 32, 1, 1},
      .dynamic_shared = plan->shared_memory_bytes,
      .params = params,
      .params_size = sizeof *params};
  emu_message report;
  emu_run_stats stats = {0};
  const double begin = now();
  const int result = emu_run(m->device, &how, &stats, &report);
  m->seconds += now() - begin;
  m->stats.warp_instructions += stats.warp_instructions;
  m->stats.thread_instructions += stats.thread_instructions;
  return result == EMU_OK ? SWA_JIT_OK : fail_with(m, report.text);
}

/* Twice with the same workspace: the second finds it as the first has left it. */
static swa_jit_status launch_split(machine *m, const emu_module *module, const swa_jit_config *config,
                                   const sj_tile_plan *plan, swa_params *params)
{
  const uint64_t units =
      sj_workspace_units(config, plan, (uint64_t)params->num_tokens * params->kv_head_groups * params->num_kv_heads);
  const uint64_t bytes = sj_workspace_bytes(config, plan, units, params->num_splits);
  const uint64_t address = emu_alloc(bytes);
  void *zeros = calloc(1, bytes);
  if (address == 0 || zeros == NULL || emu_copy_in(address, zeros, bytes) != EMU_OK) {
    free(zeros);
    return fail_with(m, "no memory for a workspace");
  }
  free(zeros);
  params->workspace = (void *)(uintptr_t)(address + sj_workspace_offset(units));
  swa_jit_status status = launch(m, module, plan, params);
  if (status == SWA_JIT_OK) {
    status = launch(m, module, plan, params);
  }
  (void)emu_free(address);
  return status;
}

static swa_jit_status machine_decode(void *data, const swa_jit_config *wanted, const swa_jit_decode_args *args)
{
  machine *m = data;
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
  swa_jit_status status = compile(m, &config, &plan, &module);
  if (status != SWA_JIT_OK) {
    return status;
  }
  status = config.splits != 0 ? launch_split(m, module, &config, &plan, &params) : launch(m, module, &plan, &params);
  emu_module_free(module);
  return status;
}

/* ---- Cases ------------------------------------------------------------------------------------------------ */

/* 0 passed or refused, 1 failed. */
static int run_case(machine *m, const char *text)
{
  const decode_device device = {.data = m,
                                .alloc = machine_alloc,
                                .release = machine_release,
                                .write = machine_write,
                                .read = machine_read,
                                .decode = machine_decode,
                                .message = machine_message,
                                .num_threads = 2};
  decode_case which;
  decode_verdict verdict;
  const char *bad = NULL;
  if (!decode_case_from_text(text, &which, &bad)) {
    printf("failed: unreadable case at '%s'\n", bad);
    return 1;
  }
  m->stats = (emu_run_stats){0, 0};
  m->seconds = 0;
  const decode_result result = decode_check(&device, &which, &verdict);
  printf("%s: %s: %.2f million thread instructions, %.0f million a second: %s\n", m->device->arch,
         result == DECODE_PASSED   ? "passed"
         : result == DECODE_FAILED ? "FAILED"
                                   : "does not fit",
         (double)m->stats.thread_instructions * 1e-6,
         m->seconds > 0 ? (double)m->stats.thread_instructions * 1e-6 / m->seconds : 0, text);
  if (result == DECODE_FAILED) {
    printf("%s\n", verdict.fault);
  }
  return result == DECODE_FAILED;
}

static const struct {
  const char *name;
  decode_lines (*lines)(void);
} grids[] = {{"reduced", decode_grid_reduced}, {"special", decode_grid_special},     {"formats", decode_grid_formats},
             {"sinks", decode_grid_sinks},     {"lse_forms", decode_grid_lse_forms}, {"grouped", decode_grid_grouped},
             {"extra", decode_grid_extra},     {"splits", decode_grid_splits}};

/* The failures of a grid, or of one case. */
static int run_named(machine *m, const char *name)
{
  for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
    if (strcmp(name, grids[g].name) != 0) {
      continue;
    }
    const decode_lines grid = grids[g].lines();
    int failures = 0;
    for (size_t i = 0; i < grid.count; i++) {
      failures += run_case(m, grid.lines[i]);
    }
    return failures;
  }
  return run_case(m, name);
}

int main(int argc, char **argv)
{
  machine *m = calloc(1, sizeof *m);
  if (argc < 4 || m == NULL) {
    printf("failed: wants an architecture, a seed and a case\n");
    return 1;
  }
  m->device = emu_device_find(argv[1]);
  m->arch = sj_arch_find_name(argv[1]);
  emu_configure(&(emu_settings){strtoull(argv[2], NULL, 10), 0});
  const sj_log silence = {0};
  if (sj_nvrtc_api_open(NULL, NULL, m->arch->min_nvrtc, &silence, &m->nvrtc) != SWA_JIT_OK) {
    printf("skipped: %s\n", swa_jit_message());
    return SKIPPED;
  }
  const int failures = run_named(m, argv[3]);
  sj_nvrtc_api_close(&m->nvrtc);
  free(m);
  return failures == 0 ? 0 : 1;
}
