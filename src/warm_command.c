/* SPDX-License-Identifier: Apache-2.0 */
#include "warm_command.h"

#include <stdio.h>

#include "config.h"
#include "text.h"

enum { LINE_SIZE = 512 }; /* always enough, as the public header says */

/* In single quotes, which every byte but the quote itself may stand in. */
static void add_quoted(sj_text *text, const char *path)
{
  sj_text_add(text, "'");
  for (const char *at = path; *at != '\0'; at++) {
    sj_text_add_format(text, *at == '\'' ? "'\\%c'" : "%c", *at);
  }
  sj_text_add(text, "'");
}

/* What stands behind --cache-dir; room: for it and a zero. */
static void add_folder(sj_text *command, const char *folder, size_t room)
{
  static const char too_long[] = "FOLDER, which is the cubin store's and too long to stand here";
  sj_text quoted = {0};
  if (folder == NULL) {
    sj_text_add(command, "FOLDER, and name FOLDER in SWA_JIT_CACHE_DIR or SWA_JIT_CACHE_PATH");
    return;
  }
  add_quoted(&quoted, folder);
  sj_text_add(command, quoted.failed || quoted.length >= room ? too_long : quoted.data);
  sj_text_finish(&quoted);
}

/* The tool reads a configuration as the library writes it, so that no option can be missing. */
void sj_warm_command_make(const swa_jit_config *config, bool is_ptx, const char *folder, char *text, size_t text_size)
{
  char line[LINE_SIZE];
  sj_text command = {0};
  if (sj_config_to_text(config, line, sizeof line) != SWA_JIT_OK) {
    line[0] = '\0'; /* cannot be: the configuration was checked */
  }
  sj_text_add_format(&command, "Make it with: echo '%s' | %sswa-jit-warm --from - --cache-dir ", line,
                     is_ptx ? "SWA_JIT_USE_PTX=1 " : "");
  add_folder(&command, folder, text_size > command.length ? text_size - command.length : 0);
  snprintf(text, text_size, "%s", command.failed ? "Make it with swa-jit-warm" : command.data);
  sj_text_finish(&command);
}
