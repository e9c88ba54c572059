/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools share: numbers, lists, encoders, tables, JSON, the option table. */
#include <fcntl.h>
#include <poll.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "emulator.h"
#include "json.h"
#include "number.h"
#include "progress.h"
#include "reference.h"
#include "splits.h"
#include "table.h"
#include "temp_dir.h"
#include "test_main.h"

/* ---- numbers and lists ------------------------------------------------------------------------------------ */

static void ending_of_a_noun_is_plural_but_for_one(void **state)
{
  (void)state;
  assert_string_equal(sj_number_ending(0), "s");
  assert_string_equal(sj_number_ending(1), "");
  assert_string_equal(sj_number_ending(2), "s");
  assert_string_equal(sj_number_ending(UINT64_C(1) << 32 | 1), "s");
}

static void number_is_digits_that_fit(void **state)
{
  static const char *const wrong[] = {"", "-1", "+1", " 1", "1 ", "0x10", "1.0", "18446744073709551616", "1e3"};
  uint64_t value = 5;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_false(sj_number_read(wrong[i], &value));
    assert_int_equal(value, 5);
  }
  assert_true(sj_number_read("18446744073709551615", &value));
  assert_true(value == UINT64_MAX);
  assert_true(sj_number_read("007", &value));
  assert_int_equal(value, 7);
}

static void splits_are_a_number_or_picked(void **state)
{
  static const char *const wrong[] = {"", "-1", "257", "Pick", "pick ", "1.0", "18446744073709551617"};
  uint32_t num_splits = 5;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_false(sj_splits_read(wrong[i], &num_splits));
    assert_int_equal(num_splits, 5);
  }
  assert_true(sj_splits_read("0", &num_splits));
  assert_int_equal(num_splits, 0);
  assert_true(sj_splits_read("256", &num_splits));
  assert_int_equal(num_splits, 256);
  assert_true(sj_splits_read("pick", &num_splits));
  assert_int_equal(num_splits, SJ_SPLITS_PICK);
}

static void amounts_are_whole_with_a_known_unit(void **state)
{
  static const char *const wrong[] = {"", "G", "1.5G", "-1", "1 G", "1g", "1GB", "99999999T", "1d"};
  static const char *const no_times[] = {"", "d", "30", "1.5h", "1m", "1 d", "1D", "999999999999999999d", "1G"};
  uint64_t value = 5;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_false(sj_number_read_bytes(wrong[i], &value));
    assert_false(sj_number_read_seconds(no_times[i], &value));
    assert_int_equal(value, 5);
  }
  assert_true(sj_number_read_bytes("0", &value));
  assert_int_equal(value, 0);
  assert_true(sj_number_read_bytes("3K", &value));
  assert_int_equal(value, 3072);
  assert_true(sj_number_read_bytes("2G", &value));
  assert_true(value == UINT64_C(2) << 30);
  assert_true(sj_number_read_bytes("16777215T", &value));
  assert_true(sj_number_read_seconds("90min", &value));
  assert_int_equal(value, 5400);
  assert_true(sj_number_read_seconds("30d", &value));
  assert_int_equal(value, 2592000);
}

static void amounts_are_written_short(void **state)
{
  static const struct {
    uint64_t value;
    const char *bytes, *seconds;
  } cases[] = {
      {0, "0 B", "0 s"},           {119, "119 B", "119 s"},      {120, "120 B", "2 min"},
      {1024, "1.0 KiB", "17 min"}, {7200, "7.0 KiB", "2 h"},     {11000, "10 KiB", "3 h"},
      {200000, "195 KiB", "2 d"},  {1572864, "1.5 MiB", "18 d"}, {UINT64_MAX, "15 EiB", "213503982334601 d"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[SJ_NUMBER_TEXT_SIZE];
    sj_number_write_bytes(cases[i].value, text);
    assert_string_equal(text, cases[i].bytes);
    sj_number_write_seconds(cases[i].value, text);
    assert_string_equal(text, cases[i].seconds);
  }
}

static void real_is_decimal_and_finite(void **state)
{
  static const char *const wrong[] = {"", "nan", "inf", "0x1p3", "1,5", "1e999", "1 ", "e", "--1"};
  double value = 5.0;
  (void)state;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_false(sj_number_read_real(wrong[i], &value));
    assert_true(value == 5.0);
  }
  assert_true(sj_number_read_real("-1.5e-1", &value));
  assert_true(value == -0.15);
}

static void list_gives_its_elements_in_order(void **state)
{
  const char *at = "16,32,sm_100a";
  char element[8];
  (void)state;
  assert_true(sj_list_next(&at, element, sizeof element));
  assert_string_equal(element, "16");
  assert_true(sj_list_next(&at, element, sizeof element));
  assert_string_equal(element, "32");
  assert_true(sj_list_next(&at, element, sizeof element));
  assert_string_equal(element, "sm_100a");
  assert_false(sj_list_next(&at, element, sizeof element));
}

static void list_with_an_empty_or_long_element_is_unsound(void **state)
{
  char text[80];
  (void)state;
  assert_true(sj_list_is_sound("16"));
  assert_true(sj_list_is_sound("16,32"));
  assert_false(sj_list_is_sound(""));
  assert_false(sj_list_is_sound(","));
  assert_false(sj_list_is_sound("16,"));
  assert_false(sj_list_is_sound("16,,32"));
  memset(text, 'a', 64);
  text[63] = '\0';
  assert_true(sj_list_is_sound(text));
  text[63] = 'a';
  text[64] = '\0';
  assert_false(sj_list_is_sound(text));
}

/* ---- printed forms ---------------------------------------------------------------------------------------- */

/* What was written to file, which is closed; malloc'd. */
static char *contents(FILE *file, char **text, const size_t *size)
{
  assert_int_equal(fclose(file), 0);
  assert_int_equal(strlen(*text), *size);
  return *text;
}

static void table_columns_are_as_wide_as_their_widest_cell(void **state)
{
  static const sj_column columns[] = {{"name", false}, {"bytes", true}, {"result", false}};
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  sj_table table;
  (void)state;
  sj_table_init(&table, columns, 3);
  sj_table_add(&table, "a long name");
  sj_table_add(&table, "%d", 7);
  sj_table_add(&table, "hit");
  sj_table_add(&table, "b");
  sj_table_add(&table, "%d", 1234567);
  sj_table_add(&table, "compiled");
  sj_table_print(&table, file);
  sj_table_finish(&table);
  assert_string_equal(contents(file, &text, &size), "name           bytes  result\n"
                                                    "a long name        7  hit\n"
                                                    "b            1234567  compiled\n");
  free(text);
}

static void json_is_nested_and_escaped(void **state)
{
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  sj_json json = {.file = file};
  (void)state;
  sj_json_open(&json, NULL, '{');
  sj_json_text(&json, "text", "a\"b\\c\nd\x01");
  sj_json_open(&json, "list", '[');
  sj_json_number(&json, NULL, UINT64_MAX);
  sj_json_real(&json, NULL, NAN);
  sj_json_close(&json, ']');
  sj_json_open(&json, "empty", '[');
  sj_json_close(&json, ']');
  sj_json_bool(&json, "yes", true);
  sj_json_text(&json, "none", NULL);
  sj_json_text(&json, "path", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xff \xc3 \xed\xa0\x80 \xc0\xaf \xf0\x9f");
  sj_json_close(&json, '}');
  assert_string_equal(contents(file, &text, &size), "{\n"
                                                    "  \"text\": \"a\\\"b\\\\c\\nd\\u0001\",\n"
                                                    "  \"list\": [\n"
                                                    "    18446744073709551615,\n"
                                                    "    null\n"
                                                    "  ],\n"
                                                    "  \"empty\": [],\n"
                                                    "  \"yes\": true,\n"
                                                    "  \"none\": null,\n"
                                                    "  \"path\": \"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \\ufffd "
                                                    "\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd \\ufffd\\ufffd\"\n"
                                                    "}\n");
  free(text);
}

static void progress_off_a_terminal_is_plain_lines(void **state)
{
  char text[512] = "";
  FILE *file = tmpfile();
  sj_progress progress;
  (void)state;
  assert_non_null(file);
  sj_progress_init(&progress, file, false, 2);
  sj_progress_step(&progress, "one");
  sj_progress_line(&progress, "a warning");
  sj_progress_step(&progress, "two");
  sj_progress_clear(&progress);
  sj_progress_finish(&progress);
  rewind(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  fclose(file);
  assert_string_equal(text, "[1/2] one\na warning\n[2/2] two\n");
}

static void progress_of_many_is_told_now_and_then(void **state)
{
  char text[256] = "";
  sj_progress progress;
  FILE *file = tmpfile();
  (void)state;
  assert_non_null(file);
  sj_progress_init(&progress, file, false, 0);
  for (size_t i = 1; i <= 1000; i++) {
    sj_progress_count(&progress, i, 1000, "verified"); /* sooner than in ten seconds */
  }
  progress.told_ns -= UINT64_C(11000000000);
  sj_progress_count(&progress, 300, 1000, "verified");
  sj_progress_count(&progress, 301, 1000, "verified");
  progress.period_ns = 0;
  sj_progress_count(&progress, 7, 0, "added");
  progress.is_silent = true;
  sj_progress_count(&progress, 8, 0, "added");
  sj_progress_finish(&progress);
  rewind(file);
  assert_true(fread(text, 1, sizeof text - 1, file) > 0);
  assert_string_equal(text, "[300/1000] verified\n[7] added\n");
  fclose(file);
}

static void progress_on_a_terminal_overwrites_its_line(void **state)
{
  char text[512] = "";
  sj_progress progress;
  (void)state;
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  assert_true(terminal >= 0);
  assert_int_equal(grantpt(terminal), 0);
  assert_int_equal(unlockpt(terminal), 0);
  FILE *file = fopen(ptsname(terminal), "w");
  assert_non_null(file);
  sj_progress_init(&progress, file, false, 2);
  sj_progress_step(&progress, "one");
  sj_progress_line(&progress, "a warning");
  sj_progress_clear(&progress);
  sj_progress_finish(&progress);
  static const char expected[] = "\r\033[K[1/2] one\r\033[Ka warning\r\n\r\033[K";
  size_t got = 0;
  while (got < sizeof expected - 1) { /* a terminal hands its text over in pieces */
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 10000), 1);
    const ssize_t count = read(terminal, text + got, sizeof text - 1 - got);
    assert_true(count > 0);
    got += (size_t)count;
  }
  fclose(file);
  close(terminal);
  assert_string_equal(text, expected);
}

/* ---- the option table ------------------------------------------------------------------------------------- */

typedef struct values {
  bool loud;
  uint64_t count;
  double factor;
  const char *file;
  const char *list;
} values;

static const sj_cli_option options[] = {
    {.kind = SJ_CLI_HEADING, .help = "Things"},
    {.kind = SJ_CLI_SWITCH, .name = "loud", .offset = offsetof(values, loud), .help = "say more"},
    {.kind = SJ_CLI_NUMBER,
     .name = "count",
     .value_name = "N",
     .offset = offsetof(values, count),
     .minimum = 1,
     .maximum = 9,
     .help = "how many"},
    {.kind = SJ_CLI_REAL, .name = "factor", .value_name = "X", .offset = offsetof(values, factor), .help = "how much"},
    {.kind = SJ_CLI_TEXT, .name = "file", .value_name = "FILE", .offset = offsetof(values, file), .help = "where"},
    {.kind = SJ_CLI_LIST, .name = "list", .value_name = "LIST", .offset = offsetof(values, list), .help = "which"},
};
static const char *const none[] = {NULL};
static const sj_cli cli = {.name = "prog",
                           .purpose = "try",
                           .date = "today",
                           .description = none,
                           .examples = none,
                           .options = options,
                           .num_options = sizeof options / sizeof options[0]};
enum { NUM_OPTIONS = sizeof options / sizeof options[0], MAX_ARGUMENTS = 16 };

/* Splits a command line at blanks and reads it. */
static sj_cli_outcome read_line(const char *line, values *values_out, bool *given)
{
  char text[512];
  char *argv[MAX_ARGUMENTS];
  int argc = 0;
  snprintf(text, sizeof text, "%s", line);
  for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    assert_true(argc < MAX_ARGUMENTS);
    argv[argc++] = word;
  }
  values read = {.count = 3, .factor = 1.0};
  sj_cli_outcome outcome = sj_cli_read(&cli, argc, argv, &read, given);
  if (read.file != NULL) {
    assert_string_equal(read.file, "f"); /* while text lives */
  }
  read.file = read.file != NULL ? "f" : NULL;
  read.list = read.list != NULL ? "l" : NULL;
  *values_out = read;
  return outcome;
}

static void options_in_both_spellings_are_read(void **state)
{
  values read;
  bool given[NUM_OPTIONS];
  (void)state;
  assert_int_equal(read_line("prog --count=4 --file f --loud --factor -2.5 --list=a,b", &read, given), SJ_CLI_RUN);
  assert_int_equal(read.count, 4);
  assert_true(read.loud);
  assert_true(read.factor == -2.5);
  assert_non_null(read.file);
  assert_non_null(read.list);
  for (int i = 1; i < NUM_OPTIONS; i++) {
    assert_true(given[i]);
  }
}

static void options_absent_leave_their_defaults(void **state)
{
  values read;
  bool given[NUM_OPTIONS];
  (void)state;
  assert_int_equal(read_line("prog", &read, given), SJ_CLI_RUN);
  assert_int_equal(read.count, 3);
  assert_false(read.loud);
  assert_null(read.file);
  for (int i = 0; i < NUM_OPTIONS; i++) {
    assert_false(given[i]);
  }
}

static void options_that_are_wrong_are_refused(void **state)
{
  static const char *const lines[] = {
      "prog --unknown",  "prog word",      "prog --count",      "prog --count 0",
      "prog --count 10", "prog --count x", "prog --loud=1",     "prog --count 1 --count 2",
      "prog --list a,",  "prog --file=",   "prog --factor 1,5", "prog --coun 1",
      "prog --counts 1", "prog -l",        "prog --",
  };
  values read;
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    if (read_line(lines[i], &read, NULL) != SJ_CLI_WRONG) {
      fail_msg("\"%s\" was accepted", lines[i]);
    }
  }
}

/* ---- the emulator ----------------------------------------------------------------------------------------- */

static void make_folders(const char *path)
{
  char *copy = strdup(path);
  assert_non_null(copy);
  for (char *at = strchr(copy + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
    *at = '\0';
    (void)mkdir(copy, 0700);
    *at = '/';
  }
  free(copy);
}

static void emulator_of_a_build_tree_is_beside_its_tools(void **state)
{
  char *program = temp_dir_join(*state, "build/tools/swa-jit-run/swa-jit-run");
  char *library = temp_dir_join(*state, "build/tests/emulator/lib/libcuda-emulator.so");
  char path[4096], message[5000];
  make_folders(program);
  make_folders(library);
  assert_false(sj_emulator_find(program, path, sizeof path, message, sizeof message));
  assert_non_null(strstr(message, "build/tools/swa-jit-run/../../tests/emulator/lib/libcuda-emulator.so"));
  assert_non_null(strstr(message, "--cuda"));
  assert_true(temp_dir_write(library, "x", 1));
  assert_true(sj_emulator_find(program, path, sizeof path, message, sizeof message));
  assert_int_equal(access(path, R_OK), 0);
  free(program);
  free(library);
}

static void emulator_of_an_installed_tool_is_in_the_library_folder(void **state)
{
  char *program = temp_dir_join(*state, "bin/swa-jit-run");
  char path[4096], message[5000];
  assert_false(sj_emulator_find(program, path, sizeof path, message, sizeof message));
  assert_null(strstr(path, "tests"));
  assert_non_null(strstr(path, "/swa-jit/libcuda-emulator.so"));
  assert_non_null(strstr(message, path));
  /* Its place follows the program's, unless the build has put the two apart. */
  if (strncmp(path, *state, strlen(*state)) == 0) {
    make_folders(program);
    make_folders(path);
    assert_true(temp_dir_write(path, "x", 1));
    assert_true(sj_emulator_find(program, path, sizeof path, message, sizeof message));
  }
  free(program);
}

static void emulator_beside_a_path_too_long_is_not_found(void **state)
{
  char program[5000], path[100], message[5000];
  (void)state;
  memset(program, 'a', sizeof program);
  memcpy(program + sizeof program - 5, "/run", 5);
  program[0] = '/';
  assert_false(sj_emulator_find(program, path, sizeof path, message, sizeof message));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ending_of_a_noun_is_plural_but_for_one),
      cmocka_unit_test(number_is_digits_that_fit),
      cmocka_unit_test(splits_are_a_number_or_picked),
      cmocka_unit_test(amounts_are_whole_with_a_known_unit),
      cmocka_unit_test(amounts_are_written_short),
      cmocka_unit_test(real_is_decimal_and_finite),
      cmocka_unit_test(list_gives_its_elements_in_order),
      cmocka_unit_test(list_with_an_empty_or_long_element_is_unsound),
      cmocka_unit_test(table_columns_are_as_wide_as_their_widest_cell),
      cmocka_unit_test(json_is_nested_and_escaped),
      cmocka_unit_test(progress_off_a_terminal_is_plain_lines),
      cmocka_unit_test(progress_of_many_is_told_now_and_then),
      cmocka_unit_test(progress_on_a_terminal_overwrites_its_line),
      cmocka_unit_test(options_in_both_spellings_are_read),
      cmocka_unit_test(options_absent_leave_their_defaults),
      cmocka_unit_test(options_that_are_wrong_are_refused),
      cmocka_unit_test_setup_teardown(emulator_of_a_build_tree_is_beside_its_tools, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(emulator_of_an_installed_tool_is_in_the_library_folder, temp_dir_setup,
                                      temp_dir_teardown),
      cmocka_unit_test(emulator_beside_a_path_too_long_is_not_found),
  };
  return SJ_TEST_RUN(tests);
}
