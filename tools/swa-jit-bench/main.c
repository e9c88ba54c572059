/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench: options -> kernels -> sweep and host -> print and plot. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "plot.h"
#include "print.h"

enum { EXIT_GOOD = 0, EXIT_SOME_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3 };

static bool refuse(const char *what, const char *why)
{
  fprintf(stderr, "%s: %s: %s\n", bench_cli.name, what, why);
  return false;
}

static void print_log(void *log_data, uint32_t level, const char *line)
{
  (void)log_data;
  fprintf(stderr, "%s: %s%s\n", bench_cli.name, level == SWA_JIT_LOG_WARN ? "warning: " : "", line);
}

static bool open_library(const bench_options *options, swa_jit_lib **lib_out, uint32_t *arch_out)
{
  swa_jit_options wanted = SWA_JIT_OPTIONS_INIT;
  wanted.log_level = SWA_JIT_LOG_WARN;
  wanted.log = print_log;
  wanted.cache_dir = options->cache_dir;
  wanted.nvrtc_path = options->nvrtc;
  return (swa_jit_open(&wanted, lib_out) == SWA_JIT_OK && swa_jit_arch_native(*lib_out, arch_out) == SWA_JIT_OK)
         || refuse("swa-jit", swa_jit_message());
}

static bool show(const bench_sweep *sweep, const bench_host *host)
{
  const bench_options *options = sweep->options;
  bench_print_tables(sweep, host);
  bool shown = fflush(stdout) == 0;
  shown = (options->csv == NULL || bench_print_csv(sweep, options->csv)) && shown;
  shown = (options->json == NULL || bench_print_json(sweep, host, options->json)) && shown;
  return (options->svg == NULL || bench_plot_write(sweep, options->svg)) && shown;
}

/* The host's costs are those of the kernel without splits and clusters that is best for the first number of tokens, by
 * default the fewest: the shortest one. */
static bool measure(bench_sweep *sweep, swa_jit_lib *lib, const bench_kernels *own, const bench_tensors *tensors,
                    bench_timing *timing)
{
  bench_host host = {0};
  char message[600];
  if (!bench_sweep_measure(sweep, own, tensors, timing)) {
    return refuse("measuring", timing->message);
  }
  if (!sweep->options->host) {
    return show(sweep, NULL);
  }
  const bench_kernel *kernel = bench_sweep_best_plain(sweep, &sweep->points[0]);
  if (kernel == NULL) {
    return refuse("measuring the host", "no kernel without splits and clusters fits");
  }
  if (!bench_host_measure(sweep->device, lib, kernel, tensors, sweep->points[0].step.num_heads, sweep->options->quick,
                          &host, message, sizeof message)) {
    return refuse("measuring the host", message);
  }
  return show(sweep, &host);
}

static bool run_with_tensors(bench_sweep *sweep, swa_jit_lib *lib, const bench_kernels *own, bench_tensors tensors)
{
  bench_timing timing;
  if (!bench_tensors_make(sweep->device, &tensors)) {
    return refuse("filling the tensors", sweep->device->message);
  }
  bool done = bench_timing_open(sweep->device, (unsigned)sweep->options->replays, &timing)
                  ? measure(sweep, lib, own, &tensors, &timing)
                  : refuse("preparing to measure", timing.message);
  bench_timing_close(&timing);
  bench_tensors_free(sweep->device, &tensors);
  return done;
}

static bool run(sj_device *device, const bench_options *options)
{
  swa_jit_lib *lib = NULL;
  bench_sweep sweep = {0};
  bench_kernels own = {0};
  bench_tensors tensors; /* shapes only */
  uint32_t arch = 0;
  bench_tensors_plan(options, &tensors);
  bool done = open_library(options, &lib, &arch);
  if (done) {
    done = bench_sweep_prepare(device, lib, arch, options, &sweep);
    bench_print_missing(&sweep);
  }
  if (done && !bench_kernels_load(device, options->nvrtc, sweep.arch, &tensors, &own)) {
    done = refuse("the floor", own.message);
  }
  done = done && run_with_tensors(&sweep, lib, &own, tensors);
  bench_kernels_unload(device, &own);
  bench_sweep_finish(&sweep);
  swa_jit_close(&lib);
  return done;
}

int main(int argc, char **argv)
{
  bench_options options;
  sj_device device;
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow (ulimit -f) is told as any that cannot be written */
  sj_cli_outcome outcome = bench_options_read(argc, argv, &options);
  if (outcome != SJ_CLI_RUN) {
    return outcome == SJ_CLI_SHOWN ? EXIT_GOOD : EXIT_USAGE;
  }
  sj_presence presence = sj_device_open(NULL, &device);
  if (presence != SJ_DEVICE_PRESENT) {
    refuse(presence == SJ_DEVICE_ABSENT ? "no device" : "the device", device.message);
    return presence == SJ_DEVICE_ABSENT ? EXIT_NO_DEVICE : EXIT_SOME_FAILED;
  }
  bool done = run(&device, &options);
  sj_device_close(&device);
  return done ? EXIT_GOOD : EXIT_SOME_FAILED;
}
