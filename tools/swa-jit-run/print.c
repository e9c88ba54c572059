/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdio.h>

#include "json.h"
#include "number.h"

static const char *origin_name(const swa_jit_kernel_info *info)
{
  return info->origin == SWA_JIT_ORIGIN_COMPILED ? "compiled" : "store";
}

static const char *verdict_name(const run_report *report)
{
  return !report->is_good ? "fail" : report->verdict == NULL ? "not checked" : "pass";
}

static void print_count(uint64_t count, const char *noun)
{
  printf("%llu %s%s", (unsigned long long)count, noun, sj_number_ending(count));
}

static void print_blocks(const run_pool *pool)
{
  print_count(pool->num_blocks, "block");
  printf(" of ");
  print_count(pool->block_size, "slot");
}

/* What the usual problem, e4m3_slot's window, does not have. */
static void print_general(const run_problem *problem, const char *kv_format, const char *extra_format)
{
  const swa_jit_config *config = &problem->config;
  if (config->kv_format != SWA_JIT_KV_E4M3_SLOT) {
    printf(", %s", kv_format);
  }
  if (config->head_dim_v != 0) {
    printf(", head_dim_v %u", config->head_dim_v);
  }
  if (config->sinks != 0) {
    printf(", sinks");
  }
  if (config->soft_cap != 0) {
    printf(", soft cap %g", (double)problem->soft_cap);
  }
  if (config->extra_size != 0) {
    printf(", extra scope of %u, %s in ", config->extra_size, extra_format);
    print_blocks(&problem->pools[RUN_POOL_EXTRA]);
  }
}

static void print_problem(const run_report *report)
{
  const run_problem *problem = report->problem;
  const run_pool *k = &problem->pools[RUN_POOL_K];
  printf("problem  ");
  print_count(problem->num_tokens, "token");
  printf(", ");
  print_count(problem->num_heads, "head");
  if (k->num_kv_heads > 1) {
    printf(" over %u KV heads", k->num_kv_heads);
  }
  printf(", head_dim %u, window_size %u, ", problem->config.head_dim, problem->config.window_size);
  print_blocks(k);
  print_general(problem, report->options->kv_format, report->options->extra_format);
  if (problem->seed != 0) {
    printf("; generated, seed %llu\n", (unsigned long long)problem->seed);
  } else {
    printf("; your files\n");
  }
}

static void print_kernel(const run_report *report)
{
  const swa_jit_kernel_info *info = &report->step->info;
  printf("kernel   %s\n", info->file_name);
  printf("         head_group %u, kv_tile %u", report->problem->config.head_group, report->problem->config.kv_tile);
  if (report->problem->config.cluster_size != 0) {
    printf(", cluster_size %u", report->problem->config.cluster_size);
  }
  printf(": %u threads, ", info->num_threads);
  if (info->num_registers != 0) { /* else only PTX was compiled */
    printf("%u registers, ", info->num_registers);
  }
  printf("%u bytes of shared memory a CTA\n", info->shared_memory_bytes);
  if (report->problem->config.splits != 0) {
    printf("         num_splits %u%s: a workspace of %llu bytes\n", report->problem->num_splits,
           report->options->num_splits == SJ_SPLITS_PICK ? ", picked" : "",
           (unsigned long long)report->step->workspace_bytes);
  }
  printf("origin   %s, in %.0f us, %.0f us of them the driver's load; again from memory in %.0f ns\n",
         origin_name(info), report->step->get_us, report->step->load_us, report->step->again_ns);
}

static void print_times(const run_report *report)
{
  if (report->device->is_emulated) {
    printf("emulated in %.3f s, median of %llu: no measure of a GPU\n", report->step->device_us * 1e-6,
           (unsigned long long)report->step->repeat);
    return;
  }
  double bytes = run_problem_bytes_moved(report->problem);
  printf("launch   %.2f us on the host, median of %llu\n", report->step->launch_us,
         (unsigned long long)report->step->repeat);
  printf("device   %.2f us by events, median of %llu: %.3f MB at %.3f TB/s\n", report->step->device_us,
         (unsigned long long)report->options->repeat, bytes * 1e-6, bytes / report->step->device_us * 1e-6);
}

static void put_times(sj_json *json, const run_report *report)
{
  double bytes = run_problem_bytes_moved(report->problem);
  if (report->device->is_emulated) {
    sj_json_real(json, "emulated_us", report->step->device_us);
  } else {
    sj_json_real(json, "launch_us", report->step->launch_us);
    sj_json_real(json, "device_us", report->step->device_us);
  }
  sj_json_real(json, "bytes_moved", bytes);
  if (!report->device->is_emulated) {
    sj_json_real(json, "bytes_per_second", bytes / report->step->device_us * 1e6);
  }
}

static void print_unwritten(uint64_t count, const char *name)
{
  printf("fault    %llu element%s of %s not written\n", (unsigned long long)count, sj_number_ending(count), name);
}

static void print_faults(const run_step_result *step)
{
  if (step->num_unwritten_out != 0) {
    print_unwritten(step->num_unwritten_out, "out");
  }
  if (step->num_unwritten_lse != 0) {
    print_unwritten(step->num_unwritten_lse, "LSE");
  }
  if (step->wrote_past_end) {
    printf("fault    something was written past the end of the results or the workspace\n");
  }
}

static void put_problem(sj_json *json, const run_report *report)
{
  const run_problem *problem = report->problem;
  const swa_jit_config *config = &problem->config;
  const run_pool *k = &problem->pools[RUN_POOL_K];
  sj_json_number(json, "num_tokens", problem->num_tokens);
  sj_json_number(json, "num_heads", problem->num_heads);
  sj_json_number(json, "num_kv_heads", k->num_kv_heads);
  sj_json_number(json, "head_dim", config->head_dim);
  sj_json_number(json, "head_dim_v", config->head_dim_v);
  sj_json_text(json, "kv_format", report->options->kv_format);
  sj_json_number(json, "window_size", config->window_size);
  sj_json_number(json, "block_size", k->block_size);
  sj_json_number(json, "num_blocks", k->num_blocks);
  sj_json_number(json, "extra_size", config->extra_size);
  if (config->extra_size != 0) {
    sj_json_text(json, "extra_format", report->options->extra_format);
    sj_json_number(json, "extra_block_size", problem->pools[RUN_POOL_EXTRA].block_size);
    sj_json_number(json, "extra_num_blocks", problem->pools[RUN_POOL_EXTRA].num_blocks);
  }
  sj_json_bool(json, "sinks", config->sinks != 0);
  sj_json_real(json, "soft_cap", (double)problem->soft_cap);
}

static void print_json(const run_report *report)
{
  const swa_jit_kernel_info *info = &report->step->info;
  sj_json json = {.file = stdout};
  sj_json_open(&json, NULL, '{');
  sj_json_text(&json, "version", swa_jit_version_text());
  sj_json_text(&json, "result", verdict_name(report));
  sj_json_text(&json, "device", report->device->device.name);
  sj_json_bool(&json, "emulated", report->device->is_emulated);
  if (report->device->no_gpu[0] != '\0') {
    sj_json_text(&json, "no_gpu", report->device->no_gpu);
  }
  put_problem(&json, report);
  sj_json_number(&json, "head_group", report->problem->config.head_group);
  sj_json_number(&json, "kv_tile", report->problem->config.kv_tile);
  sj_json_number(&json, "cluster_size", report->problem->config.cluster_size);
  if (report->problem->config.splits != 0) {
    sj_json_number(&json, "num_splits", report->problem->num_splits);
    sj_json_number(&json, "workspace_bytes", report->step->workspace_bytes);
  }
  sj_json_text(&json, "kernel", info->file_name);
  sj_json_text(&json, "origin", origin_name(info));
  sj_json_real(&json, "get_us", report->step->get_us);
  sj_json_real(&json, "load_us", report->step->load_us);
  sj_json_real(&json, "get_again_ns", report->step->again_ns);
  put_times(&json, report);
  sj_json_number(&json, "unwritten_out", report->step->num_unwritten_out);
  sj_json_number(&json, "unwritten_lse", report->step->num_unwritten_lse);
  sj_json_bool(&json, "wrote_past_end", report->step->wrote_past_end);
  if (report->verdict != NULL) {
    sj_json_real(&json, "out_error", report->verdict->out_error);
    sj_json_real(&json, "out_limit", RUN_OUT_LIMIT);
    sj_json_real(&json, "lse_error", report->verdict->lse_error);
    sj_json_real(&json, "lse_limit", RUN_LSE_LIMIT);
  }
  sj_json_close(&json, '}');
}

void run_print_place(const run_options *options, const run_device *device)
{
  if (!options->json && device->is_emulated && device->no_gpu[0] != '\0') {
    printf("no GPU   the emulator runs the step (%s)\n", device->no_gpu);
    (void)fflush(stdout);
  }
}

void run_print_report(const run_report *report)
{
  if (report->options->json) {
    print_json(report);
    return;
  }
  print_problem(report);
  const sj_device *device = &report->device->device;
  printf("on       %s, %d SM%s, compute capability %d.%d\n", device->name, device->num_sms,
         sj_number_ending((uint64_t)device->num_sms), device->major, device->minor);
  print_kernel(report);
  print_times(report);
  if (report->verdict != NULL) {
    printf("error    %.2e relative, the most of a head (token %u, head %u; limit %.0e); ", report->verdict->out_error,
           report->verdict->worst_token, report->verdict->worst_head, RUN_OUT_LIMIT);
    if (report->problem->config.lse != 0) {
      printf("LSE %.2e (limit %.0e)\n", report->verdict->lse_error, RUN_LSE_LIMIT);
    } else {
      printf("no LSE\n");
    }
  }
  print_faults(report->step);
  printf("%s\n", verdict_name(report));
}

void run_print_no_device(const run_options *options, const run_device *device, const swa_jit_kernel_info *info,
                         bool is_stored)
{
  const char *arch = swa_jit_arch_name(info->arch);
  if (!options->json) {
    printf("no device: compiled for %s and %s, launch skipped\n", arch, is_stored ? "stored" : "not stored");
    if (device->no_emulator[0] != '\0') {
      printf("%s\n", device->no_emulator);
    }
    return;
  }
  sj_json json = {.file = stdout};
  sj_json_open(&json, NULL, '{');
  sj_json_text(&json, "version", swa_jit_version_text());
  sj_json_text(&json, "result", "no device");
  sj_json_text(&json, "reason", device->no_gpu);
  if (device->no_emulator[0] != '\0') {
    sj_json_text(&json, "no_emulator", device->no_emulator);
  }
  sj_json_text(&json, "arch", arch);
  sj_json_text(&json, "kernel", info->file_name);
  sj_json_text(&json, "origin", origin_name(info));
  sj_json_bool(&json, "stored", is_stored);
  sj_json_close(&json, '}');
}
