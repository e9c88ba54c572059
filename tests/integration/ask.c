/* SPDX-License-Identifier: Apache-2.0 */
/* ask [--kernel] [--flags N] [--cache-dir DIR] [--config TEXT]: asks a library object for one cubin (or loaded kernel)
 * through the public interface and prints what became of it, one name=value a line. The log goes to standard error. The
 * exit status is 0 whatever the library's status, and 2 for a wrong command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swa_jit/swa_jit.h"

typedef struct command {
  int wants_kernel;
  swa_jit_options options;
  swa_jit_config config;
} command;

static void log_line(void *log_data, uint32_t level, const char *line)
{
  (void)log_data;
  fprintf(stderr, "log %u %s\n", level, line);
}

static int read_command(int argc, char **argv, command *command_out)
{
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--kernel") == 0) {
      command_out->wants_kernel = 1;
      continue;
    }
    if (value == NULL) {
      return 2;
    }
    if (strcmp(argv[i], "--flags") == 0) {
      command_out->options.flags = (uint32_t)strtoul(value, NULL, 0);
    } else if (strcmp(argv[i], "--cache-dir") == 0) {
      command_out->options.cache_dir = value;
    } else if (strcmp(argv[i], "--config") != 0
               || swa_jit_config_from_text(value, &command_out->config) != SWA_JIT_OK) {
      return 2;
    }
    i++;
  }
  return 0;
}

static swa_jit_status ask(const command *asked, swa_jit_lib *lib, swa_jit_kernel_info *info)
{
  const swa_jit_kernel *kernel = NULL;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  if (!asked->wants_kernel) {
    return swa_jit_cubin_get(lib, &asked->config, &cubin, &cubin_bytes, info);
  }
  swa_jit_status status = swa_jit_kernel_get(lib, &asked->config, &kernel);
  return status == SWA_JIT_OK ? swa_jit_kernel_get_info(kernel, info) : status;
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
  printf("lock_waits=%llu\n", (unsigned long long)stats.lock_waits);
}

int main(int argc, char **argv)
{
  command asked = {0, SWA_JIT_OPTIONS_INIT, SWA_JIT_CONFIG_INIT};
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  swa_jit_lib *lib = NULL;
  asked.config.arch = SWA_JIT_ARCH_SM_90A;
  asked.options.log = log_line;
  if (read_command(argc, argv, &asked) != 0) {
    fprintf(stderr, "usage: ask [--kernel] [--flags N] [--cache-dir DIR] [--config TEXT]\n");
    return 2;
  }
  swa_jit_status status = swa_jit_open(&asked.options, &lib);
  printf("open=%s\n", swa_jit_status_name(status));
  if (status == SWA_JIT_OK) {
    status = ask(&asked, lib, &info);
    printf("status=%s\n", swa_jit_status_name(status));
    if (status == SWA_JIT_OK) {
      print_answer(&info);
    }
    print_stats(lib);
  }
  printf("message=%s\n", swa_jit_message());
  swa_jit_close(&lib);
  return 0;
}
