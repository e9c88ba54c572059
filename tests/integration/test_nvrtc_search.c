/* SPDX-License-Identifier: Apache-2.0 */
/* The search for libnvrtc with a stand-in: which copy is taken, and what is passed over. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nvrtc_api.h"
#include "temp_dir.h"
#include "test_main.h"

/* folder/name/libnvrtc.so.13 with the stand-in's bytes, or with other bytes. */
static char *place_copy(const char *folder, const char *name, const char *bytes, size_t count)
{
  char *below = temp_dir_join(folder, name);
  char *path = temp_dir_join(below, "libnvrtc.so.13");
  assert_int_equal(mkdir(below, 0700), 0);
  assert_true(temp_dir_write(path, bytes, count));
  free(below);
  return path;
}

static void open_explicit_stand_in_fills_the_table(void **state)
{
  (void)state;
  sj_nvrtc_api api = {0};
  int count = 0;
  assert_int_equal(sj_nvrtc_api_open(NVRTC_FAKE, NULL, NULL, &api), SWA_JIT_OK);
  assert_string_equal(api.path, NVRTC_FAKE);
  assert_int_equal(api.version_code, 13000);
  assert_null(api.builtins_library);
  assert_int_equal(api.get_num_supported_archs(&count), 0);
  assert_true(count > 0);
  sj_nvrtc_api_close(&api);
  assert_null(api.library);
}

static void search_takes_the_newest_copy_that_can_be_used(void **state)
{
  char *bytes = NULL;
  size_t count = 0;
  sj_text places = {0};
  sj_text tried = {0};
  sj_nvrtc_api api = {0};
  assert_true(temp_dir_read(NVRTC_FAKE, &bytes, &count));
  char *oldest = place_copy(*state, "cuda-12.8", bytes, count);
  char *middle = place_copy(*state, "cuda-12.10", bytes, count);
  char *broken = place_copy(*state, "cuda-13.0", "no library", 10);
  sj_text_add_format(&places, "%s/absent/libnvrtc.so.13\n%s/cuda*/libnvrtc.so.13\n", (char *)*state, (char *)*state);
  assert_true(sj_nvrtc_api_open_place(places.data, NULL, &tried, &api));
  assert_string_equal(api.path, middle);
  assert_non_null(strstr(tried.data, broken));
  assert_non_null(strstr(tried.data, "/absent/libnvrtc.so.13: no such file"));
  assert_null(strstr(tried.data, oldest));
  sj_nvrtc_api_close(&api);
  sj_text_finish(&places);
  sj_text_finish(&tried);
  free(bytes);
  free(oldest);
  free(middle);
  free(broken);
}

/* A builtins library beside it is opened by its full path. The stand-in serves as one. */
static void open_builtins_beside_the_library_are_loaded(void **state)
{
  char *bytes = NULL;
  size_t count = 0;
  sj_nvrtc_api api = {0};
  assert_true(temp_dir_read(NVRTC_FAKE, &bytes, &count));
  char *path = place_copy(*state, "lib", bytes, count);
  char *folder = temp_dir_join(*state, "lib");
  char *builtins = temp_dir_join(folder, "libnvrtc-builtins.so.13.0");
  assert_true(temp_dir_write(builtins, bytes, count));
  assert_int_equal(sj_nvrtc_api_open(path, NULL, NULL, &api), SWA_JIT_OK);
  assert_non_null(api.builtins_library);
  sj_nvrtc_api_close(&api);
  free(builtins);
  free(folder);
  free(path);
  free(bytes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open_explicit_stand_in_fills_the_table),
      cmocka_unit_test_setup_teardown(search_takes_the_newest_copy_that_can_be_used, temp_dir_setup, temp_dir_teardown),
      cmocka_unit_test_setup_teardown(open_builtins_beside_the_library_are_loaded, temp_dir_setup, temp_dir_teardown),
  };
  return SJ_TEST_RUN(tests);
}
