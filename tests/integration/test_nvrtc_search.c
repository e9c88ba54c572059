/* SPDX-License-Identifier: Apache-2.0 */
/* The search for libnvrtc with a stand-in: which copy is taken, and what is passed over. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "build_fixture.h"
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
  assert_int_equal(sj_nvrtc_api_open(NVRTC_FAKE, NULL, 0, NULL, &api), SWA_JIT_OK);
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
  sj_nvrtc_search search = {0};
  sj_nvrtc_api api = {0};
  assert_true(temp_dir_read(NVRTC_FAKE, &bytes, &count));
  char *oldest = place_copy(*state, "cuda-12.8", bytes, count);
  char *middle = place_copy(*state, "cuda-12.10", bytes, count);
  char *broken = place_copy(*state, "cuda-13.0", "no library", 10);
  sj_text_add_format(&places, "%s/absent/libnvrtc.so.13\n%s/cuda*/libnvrtc.so.13\n", (char *)*state, (char *)*state);
  assert_true(sj_nvrtc_api_open_place(places.data, &search, &api));
  assert_string_equal(api.path, middle);
  assert_non_null(strstr(search.tried.data, broken));
  assert_non_null(strstr(search.tried.data, "/absent/libnvrtc.so.13: no such file"));
  assert_null(strstr(search.tried.data, oldest));
  sj_nvrtc_api_close(&api);
  sj_text_finish(&places);
  sj_text_finish(&search.tried);
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
  assert_int_equal(sj_nvrtc_api_open(path, NULL, 0, NULL, &api), SWA_JIT_OK);
  assert_non_null(api.builtins_library);
  sj_nvrtc_api_close(&api);
  free(builtins);
  free(folder);
  free(path);
  free(bytes);
}

static void set_version(const char *version)
{
  assert_int_equal(setenv("FAKE_NVRTC_VERSION", version, 1), 0);
}

/* What a program does that brought its own NVRTC: the stand-in under a name that the loader answers from then on. */
static void *load_copy(const char *folder, const char *soname, const char *version, char **path_out)
{
  static const char old[] = "libnvrtc-fake.so";
  char *bytes = NULL;
  size_t count = 0;
  int major = 0;
  int minor = 0;
  sj_nvrtc_api api;
  assert_true(temp_dir_read(NVRTC_FAKE, &bytes, &count));
  char *name = memmem(bytes, count, old, sizeof old);
  assert_non_null(name);
  memcpy(name, soname, strlen(soname) + 1);
  *path_out = place_copy(folder, "loaded", bytes, count);
  free(bytes);
  void *library = dlopen(*path_out, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(library);
  void *symbol = dlsym(library, "nvrtcVersion");
  assert_non_null(symbol);
  memcpy(&api.version, &symbol, sizeof symbol);
  set_version(version);
  assert_int_equal(api.version(&major, &minor), 0); /* from here on this copy's version is fixed */
  assert_int_equal(major * 1000 + minor * 10, atoi(version));
  return library;
}

static bool is_loaded(const char *name)
{
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return library != NULL && dlclose(library) == 0;
}

static void search_loaded_copy_too_old_goes_on(void **state)
{
  char *bytes = NULL;
  size_t count = 0;
  char *loaded = NULL;
  sj_text places = {0};
  sj_nvrtc_search search = {.min_version = 12080};
  sj_nvrtc_api api = {0};
  void *library = load_copy(*state, "libnvrtc.so.12", "12010", &loaded);
  assert_true(temp_dir_read(NVRTC_FAKE, &bytes, &count));
  char *newer = place_copy(*state, "cuda-12.8", bytes, count);
  set_version("12080");
  sj_text_add_format(&places, "libnvrtc.so.12\n%s/cuda*/libnvrtc.so.13\n", (char *)*state);
  assert_true(sj_nvrtc_api_open_place(places.data, &search, &api));
  assert_string_equal(api.path, newer);
  assert_int_equal(api.version_code, 12080);
  assert_true(search.found_old);
  assert_non_null(strstr(search.tried.data, loaded));
  assert_non_null(strstr(search.tried.data, ": version 12.1 is too old\n"));
  sj_nvrtc_api_close(&api);
  assert_true(is_loaded(loaded)); /* the program's own copy stays */
  assert_int_equal(dlclose(library), 0);
  sj_text_finish(&places);
  sj_text_finish(&search.tried);
  free(bytes);
  free(loaded);
  free(newer);
}

static void search_copies_too_old_are_told_and_leave_the_process(void **state)
{
  char *bytes = NULL;
  size_t count = 0;
  sj_text places = {0};
  sj_nvrtc_search search = {.min_version = 12080};
  sj_nvrtc_api api = {0};
  assert_true(temp_dir_read(NVRTC_FAKE, &bytes, &count));
  char *first = place_copy(*state, "cuda-12.7", bytes, count);
  char *second = place_copy(*state, "cuda-12.6", bytes, count);
  set_version("12070");
  for (int i = 0; i < 2; i++) {
    sj_text_add_format(&places, "%s/cuda*/libnvrtc.so.13\n", (char *)*state);
  }
  assert_false(sj_nvrtc_api_open_place(places.data, &search, &api));
  assert_true(search.found_old);
  const char *told = strstr(search.tried.data, first);
  assert_non_null(told);
  assert_null(strstr(told + 1, first)); /* once, although two places led there */
  assert_non_null(strstr(search.tried.data, second));
  assert_false(is_loaded(first));
  assert_false(is_loaded(second));
  assert_null(api.library);
  sj_text_finish(&places);
  sj_text_finish(&search.tried);
  free(bytes);
  free(first);
  free(second);
}

static void open_nothing_new_enough_is_unsupported_with_versions(void **state)
{
  char *loaded = NULL;
  sj_nvrtc_api api = {0};
  void *library = load_copy(*state, "libnvrtc.so.12", "12010", &loaded);
  assert_int_equal(sj_nvrtc_api_open(NULL, NULL, 99010, NULL, &api), SWA_JIT_UNSUPPORTED);
  assert_non_null(strstr(sj_message(), "libnvrtc 99.1 or newer"));
  const char *told = strstr(sj_message(), loaded);
  assert_non_null(told);
  assert_memory_equal(told + strlen(loaded), ": version 12.1 is too old\n", 26);
  assert_null(strstr(told + 1, loaded));
  assert_int_equal(dlclose(library), 0);
  free(loaded);
}

/* Last: a copy that was taken stays in the process, and answers to its name. */
static void lib_opens_a_second_copy_only_for_an_architecture_that_needs_it(void **state)
{
  build_fixture fixture;
  const sj_nvrtc_api *old = NULL;
  const sj_nvrtc_api *new = NULL;
  const sj_nvrtc_api *again = NULL;
  char *loaded = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.version_code = 12010});
  free(fixture.lib->options.nvrtc_path);
  fixture.lib->options.nvrtc_path = NULL;
  void *library = load_copy(*state, "libnvrtc.so.13", "13010", &loaded);
  assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 12000, &old), SWA_JIT_OK);
  assert_int_equal(old->version_code, 12010);
  assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 12080, &new), SWA_JIT_OK);
  assert_string_equal(new->path, loaded);
  assert_int_equal(new->version_code, 13010);
  assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 12090, &again), SWA_JIT_OK);
  assert_ptr_equal(again, new);
  assert_int_equal(sj_lib_open_nvrtc(fixture.lib, 12000, &again), SWA_JIT_OK);
  assert_ptr_equal(again, old);
  build_fixture_close(&fixture);
  assert_int_equal(dlclose(library), 0);
  assert_true(is_loaded(loaded));
  free(loaded);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  build_fixture_clear_environment();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(open_explicit_stand_in_fills_the_table),
      TEST(search_takes_the_newest_copy_that_can_be_used),
      TEST(open_builtins_beside_the_library_are_loaded),
      TEST(search_loaded_copy_too_old_goes_on),
      TEST(search_copies_too_old_are_told_and_leave_the_process),
      TEST(open_nothing_new_enough_is_unsupported_with_versions),
      TEST(lib_opens_a_second_copy_only_for_an_architecture_that_needs_it),
  };
  return SJ_TEST_RUN(tests);
}
