/* SPDX-License-Identifier: Apache-2.0 */
/* What a real or a stand-in library is needed for stands in tests/integration/test_nvrtc_search.c. */
#include "nvrtc_api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture_log.h"
#include "temp_dir.h"
#include "test_main.h"

static void open_explicit_path_missing_is_no_compiler(void **state)
{
  char *path = temp_dir_join(*state, "libnvrtc.so.13");
  sj_nvrtc_api api = {.version_code = 1};
  assert_int_equal(sj_nvrtc_api_open(path, NULL, 0, NULL, &api), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), path));
  assert_non_null(strstr(sj_message(), "SWA_JIT_NVRTC"));
  assert_int_equal(api.version_code, 1); /* untouched */
  free(path);
}

static void open_explicit_path_no_library_is_no_compiler(void **state)
{
  char *path = temp_dir_join(*state, "libnvrtc.so.13");
  sj_nvrtc_api api;
  assert_true(temp_dir_write(path, "text", 4));
  assert_int_equal(sj_nvrtc_api_open(path, NULL, 0, NULL, &api), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), path));
  free(path);
}

static void open_explicit_library_without_symbol_names_the_symbol(void **state)
{
  (void)state;
  sj_nvrtc_api api;
  assert_int_equal(sj_nvrtc_api_open("libm.so.6", NULL, 0, NULL, &api), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "libm.so.6"));
  assert_non_null(strstr(sj_message(), "nvrtcVersion"));
}

/* Where part stands in text; fails the test when it does not. */
static size_t place_of(const char *text, const char *part)
{
  const char *found = strstr(text, part);
  assert_non_null(found);
  return (size_t)(found - text);
}

static void places_all_stand_in_documented_order(void **state)
{
  (void)state;
  sj_text places = {0};
  sj_nvrtc_add_places("/home/me/venv", &places);
  assert_false(places.failed);
  const char *const order[] = {
      "libnvrtc.so.13\n",
      "libnvrtc.so.12\n",
      "/usr/local/cuda*/lib64/libnvrtc.so.13\n",
      "/usr/local/cuda*/targets/*/lib/libnvrtc.so.13\n",
      "/usr/local/cuda*/lib64/libnvrtc.so.12\n",
      "/home/me/venv/lib/python3*/*-packages/nvidia/cu13/lib/libnvrtc.so.13\n",
      "/home/me/venv/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12\n",
      "/usr/local/lib/python3*/*-packages/nvidia/cu13/lib/libnvrtc.so.13\n",
      "/usr/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12\n",
  };
  for (size_t i = 1; i < sizeof order / sizeof order[0]; i++) {
    assert_true(place_of(places.data, order[i - 1]) < place_of(places.data, order[i]));
  }
  assert_int_equal(place_of(places.data, order[0]), 0);
  sj_text_finish(&places);
}

static void places_virtual_env_with_pattern_letters_are_escaped(void **state)
{
  (void)state;
  sj_text places = {0};
  sj_nvrtc_add_places("/srv/[a]*", &places);
  place_of(places.data, "/srv/\\[a\\]\\*/lib/python3*/");
  sj_text_finish(&places);
}

static void places_virtual_env_none_or_relative_is_left_out(void **state)
{
  (void)state;
  sj_text none = {0};
  sj_text relative = {0};
  sj_nvrtc_add_places(NULL, &none);
  sj_nvrtc_add_places("venv", &relative);
  assert_string_equal(none.data, relative.data);
  sj_text_finish(&none);
  sj_text_finish(&relative);
}

static char *make_file(const char *folder, const char *name)
{
  char *below = temp_dir_join(folder, name);
  assert_int_equal(mkdir(below, 0700), 0);
  char *path = temp_dir_join(below, "libnvrtc.so.13");
  assert_true(temp_dir_write(path, "no library", 10));
  free(below);
  return path;
}

static void open_place_unusable_copies_are_passed_over_newest_first(void **state)
{
  char *older = make_file(*state, "cuda-12.9");
  char *newer = make_file(*state, "cuda-12.10");
  sj_text places = {0};
  capture_log capture;
  sj_nvrtc_api api;
  capture_log_init(&capture, SWA_JIT_LOG_DEBUG);
  sj_nvrtc_search search = {.log = &capture.log};
  sj_text_add_format(&places, "libnvrtc-of-nobody.so.1\n%s/cuda*/libnvrtc.so.13\n%s/cuda*/absent.so\n", (char *)*state,
                     (char *)*state);
  assert_false(sj_nvrtc_api_open_place(places.data, &search, &api));
  assert_true(place_of(search.tried.data, "libnvrtc-of-nobody.so.1: ") < place_of(search.tried.data, newer));
  assert_true(place_of(search.tried.data, newer) < place_of(search.tried.data, older));
  place_of(search.tried.data, "/cuda*/absent.so: no such file\n");
  assert_true(capture_log_has(&capture, older));
  assert_false(search.found_old);
  capture_log_finish(&capture);
  sj_text_finish(&places);
  sj_text_finish(&search.tried);
  free(older);
  free(newer);
}

static void close_zeros_is_fine(void **state)
{
  (void)state;
  sj_nvrtc_api api = {0};
  sj_nvrtc_api_close(&api);
  assert_null(api.library);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(open_explicit_path_missing_is_no_compiler, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(open_explicit_path_no_library_is_no_compiler, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test(open_explicit_library_without_symbol_names_the_symbol),
      cmocka_unit_test(places_all_stand_in_documented_order),
      cmocka_unit_test(places_virtual_env_with_pattern_letters_are_escaped),
      cmocka_unit_test(places_virtual_env_none_or_relative_is_left_out),
      cmocka_unit_test_setup_teardown(open_place_unusable_copies_are_passed_over_newest_first, temp_dir_setup,
                                      temp_dir_teardown),
      cmocka_unit_test(close_zeros_is_fine),
  };
  return SJ_TEST_RUN(tests);
}
