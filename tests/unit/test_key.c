/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <string.h>

#include "config.h"
#include "key.h"
#include "render.h"

static const char source[] = "extern \"C\" __global__ void swa_decode() {}\n";
static const char *const options[] = {"--std=c++17", "--gpu-architecture=sm_100a", NULL};

static sj_key make(const swa_jit_config *config)
{
  sj_key key;
  assert_int_equal(sj_key_make(config, source, options, &key), SWA_JIT_OK);
  return key;
}

/* The value of the first line of that name in a key text, in a buffer of the test's. */
static const char *value_of(const sj_key *key, const char *name)
{
  static char value[256];
  char start[64];
  snprintf(start, sizeof start, "%s:", name);
  const char *line = key->text;
  while (strncmp(line, start, strlen(start)) != 0) {
    line = strchr(line, '\n');
    assert_non_null(line);
    line++;
  }
  const char *equals = strchr(line, '=');
  const char *end = strchr(equals, '\n');
  snprintf(value, sizeof value, "%.*s", (int)(end - equals - 1), equals + 1);
  return value;
}

/* ---- making ----------------------------------------------------------------------------------------------- */

static void key_of_the_defaults_is_as_documented(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key = make(&config);
  uint8_t digest[SJ_DIGEST_BYTES];
  char hex[SJ_DIGEST_HEX_SIZE], expected[1024];
  sj_digest_make(source, strlen(source), digest);
  sj_digest_hex(digest, hex);
  snprintf(expected, sizeof expected,
           "format:1=1\narch:7=sm_100a\nhead_dim:3=512\nhead_group:2=16\nkv_tile:2=16\nwindow_size:3=128\n"
           "kv_format:9=e4m3_slot\nindex_type:5=int32\nlens_type:5=int32\nscale_type:7=float32\nlse:1=1\n"
           "head_dim_v:1=0\nsinks:1=0\nsoft_cap:1=0\nextra_size:1=0\nextra_format:9=e4m3_slot\n"
           "kernel:6=decode\nsplits:1=0\ncluster_size:1=0\n"
           "source:32=%s\noption:11=--std=c++17\noption:26=--gpu-architecture=sm_100a\n",
           hex);
  assert_string_equal(key.text, expected);
  assert_int_equal(key.text_length, strlen(expected));
  sj_key_finish(&key);
  assert_null(key.text);
}

static void key_made_twice_is_the_same(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key a = make(&config);
  sj_key b = make(&config);
  assert_string_equal(a.text, b.text);
  assert_memory_equal(a.digest, b.digest, sizeof a.digest);
  assert_string_equal(a.file_name, b.file_name);
  sj_key_finish(&a);
  sj_key_finish(&b);
}

static void key_digest_is_of_the_text_and_ends_the_file_name(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key = make(&config);
  uint8_t digest[SJ_DIGEST_BYTES];
  char hex[SJ_DIGEST_HEX_SIZE], expected[SJ_FILE_NAME_SIZE];
  sj_digest_make(key.text, key.text_length, digest);
  assert_memory_equal(key.digest, digest, sizeof digest);
  sj_digest_hex(digest, hex);
  snprintf(expected, sizeof expected, "swa_decode-sm_100a-hd512-hg16-kt16-w128-e4m3_slot-%s.cubin", hex);
  assert_string_equal(key.file_name, expected);
  sj_key_finish(&key);
}

static void key_of_clusters_names_them_in_its_file_name(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.kv_tile = 128;
  sj_key key = make(&config);
  assert_null(strstr(key.file_name, "-cl"));
  sj_key_finish(&key);
  config.cluster_size = 4;
  key = make(&config);
  assert_non_null(strstr(key.file_name, "-hg16-kt128-w128-e4m3_slot-cl4-"));
  assert_non_null(strstr(key.text, "\ncluster_size:1=4\n"));
  sj_key_finish(&key);
}

/* A field that is in the table but not in the key would let two kernels share an entry: report 56. */
static void key_with_any_field_changed_is_another(void **state)
{
  (void)state;
  const swa_jit_config base = SWA_JIT_CONFIG_INIT;
  sj_key base_key = make(&base);
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    for (unsigned v = 0; v < (field->values != NULL ? field->num_values : 1); v++) {
      swa_jit_config changed = base;
      char buffer[16];
      const uint32_t value = field->values != NULL ? field->values[v] : field->maximum;
      sj_config_set(&changed, field, value);
      sj_key key = make(&changed);
      assert_string_equal(value_of(&key, field->name), sj_config_value_text(field, value, buffer));
      if (value != field->default_value) {
        assert_memory_not_equal(key.digest, base_key.digest, sizeof key.digest);
        assert_string_not_equal(key.file_name, base_key.file_name);
      }
      sj_key_finish(&key);
    }
  }
  sj_key_finish(&base_key);
}

static void key_with_another_source_or_option_is_another(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  static const char *const fewer[] = {"--std=c++17", NULL};
  static const char *const swapped[] = {"--gpu-architecture=sm_100a", "--std=c++17", NULL};
  static const char *const run_together[] = {"--std=c++17\noption:26=--gpu-architecture=sm_100a", NULL};
  const struct {
    const char *source;
    const char *const *options;
  } others[] = {{"other", options}, {"", options}, {source, fewer}, {source, swapped}, {source, run_together}};
  sj_key base_key = make(&config);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    sj_key key;
    assert_int_equal(sj_key_make(&config, others[i].source, others[i].options, &key), SWA_JIT_OK);
    assert_memory_not_equal(key.digest, base_key.digest, sizeof key.digest);
    sj_key_finish(&key);
  }
  sj_key_finish(&base_key);
}

static void file_name_shows_what_is_not_default(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.index_type = SWA_JIT_INT64;
  config.lse = 0;
  sj_key key = make(&config);
  const char *expected = "swa_decode-sm_90a-hd512-hg16-kt16-w128-e4m3_slot-ix_int64-lse0-";
  assert_memory_equal(key.file_name, expected, strlen(expected));
  sj_key_finish(&key);
}

static void file_name_of_the_merge_shows_the_architecture_alone(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char hex[SJ_DIGEST_HEX_SIZE], expected[SJ_FILE_NAME_SIZE];
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  sj_key key = make(&config);
  sj_digest_hex(key.digest, hex);
  snprintf(expected, sizeof expected, "swa_merge-sm_90a-%s.cubin", hex);
  assert_string_equal(key.file_name, expected);
  sj_key_finish(&key);
}

/* The value that makes the longest file name: not the default where the name leaves that out. */
static uint32_t longest_value(const sj_config_field *field)
{
  if (field->values == NULL) {
    return field->maximum;
  }
  uint32_t longest = field->values[0];
  size_t longest_length = 0;
  for (unsigned v = 0; v < field->num_values; v++) {
    char buffer[16];
    const size_t length = strlen(sj_config_value_text(field, field->values[v], buffer));
    if (length > longest_length && (field->always_named || field->values[v] != field->default_value)) {
      longest = field->values[v];
      longest_length = length;
    }
  }
  return longest;
}

static void file_name_longest_is_under_its_limit_and_plain(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  const sj_config_field *field = NULL;
  config.arch = SWA_JIT_ARCH_SM_100A;
  for (unsigned i = 1; (field = sj_config_field_at(i)) != NULL; i++) {
    sj_config_set(&config, field, longest_value(field));
  }
  config.kernel = SWA_JIT_KERNEL_DECODE; /* the merge's name has no fields */
  sj_key key = make(&config);
  assert_true(strlen(key.file_name) < SJ_FILE_NAME_SIZE - 1);
  assert_int_equal(strspn(key.file_name, "abcdefghijklmnopqrstuvwxyz0123456789_-."), strlen(key.file_name));
  assert_string_equal(key.file_name + strlen(key.file_name) - strlen(".cubin"), ".cubin");
  sj_key_finish(&key);
}

/* ---- beside a key ----------------------------------------------------------------------------------------- */

static void assert_beside(const sj_key *key, const sj_key *beside, const char *line, const char *ending)
{
  const size_t words = (size_t)(sj_key_find_digest(key->file_name) - key->file_name);
  char hex[SJ_DIGEST_HEX_SIZE];
  assert_int_equal(beside->text_length, key->text_length + strlen(line));
  assert_memory_equal(beside->text, key->text, key->text_length);
  assert_string_equal(beside->text + key->text_length, line);
  sj_digest_hex(beside->digest, hex);
  assert_memory_equal(beside->file_name, key->file_name, words);
  assert_memory_equal(beside->file_name + words, hex, strlen(hex));
  assert_string_equal(beside->file_name + words + strlen(hex), ending);
  assert_true(sj_key_is_file_name(beside->file_name));
  assert_true(sj_key_fits_file_name(beside->text, beside->text_length, beside->file_name));
  assert_int_equal(sj_key_is_ptx_name(beside->file_name), strcmp(ending, ".ptx") == 0);
}

static void keys_beside_a_key_have_a_line_more_and_the_name_of_what_they_are(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key = make(&config), ptx, drivers, drivers_ptx;
  assert_int_equal(sj_key_make_ptx(&key, &ptx), SWA_JIT_OK);
  assert_int_equal(sj_key_make_for_driver(&key, 12080, &drivers), SWA_JIT_OK);
  assert_int_equal(sj_key_make_for_driver(&ptx, 12080, &drivers_ptx), SWA_JIT_OK);
  assert_beside(&key, &ptx, "product:3=ptx\n", ".ptx");
  assert_beside(&key, &drivers, "driver:5=12080\n", ".cubin");
  assert_beside(&ptx, &drivers_ptx, "driver:5=12080\n", ".ptx");
  sj_key_finish(&drivers_ptx);
  sj_key_finish(&drivers);
  sj_key_finish(&ptx);
  sj_key_finish(&key);
}

/* ---- comparing -------------------------------------------------------------------------------------------- */

static unsigned compare(const char *wanted, const char *other, char reason[256])
{
  return sj_key_difference(wanted, other, strlen(other), reason, 256);
}

static void difference_of_the_same_key_is_none(void **state)
{
  (void)state;
  char reason[256] = "unset";
  assert_int_equal(compare("a:1=x\nb:0=\n", "a:1=x\nb:0=\n", reason), 0);
  assert_string_equal(reason, "");
}

static void difference_names_fields_from_there_to_wanted(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key other = make(&config), wanted;
  config.window_size = 256;
  config.lens_type = SWA_JIT_INT64;
  assert_int_equal(sj_key_make(&config, "another source", options, &wanted), SWA_JIT_OK);
  char reason[256];
  assert_int_equal(sj_key_difference(wanted.text, other.text, other.text_length, reason, sizeof reason), 3);
  assert_string_equal(reason, "window_size 128 -> 256, lens_type int32 -> int64, source");
  sj_key_finish(&other);
  sj_key_finish(&wanted);
}

static void difference_of_lines_on_one_side_says_none(void **state)
{
  (void)state;
  char reason[256];
  assert_int_equal(compare("a:1=x\nb:1=y\n", "a:1=x\n", reason), 1);
  assert_string_equal(reason, "b (none) -> y");
  assert_int_equal(compare("a:1=x\n", "a:1=x\nb:1=y\n", reason), 1);
  assert_string_equal(reason, "b y -> (none)");
  assert_int_equal(compare("option:1=p\noption:1=q\n", "option:1=p\noption:1=r\n", reason), 1);
  assert_string_equal(reason, "option r -> q");
  assert_int_equal(compare("a:1=x\nb:1=y\n", "b:1=y\na:1=x\n", reason), 1);
  assert_string_equal(reason, "order of the key's lines");
}

static void difference_of_values_with_newlines_keeps_to_the_length(void **state)
{
  (void)state;
  char reason[256];
  assert_int_equal(compare("a:5=x\nb:1\n", "a:5=x\nb:2\n", reason), 1);
  assert_string_equal(reason, "a x?b:2 -> x?b:1");
}

static void difference_of_unreadable_text_says_so(void **state)
{
  (void)state;
  static const char *const others[] = {
      "",
      "a",
      "a:1",
      "a:1=",
      "a:1=x",
      "a:2=x\n",
      "a:=x\n",
      "a:-1=x\n",
      "a:0=x\n",
      ":1=x\n",
      "a:1=x\n\n",
      "a:1=x\nb",
      "a:1:1=x\n",
      "a:18446744073709551615=x\n",
      "a:18446744073709551616=x\n",
      "a=1:x\n",
  };
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    char reason[256];
    const unsigned differences = compare("a:1=x\n", others[i], reason);
    assert_int_equal(differences, 1);
    assert_string_equal(reason, others[i][0] == '\0' ? "a (none) -> x" : "its key text is unreadable");
  }
}

static void difference_of_arbitrary_bytes_is_safe_and_printable(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key = make(&config);
  char *bytes = test_malloc(key.text_length); /* no zero behind it: a read too far is found by the sanitizer */
  for (size_t i = 0; i < key.text_length; i++) {
    for (unsigned flip = 1; flip < 256; flip *= 2) {
      char reason[512];
      memcpy(bytes, key.text, key.text_length);
      bytes[i] = (char)((unsigned char)bytes[i] ^ flip);
      assert_true(sj_key_difference(key.text, bytes, key.text_length, reason, sizeof reason) >= 1);
      assert_true(strlen(reason) > 0);
      for (const char *c = reason; *c != '\0'; c++) {
        assert_in_range(*c, ' ', '~');
      }
    }
    char reason[512];
    assert_true(sj_key_difference(key.text, key.text, i, reason, sizeof reason) >= 1);
  }
  test_free(bytes);
  sj_key_finish(&key);
}

static void difference_reason_is_cut_to_its_size(void **state)
{
  (void)state;
  char whole[256];
  assert_int_equal(compare("a:1=x\nb:1=y\n", "a:1=z\nb:1=w\n", whole), 2);
  for (size_t size = 0; size <= strlen(whole); size++) {
    char cut[256];
    memset(cut, '#', sizeof cut);
    assert_int_equal(sj_key_difference("a:1=x\nb:1=y\n", "a:1=z\nb:1=w\n", 12, cut, size), 2);
    assert_int_equal(cut[size], '#');
    if (size > 0) {
      assert_int_equal(cut[size - 1], '\0');
      assert_memory_equal(cut, whole, size - 1);
    }
  }
}

static void config_is_read_back_from_its_key(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_config read;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.window_size = 1000;
  config.sinks = 1;
  sj_key key = make(&config);
  assert_true(sj_key_read_config(key.text, key.text_length, &read));
  assert_true(sj_config_equal(&config, &read));
  assert_true(sj_key_is_file_name(key.file_name));
  assert_true(sj_key_fits_file_name(key.text, key.text_length, key.file_name));
  sj_key_finish(&key);
}

static void config_of_a_later_or_broken_key_is_not_read(void **state)
{
  (void)state;
  static const char *const texts[] = {"new_field:1=1\n",
                                      "head_dim:2=77\n",
                                      "arch:6=native\n",
                                      "arch:6=sm_999\n",
                                      "head_dim",
                                      "head_dim:9=64\n",
                                      "head_dim:2=64\nkv_format:10=footer_584\n"};
  swa_jit_config config;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    assert_false(sj_key_read_config(texts[i], strlen(texts[i]), &config));
  }
  const char *const older = "format:1=1\narch:6=sm_90a\n"; /* fields fewer than now: their defaults */
  assert_true(sj_key_read_config(older, strlen(older), &config));
  assert_int_equal(config.head_dim, 512);
}

static void file_names_are_told_from_others(void **state)
{
  (void)state;
  static const char *const good[] = {"swa_decode-sm_90a-00112233445566778899aabbccddeeff.cubin",
                                     "swa_later.kind-00112233445566778899aabbccddeeff.cubin",
                                     "swa_decode-sm_90a-00112233445566778899aabbccddeeff.ptx"};
  static const char *const wrong[] = {
      "",
      ".",
      "swa_decode.cubin",
      "swa_decode-00112233445566778899AABBCCDDEEFF.cubin",
      "swa_decode-0112233445566778899aabbccddeeff.cubin",
      "swa_decode_00112233445566778899aabbccddeeff.cubin",
      "swa_decode/-00112233445566778899aabbccddeeff.cubin",
      "swa_../x-00112233445566778899aabbccddeeff.cubin",
      "swb_decode-00112233445566778899aabbccddeeff.cubin",
      "swa_decode-00112233445566778899aabbccddeeff.cubin.bad-00112233",
      "swa_decode \n-00112233445566778899aabbccddeeff.cubin",
      "swa_decode-00112233445566778899aabbccddeeff.cubin.ptx",
      "swa_decode-00112233445566778899aabbccddeeff.ptx2",
      "swa_decode-00112233445566778899aabbccddeeff",
      "swa_decode-00112233445566778899aabbccddeeff.failed",
  };
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    assert_true(sj_key_is_file_name(good[i]));
  }
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_false(sj_key_is_file_name(wrong[i]));
  }
  char longest[256];
  snprintf(longest, sizeof longest, "swa_%0101d%s", 0, "-00112233445566778899aabbccddeeff.cubin");
  longest[SJ_FILE_NAME_SIZE] = '\0';
  assert_false(sj_key_is_file_name(longest));
}

static void file_name_of_another_key_does_not_fit(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_key key = make(&config);
  config.window_size = 256;
  sj_key other = make(&config);
  assert_false(sj_key_fits_file_name(key.text, key.text_length, other.file_name));
  assert_false(sj_key_fits_file_name(key.text, key.text_length - 1, key.file_name));
  char renamed[SJ_FILE_NAME_SIZE]; /* the digest is right, what stands before it is not */
  memcpy(renamed, key.file_name, sizeof renamed);
  char *window = strstr(renamed, "-w128");
  assert_non_null(window);
  window[2] = '9';
  assert_true(sj_key_is_file_name(renamed));
  assert_false(sj_key_fits_file_name(key.text, key.text_length, renamed));
  sj_key_finish(&key);
  sj_key_finish(&other);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(config_is_read_back_from_its_key),
      cmocka_unit_test(config_of_a_later_or_broken_key_is_not_read),
      cmocka_unit_test(file_names_are_told_from_others),
      cmocka_unit_test(file_name_of_another_key_does_not_fit),
      cmocka_unit_test(key_of_the_defaults_is_as_documented),
      cmocka_unit_test(key_made_twice_is_the_same),
      cmocka_unit_test(key_digest_is_of_the_text_and_ends_the_file_name),
      cmocka_unit_test(key_of_clusters_names_them_in_its_file_name),
      cmocka_unit_test(key_with_any_field_changed_is_another),
      cmocka_unit_test(key_with_another_source_or_option_is_another),
      cmocka_unit_test(file_name_shows_what_is_not_default),
      cmocka_unit_test(file_name_of_the_merge_shows_the_architecture_alone),
      cmocka_unit_test(file_name_longest_is_under_its_limit_and_plain),
      cmocka_unit_test(keys_beside_a_key_have_a_line_more_and_the_name_of_what_they_are),
      cmocka_unit_test(difference_of_the_same_key_is_none),
      cmocka_unit_test(difference_names_fields_from_there_to_wanted),
      cmocka_unit_test(difference_of_lines_on_one_side_says_none),
      cmocka_unit_test(difference_of_values_with_newlines_keeps_to_the_length),
      cmocka_unit_test(difference_of_unreadable_text_says_so),
      cmocka_unit_test(difference_of_arbitrary_bytes_is_safe_and_printable),
      cmocka_unit_test(difference_reason_is_cut_to_its_size),
  };
  return SJ_TEST_RUN(tests);
}
