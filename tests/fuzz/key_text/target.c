/* SPDX-License-Identifier: Apache-2.0 */
/* The key text of an entry, whoever wrote it: any bytes are no key, or name a configuration of legal values; what
 * differs from another key is told in a text of any size; and only the bytes whose digest a name holds fit the name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "key.h"
#include "status.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const char *const options[] = {"--std=c++17", "--gpu-architecture=sm_100a", NULL};

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

static void check_config(const char *text, size_t count)
{
  swa_jit_config config, taken;
  char own_text[512];
  if (!sj_key_read_config(text, count, &config)) {
    return;
  }
  demand(config.size == sizeof config);
  demand(sj_config_to_text(&config, own_text, sizeof own_text) == SWA_JIT_OK);
  if (sj_config_take(&config, &taken) == SWA_JIT_OK) {
    demand(sj_config_equal(&config, &taken));
  }
}

/* The first byte is the size of the reason. */
static void check_difference(const sj_key *wanted, const char *text, size_t count)
{
  char reason[256];
  size_t size = count > 0 && text[0] != 0 ? (unsigned char)text[0] : sizeof reason;
  memset(reason, 'x', sizeof reason);
  unsigned num_lines = sj_key_difference(wanted->text, text, count, reason, size);
  demand(memchr(reason, '\0', size) != NULL);
  demand(size == sizeof reason || reason[sizeof reason - 1] == 'x');
  demand((num_lines == 0) == (count == wanted->text_length && memcmp(text, wanted->text, count) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  static sj_key wanted;
  if (wanted.text == NULL) {
    const swa_jit_config defaults = SWA_JIT_CONFIG_INIT;
    demand(sj_key_make(&defaults, "source", options, &wanted) == SWA_JIT_OK);
  }
  char *text = malloc(count == 0 ? 1 : count);
  char *name = malloc(count + 1);
  demand(text != NULL && name != NULL);
  memcpy(name, "", 1);
  if (count > 0) {
    memcpy(text, bytes, count);
    memcpy(name, bytes, count);
  }
  name[count] = '\0';
  check_config(text, count);
  check_difference(&wanted, text, count);
  if (sj_key_fits_file_name(text, count, wanted.file_name)) {
    demand(count == wanted.text_length && memcmp(text, wanted.text, count) == 0);
  }
  if (sj_key_is_file_name(name)) {
    demand(strlen(name) < SJ_FILE_NAME_SIZE && strchr(name, '/') == NULL);
  }
  free(text);
  free(name);
  return 0;
}
