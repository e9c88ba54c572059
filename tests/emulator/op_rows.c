/* SPDX-License-Identifier: Apache-2.0 */
#include "op_rows.h"

#include <stdio.h>
#include <string.h>

#include "snippet.h"

enum { ALL_LANES = SNIPPET_LANES };

/* Lanes that are not meant have other operands. */
static int run(const char *arch, const op_row *row, unsigned only, uint64_t *result_out)
{
  static emu_snippet snippet;
  memset(&snippet, 0, sizeof snippet);
  char text[1024];
  snprintf(text, sizeof text, "setp.eq.u32 %%p0, 1, 1;\n%s", row->text);
  snippet.arch = arch;
  snippet.text = text;
  snippet.shared = 4096;
  for (unsigned lane = 0; lane < SNIPPET_LANES; lane++) {
    const int is_it = lane == only || only == ALL_LANES;
    snippet.in[lane][0] = is_it ? row->a : lane;
    snippet.in[lane][1] = is_it ? row->b : 3;
    snippet.in[lane][2] = is_it ? row->c : 1;
  }
  snippet_run(&snippet);
  if (snippet.result != EMU_OK) {
    printf("%s: %s\n", row->text, snippet.message.text);
    return 0;
  }
  const unsigned lane = only < ALL_LANES ? only : 7;
  *result_out = strstr(row->text, "%ld0") != NULL ? snippet.out[lane][4] : snippet.out[lane][0];
  return 1;
}

unsigned op_rows_run_on(const char *arch, const op_row *rows, size_t count)
{
  unsigned wrong = 0;
  for (size_t i = 0; i < count; i++) {
    for (unsigned lane = 0; lane <= ALL_LANES; lane += 8) {
      uint64_t result = 0;
      if (!run(arch, &rows[i], lane, &result)) {
        wrong++;
        break;
      }
      if (result != rows[i].result) {
        printf("%s of 0x%llx, 0x%llx, 0x%llx: 0x%llx instead of 0x%llx\n", rows[i].text, (unsigned long long)rows[i].a,
               (unsigned long long)rows[i].b, (unsigned long long)rows[i].c, (unsigned long long)result,
               (unsigned long long)rows[i].result);
        wrong++;
        break;
      }
    }
  }
  return wrong;
}

unsigned op_rows_run(const op_row *rows, size_t count)
{
  return op_rows_run_on("sm_90a", rows, count);
}
