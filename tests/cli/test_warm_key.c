/* SPDX-License-Identifier: Apache-2.0 */
/* Key texts as swa-jit-warm takes them apart, whatever a damaged entry holds. */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "key.h"
#include "key_text.h"
#include "test_main.h"

static unsigned count_lines(const char *text)
{
  warm_key_line line;
  unsigned count = 0;
  while (warm_key_next(&text, &line)) {
    assert_true(line.name_length > 0);
    count++;
  }
  return count;
}

static void lines_are_read_by_their_lengths(void **state)
{
  static const char text[] = "a:1=x\nlong:7=two\nrow\nempty:0=\nb:1=y\n";
  const char *at = text;
  warm_key_line line;
  (void)state;
  assert_true(warm_key_next(&at, &line));
  assert_memory_equal(line.name, "a", line.name_length);
  assert_memory_equal(line.value, "x", line.value_length);
  assert_true(warm_key_next(&at, &line));
  assert_int_equal(line.value_length, 7);
  assert_memory_equal(line.value, "two\nrow", 7);
  assert_true(warm_key_next(&at, &line));
  assert_int_equal(line.value_length, 0);
  assert_true(warm_key_next(&at, &line));
  assert_false(warm_key_next(&at, &line));
}

static void what_is_no_line_ends_the_text(void **state)
{
  static const char *const texts[] = {"",
                                      "a",
                                      "a:",
                                      "a:1",
                                      "a:1=",
                                      "a:1=x",
                                      "a:2=x\n",
                                      ":1=x\n",
                                      "a:-1=x\n",
                                      "a:+1=x\n",
                                      "a: 1=x\n",
                                      "a:1x=x\n",
                                      "a:99999999999999999999=x\n",
                                      "a\n:1=x\n"};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assert_int_equal(count_lines(texts[i]), 0);
  }
}

static void changed_bytes_of_a_key_are_safe(void **state)
{
  static const char *const options[] = {"--gpu-architecture=sm_100a", "--std=c++17", NULL};
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key;
  (void)state;
  assert_int_equal(sj_key_make(&config, "source", options, &key), SWA_JIT_OK);
  const unsigned num_lines = count_lines(key.text);
  assert_true(num_lines > 10);
  for (size_t i = 0; i < key.text_length; i++) {
    char *text = strdup(key.text); /* alone, so that a read beyond it is found by the sanitizer */
    assert_non_null(text);
    text[i] = (char)((unsigned char)text[i] ^ 0x11);
    assert_true(count_lines(text) <= num_lines + 1);
    assert_true(warm_key_compare(text, key.text, NULL, NULL) > 0);
    text[i] = '\0';
    assert_true(count_lines(text) <= num_lines);
    free(text);
  }
  sj_key_finish(&key);
}

typedef struct told {
  char text[512];
} told;

static void tell(void *data, const char *name, const char *stored, const char *wanted)
{
  told *all = data;
  size_t length = strlen(all->text);
  snprintf(all->text + length, sizeof all->text - length, "%s %s>%s;", name, stored != NULL ? stored : "-",
           wanted != NULL ? wanted : "-");
}

static void differences_are_told_less_what_follows_from_them(void **state)
{
  static const struct {
    const char *stored, *wanted, *told;
    unsigned count;
  } cases[] = {
      {"a:1=x\nsource:1=1\n", "a:1=x\nsource:1=1\n", "", 0},
      {"a:1=x\nsource:1=1\n", "a:1=y\nsource:1=2\n", "a x>y;", 1},
      {"a:1=x\nsource:1=1\n", "a:1=x\nsource:1=2\n", "source 1>2;", 1},
      {"a:1=x\n", "b:1=x\n", "b ->x;a x>-;", 2},
      {"option:1=p\noption:1=q\n", "option:1=p\noption:1=r\n", "option q>r;", 1},
      {"option:1=p\n", "option:1=p\noption:1=q\n", "option ->q;", 1},
      {"arch:1=a\noption:20=--gpu-architecture=a\n", "arch:1=b\noption:20=--gpu-architecture=b\n", "arch a>b;", 1},
      {"a:3=\x01\x80z\n", "a:1=y\n", "a ??z>y;", 1},
      {"no key", "a:1=y\n", "a ->y;", 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    told all = {""};
    assert_int_equal(warm_key_compare(cases[i].stored, cases[i].wanted, tell, &all), cases[i].count);
    assert_string_equal(all.text, cases[i].told);
    assert_int_equal(warm_key_compare(cases[i].stored, cases[i].wanted, NULL, NULL), cases[i].count);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_read_by_their_lengths),
      cmocka_unit_test(what_is_no_line_ends_the_text),
      cmocka_unit_test(changed_bytes_of_a_key_are_safe),
      cmocka_unit_test(differences_are_told_less_what_follows_from_them),
  };
  return SJ_TEST_RUN(tests);
}
