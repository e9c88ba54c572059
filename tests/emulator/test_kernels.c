/* SPDX-License-Identifier: Apache-2.0 */
/* The real kernels on the machine, without the driver front: what it leaves is compared with the reference in doubles.
 * Arguments: an architecture, a seed, and a case, or the name of a grid of tests/decode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "kernel_machine.h"

enum { SKIPPED = 77 };

/* ---- Cases ------------------------------------------------------------------------------------------------ */

/* 0 passed or refused, 1 failed. */
static int run_case(kernel_machine *m, const char *text)
{
  const decode_device device = kernel_machine_device(m, 2);
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
} grids[] = {
    {"reduced", decode_grid_reduced}, {"special", decode_grid_special},     {"formats", decode_grid_formats},
    {"sinks", decode_grid_sinks},     {"lse_forms", decode_grid_lse_forms}, {"grouped", decode_grid_grouped},
    {"extra", decode_grid_extra},     {"splits", decode_grid_splits},       {"clusters", decode_grid_clusters}};

/* The failures of a grid, or of one case. */
static int run_named(kernel_machine *m, const char *name)
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
  kernel_machine m;
  if (argc < 4) {
    printf("failed: wants an architecture, a seed and a case\n");
    return 1;
  }
  if (!kernel_machine_open(&m, argv[1], strtoull(argv[2], NULL, 10), 0)) {
    printf("skipped: %s\n", m.message);
    return SKIPPED;
  }
  const int failures = run_named(&m, argv[3]);
  kernel_machine_close(&m);
  return failures == 0 ? 0 : 1;
}
