/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's text form: any bytes are refused with a message or give a configuration of legal values, which
 * comes back the same from its own text, and whose fields fit each other or are refused with a message. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "status.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  char *text = malloc(count + 1);
  demand(text != NULL);
  if (count > 0) {
    memcpy(text, bytes, count);
  }
  text[count] = '\0';
  swa_jit_config config, taken, back;
  if (sj_config_from_text(text, &config) != SWA_JIT_OK) {
    demand(strlen(sj_message()) > 0 && strlen(sj_message()) < 512);
  } else {
    char own_text[512];
    if (sj_config_take(&config, &taken) == SWA_JIT_OK) {
      demand(sj_config_equal(&config, &taken));
    } else {
      demand(strlen(sj_message()) > 0 && strlen(sj_message()) < 512);
    }
    demand(sj_config_to_text(&config, own_text, sizeof own_text) == SWA_JIT_OK);
    demand(sj_config_from_text(own_text, &back) == SWA_JIT_OK && sj_config_equal(&config, &back));
    demand(sj_config_hash(&config) == sj_config_hash(&back));
  }
  free(text);
  return 0;
}
