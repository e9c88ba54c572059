/* SPDX-License-Identifier: Apache-2.0 */
/* A file of configurations, as swa-jit-warm --from reads it: any bytes are refused with a message that names the file,
 * or give configurations each of which is its own text, and the same ones once they are settled. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "swa-jit-warm/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

/* A file in memory; its path is valid while it is open. */
static int make_file(const uint8_t *bytes, size_t count, char path[32])
{
  int fd = memfd_create("configurations", MFD_CLOEXEC);
  demand(fd >= 0);
  for (size_t done = 0; done < count;) {
    ssize_t step = write(fd, bytes + done, count - done);
    demand(step > 0);
    done += (size_t)step;
  }
  snprintf(path, 32, "/proc/self/fd/%d", fd);
  return fd;
}

static void check_plan(warm_plan *plan)
{
  bool has_native = false;
  demand(plan->num_jobs > 0);
  for (size_t i = 0; i < plan->num_jobs; i++) {
    char text[512];
    swa_jit_config back = SWA_JIT_CONFIG_INIT;
    const swa_jit_config *config = &plan->jobs[i].config;
    has_native = has_native || config->arch == SWA_JIT_ARCH_NATIVE;
    demand(swa_jit_config_to_text(config, text, sizeof text) == SWA_JIT_OK);
    demand(swa_jit_config_from_text(text, &back) == SWA_JIT_OK && memcmp(&back, config, sizeof back) == 0);
  }
  size_t num_jobs = plan->num_jobs;
  if (has_native) {
    return; /* a device would be asked */
  }
  demand(warm_plan_settle(plan, NULL) && plan->num_jobs > 0 && plan->num_jobs <= num_jobs);
  for (size_t i = 0; i < plan->num_jobs; i++) {
    demand(plan->jobs[i].text[0] != '\0');
    demand((plan->jobs[i].state == WARM_REFUSED) == (plan->jobs[i].reason != NULL));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  char path[32], *told = NULL;
  size_t told_count = 0;
  warm_plan plan = {0};
  int fd = make_file(bytes, count, path);
  warm_options options = {.from = path, .jobs = 1};
  FILE *real = stderr;
  FILE *memory = open_memstream(&told, &told_count);
  demand(memory != NULL);
  stderr = memory;
  bool is_made = warm_plan_make(&options, &plan);
  stderr = real;
  demand(fclose(memory) == 0 && (told_count == 0) == is_made);
  demand(is_made || strstr(told, path) != NULL);
  if (is_made) {
    check_plan(&plan);
    warm_plan_finish(&plan);
  }
  free(told);
  close(fd);
  return 0;
}
