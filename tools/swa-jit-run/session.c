/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdio.h>

#include "print.h"

enum { GPU_REPEAT = 20 }; /* launches that are timed */

typedef struct session {
  run_problem *problem;
  const run_options *options;
  run_device device;
  swa_jit_lib *lib;
} session;

static void print_log(void *log_data, uint32_t level, const char *line)
{
  (void)log_data;
  if (level == SWA_JIT_LOG_WARN) { /* errors come as statuses */
    fprintf(stderr, "%s: warning: %s\n", run_cli.name, line);
  }
}

static int fail(swa_jit_status status)
{
  fprintf(stderr, "%s: %s (%s)\n", run_cli.name, swa_jit_message(), swa_jit_status_name(status));
  return RUN_BAD;
}

/* The emulator takes PTX. Its entries would be a surprise in the user's store, so that only one that was named has
 * them. */
static swa_jit_status open_library(const run_options *options, const run_device *device, swa_jit_lib **lib_out)
{
  swa_jit_options wanted = SWA_JIT_OPTIONS_INIT;
  wanted.log_level = SWA_JIT_LOG_WARN;
  wanted.log = print_log;
  wanted.cache_dir = options->cache_dir;
  wanted.nvrtc_path = options->nvrtc;
  wanted.cuda_path = run_device_cuda(device, options);
  if (device->is_emulated) {
    wanted.flags = SWA_JIT_FLAG_USE_PTX | (options->cache_dir == NULL ? SWA_JIT_FLAG_NO_STORE : 0u);
  }
  return swa_jit_open(&wanted, lib_out);
}

/* ---- without a device ------------------------------------------------------------------------------------- */

/* What is said is what the store holds afterwards, not what was wished. */
static int compile_only(session *s)
{
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  const void *cubin = NULL;
  const char *file_name = NULL;
  size_t cubin_bytes = 0;
  uint32_t held = 0;
  swa_jit_status status = swa_jit_cubin_get(s->lib, &s->problem->config, &cubin, &cubin_bytes, &info);
  if (status == SWA_JIT_OK) {
    status = swa_jit_store_has(s->lib, &s->problem->config, &file_name, &held);
  }
  if (status != SWA_JIT_OK) {
    return fail(status);
  }
  run_print_no_device(s->options, &s->device, &info, held != 0);
  return RUN_NO_DEVICE;
}

/* ---- on a device ------------------------------------------------------------------------------------------ */

static bool write_file(const char *path, const char *type, const run_problem *problem, unsigned num_dims,
                       run_tensor tensor)
{
  char message[1024];
  const uint64_t shape[3] = {problem->num_tokens, problem->num_heads, run_problem_out_dim(problem)};
  if (path == NULL || sj_npy_write(path, type, shape, num_dims, tensor.data, tensor.bytes, message, sizeof message)) {
    return true;
  }
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return false;
}

static int run_step(session *s)
{
  run_step_result step;
  run_verdict verdict;
  run_problem_generate(s->problem);
  run_problem_make_results(s->problem);
  uint64_t repeat = s->options->repeat != 0 ? s->options->repeat : s->device.is_emulated ? 1 : GPU_REPEAT;
  run_print_place(s->options, &s->device);
  if (!run_step_launch(s->problem, s->lib, &s->device.device, repeat, &step)) {
    return RUN_BAD;
  }
  run_report report = {.options = s->options, .problem = s->problem, .device = &s->device, .step = &step};
  report.is_good = step.num_unwritten_out == 0 && step.num_unwritten_lse == 0 && !step.wrote_past_end;
  if (!s->options->no_check) {
    run_verify(s->problem, &verdict);
    report.verdict = &verdict;
    report.is_good = report.is_good && verdict.is_good;
  }
  run_print_report(&report);
  bool is_written = write_file(s->options->out, "<u2", s->problem, 3, s->problem->tensors[RUN_OUT]);
  is_written = write_file(s->options->lse, "<f4", s->problem, 2, s->problem->tensors[RUN_LSE]) && is_written;
  return is_written && report.is_good ? RUN_GOOD : RUN_BAD;
}

/* ---- both ------------------------------------------------------------------------------------------------- */

/* The architecture named; else the device's, or sm_100a without one. */
static int choose_arch(session *s, uint32_t *arch_out)
{
  uint32_t arch = s->device.is_present ? SWA_JIT_ARCH_NATIVE : SWA_JIT_ARCH_SM_100A;
  if (s->options->arch != NULL) {
    swa_jit_status status = swa_jit_arch_from_name(s->options->arch, &arch);
    if (status != SWA_JIT_OK) {
      fail(status);
      return RUN_WRONG_USE;
    }
  }
  if (arch == SWA_JIT_ARCH_NATIVE) {
    swa_jit_status status = swa_jit_arch_native(s->lib, &arch);
    if (status != SWA_JIT_OK) {
      return fail(status);
    }
  }
  *arch_out = arch;
  return RUN_GOOD;
}

static int run_opened(session *s)
{
  uint32_t arch = 0;
  int outcome = choose_arch(s, &arch);
  if (outcome == RUN_GOOD) {
    outcome = (int)run_step_configure(s->problem, s->options, arch, (uint32_t)s->device.device.num_sms);
  }
  if (outcome != RUN_GOOD) {
    return outcome;
  }
  return s->device.is_present ? run_step(s) : compile_only(s);
}

int run_session(run_problem *problem, const run_options *options)
{
  session s = {.problem = problem, .options = options};
  run_outcome opened = run_device_open(options, &s.device);
  if (opened != RUN_GOOD) {
    return (int)opened;
  }
  swa_jit_status status = open_library(options, &s.device, &s.lib);
  int result = status == SWA_JIT_OK ? run_opened(&s) : fail(status);
  swa_jit_close(&s.lib); /* before the context that its kernels are loaded into */
  sj_device_close(&s.device.device);
  return result;
}
