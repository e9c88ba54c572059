/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside the project, built against the installed library, the static one and the subproject. */
#include <stdio.h>
#include <string.h>

#include <swa_jit/swa_jit.h>

int main(void)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_lib *lib = NULL;
  const char *source = NULL;
  options.flags = SWA_JIT_FLAG_NO_STORE | SWA_JIT_FLAG_NO_COMPILE;
  if (strcmp(swa_jit_version_text(), SWA_JIT_VERSION_TEXT) != 0) {
    return 1;
  }
  if (swa_jit_config_check(&config, NULL) != SWA_JIT_OK || swa_jit_open(&options, &lib) != SWA_JIT_OK
      || swa_jit_source(lib, &config, &source) != SWA_JIT_OK) {
    fprintf(stderr, "%s\n", swa_jit_message());
    return 1;
  }
  printf("%zu bytes of source\n", strlen(source));
  swa_jit_close(&lib);
  return 0;
}
