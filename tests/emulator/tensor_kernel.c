/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_kernel.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arch.h"
#include "compile.h"

enum { ROOM = 65536, SKIPPED = 77 };

static char source[ROOM];
static sj_nvrtc_api nvrtc;

static bool append(const char *path)
{
  const size_t length = strlen(source);
  FILE *file = fopen(path, "rb");
  const size_t size = file == NULL ? 0 : fread(source + length, 1, ROOM - 1 - length, file);
  if (file != NULL) {
    (void)fclose(file);
  }
  return size > 0 && length + size < ROOM - 1;
}

int tensor_kernel_open(int argc, char **argv)
{
  const sj_log silence = {0};
  for (int i = 1; i < argc; i++) {
    if (!append(argv[i])) {
      printf("failed: cannot read %s\n", argv[i]);
      return 1;
    }
  }
  if (argc < 2) {
    printf("failed: wants the source's files\n");
    return 1;
  }
  if (sj_nvrtc_api_open(NULL, NULL, sj_arch_find_name("sm_100a")->min_nvrtc, &silence, &nvrtc) != SWA_JIT_OK) {
    printf("skipped: %s\n", swa_jit_message());
    return SKIPPED;
  }
  return 0;
}

void tensor_kernel_close(void)
{
  sj_nvrtc_api_close(&nvrtc);
}

char *tensor_kernel_compile(const char *name, const char *definitions)
{
  static char text[ROOM + 256];
  const sj_log silence = {0};
  sj_compiled compiled;
  snprintf(text, sizeof text, "%s%s", definitions, source);
  const swa_jit_status status =
      sj_compile_run(&nvrtc, sj_arch_find_name("sm_100a"), name, text, SJ_COMPILE_PTX_ALONE, &silence, &compiled);
  char *ptx = compiled.ptx;
  compiled.ptx = NULL;
  if (status != SWA_JIT_OK) {
    printf("%s\n", compiled.log != NULL ? compiled.log : swa_jit_message());
  }
  sj_compiled_finish(&compiled);
  return ptx;
}
