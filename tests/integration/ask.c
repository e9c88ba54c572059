/* SPDX-License-Identifier: Apache-2.0 */
/* ask [--kernel] [--log] [--flags N] [--lock-wait-ms N] [--cache-dir DIR] [--chdir DIR] [--config TEXT]...: asks a
 * library object for one cubin (or loaded kernel) a configuration through the public interface and prints what became
 * of it, one name=value a line; with --log the compiler's log too. The library's log goes to standard error. --chdir
 * goes to that folder once the library is open. The exit status is 0 whatever the library's status, and 2 for a wrong
 * command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"

enum { MAX_CONFIGS = 64 };

typedef struct command {
  int wants_kernel, wants_log;
  const char *chdir_to;
  swa_jit_options options;
  unsigned num_configs;
  swa_jit_config configs[MAX_CONFIGS];
} command;

static void log_line(void *log_data, uint32_t level, const char *line)
{
  (void)log_data;
  fprintf(stderr, "log %u %s\n", level, line);
}

static int add_config(const char *text, command *command_out)
{
  if (command_out->num_configs == MAX_CONFIGS) {
    return 0;
  }
  swa_jit_config *config = &command_out->configs[command_out->num_configs++];
  *config = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  return swa_jit_config_from_text(text, config) == SWA_JIT_OK;
}

static int read_command(int argc, char **argv, command *command_out)
{
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--kernel") == 0) {
      command_out->wants_kernel = 1;
      continue;
    }
    if (strcmp(argv[i], "--log") == 0) {
      command_out->wants_log = 1;
      continue;
    }
    if (value == NULL) {
      return 2;
    }
    if (strcmp(argv[i], "--flags") == 0) {
      command_out->options.flags = (uint32_t)strtoul(value, NULL, 0);
    } else if (strcmp(argv[i], "--cache-dir") == 0) {
      command_out->options.cache_dir = value;
    } else if (strcmp(argv[i], "--chdir") == 0) {
      command_out->chdir_to = value;
    } else if (strcmp(argv[i], "--lock-wait-ms") == 0) {
      command_out->options.lock_wait_ms = (uint32_t)strtoul(value, NULL, 0);
    } else if (strcmp(argv[i], "--config") != 0 || !add_config(value, command_out)) {
      return 2;
    }
    i++;
  }
  if (command_out->num_configs == 0 && !add_config("arch=sm_90a", command_out)) {
    return 2;
  }
  return 0;
}

/* FNV-1a, so that two answers' cubins can be compared. */
static unsigned long long sum_of(const void *bytes, size_t count)
{
  unsigned long long sum = 14695981039346656037u;
  for (size_t i = 0; i < count; i++) {
    sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  }
  return sum;
}

static swa_jit_status ask(const command *asked, const swa_jit_config *config, swa_jit_lib *lib,
                          swa_jit_kernel_info *info)
{
  const swa_jit_kernel *kernel = NULL;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  swa_jit_status status = SWA_JIT_OK;
  if (asked->wants_kernel) {
    status = swa_jit_kernel_get(lib, config, &kernel);
    return status == SWA_JIT_OK ? swa_jit_kernel_get_info(kernel, info) : status;
  }
  status = swa_jit_cubin_get(lib, config, &cubin, &cubin_bytes, info);
  if (status == SWA_JIT_OK) {
    printf("cubin=%016llx\n", sum_of(cubin, cubin_bytes));
  }
  return status;
}

static void print_answer(const swa_jit_kernel_info *info)
{
  static const char *const origins[] = {"none", "store", "compiled"};
  printf("origin=%s\n", origins[info->origin]);
  printf("store_status=%s\n", swa_jit_status_name((swa_jit_status)info->store_status));
  printf("file_name=%s\n", info->file_name);
  printf("miss_reason=%s\n", info->miss_reason);
}

static void print_stats(swa_jit_lib *lib)
{
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  if (swa_jit_stats_get(lib, &stats) != SWA_JIT_OK) {
    return;
  }
  printf("compiles=%llu\n", (unsigned long long)stats.compiles);
  printf("hits=%llu\n", (unsigned long long)stats.store_hits);
  printf("writes=%llu\n", (unsigned long long)stats.store_writes);
  printf("write_failures=%llu\n", (unsigned long long)stats.store_write_failures);
  printf("set_aside=%llu\n", (unsigned long long)stats.store_set_aside);
  printf("layer_hits=%llu\n", (unsigned long long)stats.layer_hits);
  printf("layer_skips=%llu\n", (unsigned long long)stats.layer_skips);
  printf("evictions=%llu\n", (unsigned long long)stats.evictions);
  printf("lock_waits=%llu\n", (unsigned long long)stats.lock_waits);
  printf("lock_failures=%llu\n", (unsigned long long)stats.lock_failures);
  printf("failures_remembered=%llu\n", (unsigned long long)stats.failures_remembered);
}

static void print_log(swa_jit_lib *lib, const swa_jit_config *config)
{
  const char *log_text = "";
  swa_jit_status status = swa_jit_log_text(lib, config, &log_text);
  printf("log_status=%s\nlog_text=%s\n", swa_jit_status_name(status), log_text);
}

static void ask_all(const command *asked, swa_jit_lib *lib)
{
  for (unsigned i = 0; i < asked->num_configs; i++) {
    swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
    swa_jit_status status = ask(asked, &asked->configs[i], lib, &info);
    printf("status=%s\n", swa_jit_status_name(status));
    if (status == SWA_JIT_OK) {
      print_answer(&info);
    }
    if (asked->wants_log) {
      print_log(lib, &asked->configs[i]);
    }
  }
}

int main(int argc, char **argv)
{
  static command asked = {.options = SWA_JIT_OPTIONS_INIT};
  swa_jit_lib *lib = NULL;
  asked.options.log = log_line;
  if (read_command(argc, argv, &asked) != 0) {
    fprintf(stderr, "usage: ask [--kernel] [--log] [--flags N] [--lock-wait-ms N] [--cache-dir DIR] [--chdir DIR] "
                    "[--config TEXT]...\n");
    return 2;
  }
  swa_jit_status status = swa_jit_open(&asked.options, &lib);
  printf("open=%s\n", swa_jit_status_name(status));
  if (status == SWA_JIT_OK && asked.chdir_to != NULL && chdir(asked.chdir_to) != 0) {
    perror(asked.chdir_to);
    return 2;
  }
  if (status == SWA_JIT_OK) {
    ask_all(&asked, lib);
    print_stats(lib);
  }
  printf("message=%s\n", swa_jit_message());
  swa_jit_close(&lib);
  return 0;
}
