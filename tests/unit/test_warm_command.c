/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warm_command.h"

static void command_names_every_field_and_the_folder(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.splits = 1;
  char line[512], expected[1024], text[SJ_WARM_COMMAND_SIZE];
  assert_int_equal(swa_jit_config_to_text(&config, line, sizeof line), SWA_JIT_OK);
  sj_warm_command_make(&config, false, "/var/a store", text, sizeof text);
  snprintf(expected, sizeof expected, "Make it with: echo '%s' | swa-jit-warm --from - --cache-dir '/var/a store'",
           line);
  assert_string_equal(text, expected);
  assert_non_null(strstr(text, "splits=1"));
  sj_warm_command_make(&config, true, NULL, text, sizeof text);
  assert_non_null(strstr(text, "' | SWA_JIT_USE_PTX=1 swa-jit-warm --from -"));
}

/* What stands behind --cache-dir is given to a shell, which must find the folder in it. */
static void command_folder_is_quoted_for_a_shell(void **state)
{
  (void)state;
  static const char folder[] = "/a'b \"c\" $d `e` \\f \xc3\xa9\n'";
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[SJ_WARM_COMMAND_SIZE], command[SJ_WARM_COMMAND_SIZE + 64], seen[128] = "";
  sj_warm_command_make(&config, false, folder, text, sizeof text);
  const char *quoted = strstr(text, "--cache-dir ");
  assert_non_null(quoted);
  snprintf(command, sizeof command, "printf %%s %s", quoted + strlen("--cache-dir "));
  FILE *shell = popen(command, "r");
  assert_non_null(shell);
  size_t count = fread(seen, 1, sizeof seen - 1, shell);
  assert_int_equal(pclose(shell), 0);
  seen[count] = '\0';
  assert_string_equal(seen, folder);
}

static void command_without_a_folder_says_where_one_is_named(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[SJ_WARM_COMMAND_SIZE];
  sj_warm_command_make(&config, false, NULL, text, sizeof text);
  assert_non_null(strstr(text, "--cache-dir FOLDER"));
  assert_non_null(strstr(text, "SWA_JIT_CACHE_PATH"));
}

/* A folder that was cut would be another folder. */
static void command_folder_that_does_not_fit_is_left_out_whole(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char folder[4001], text[SJ_WARM_COMMAND_SIZE];
  memset(folder, 'x', sizeof folder);
  folder[sizeof folder - 1] = '\0';
  sj_warm_command_make(&config, false, folder, text, sizeof text);
  assert_non_null(strstr(text, "--cache-dir FOLDER, which is the cubin store's"));
  assert_null(strstr(text, "xx"));
  folder[2000] = '\0';
  sj_warm_command_make(&config, false, folder, text, sizeof text);
  assert_string_equal(strstr(text, "xx"), strcat(folder, "'"));
}

static void command_longer_than_its_room_is_cut(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[64];
  sj_warm_command_make(&config, false, "/folder", text, sizeof text);
  assert_int_equal(strlen(text), sizeof text - 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(command_names_every_field_and_the_folder),
      cmocka_unit_test(command_folder_is_quoted_for_a_shell),
      cmocka_unit_test(command_without_a_folder_says_where_one_is_named),
      cmocka_unit_test(command_folder_that_does_not_fit_is_left_out_whole),
      cmocka_unit_test(command_longer_than_its_room_is_cut),
  };
  return SJ_TEST_RUN(tests);
}
