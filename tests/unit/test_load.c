/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "test_main.h"

#include "load.h"
#include "recording_cuda.h"

static const char image[] = "\177ELF and whatever follows";
static const sj_tile_plan plan = {.num_warps = 4, .shared_memory_bytes = 150000};
static const recording_cuda *cuda;
static sj_cuda_api api;

/* Opens the stand-in with devices of the given capabilities, {major, minor, shared bytes}. */
static void start(int num_devices, const int devices[][3])
{
  cuda->reset();
  cuda->set_num_devices(num_devices);
  for (int i = 0; i < num_devices; ++i) {
    cuda->set_device(i, devices[i][0], devices[i][1], devices[i][2]);
  }
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, NULL, &api), SWA_JIT_OK);
}

static void start_one(void)
{
  static const int hopper[1][3] = {{9, 0, 232448}};
  start(1, hopper);
}

static void assert_message_has(const char *part)
{
  if (strstr(sj_message(), part) == NULL) {
    fail_msg("no \"%s\" in: %s", part, sj_message());
  }
}

/* Loads the image for arch, which must fail with expected, touch nothing and leave nothing loaded. */
static void assert_load_fails(uint32_t arch, swa_jit_status expected, bool expect_refused)
{
  sj_loaded loaded = {0};
  bool refused = !expect_refused;
  assert_int_equal(sj_load_make(&api, sj_arch_find(arch), &plan, "swa_decode", image, &refused, &loaded), expected);
  assert_int_equal(refused, expect_refused);
  assert_null(loaded.library);
  assert_null(loaded.kernel);
  assert_int_equal(cuda->num_loaded(), 0);
}

static void assert_load_works(uint32_t arch, sj_loaded *loaded)
{
  bool refused = true;
  assert_int_equal(sj_load_make(&api, sj_arch_find(arch), &plan, "swa_decode", image, &refused, loaded), SWA_JIT_OK);
  assert_false(refused);
  assert_int_equal(cuda->num_loaded(), 1);
}

static void load_without_context_sets_shared_memory_only(void **state)
{
  (void)state;
  sj_loaded loaded;
  start_one();
  assert_load_works(90, &loaded);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 0), 150000);
  assert_int_equal(cuda->num_calls("cuKernelGetFunction"), 0);
  assert_false(cuda->is_function_loaded(loaded.kernel, 0));
  assert_int_equal(loaded.num_contexts, 0);
  sj_load_finish(&api, &loaded);
  assert_int_equal(cuda->num_loaded(), 0);
  assert_null(loaded.library);
  sj_load_finish(&api, &loaded);
  assert_int_equal(cuda->num_calls("cuLibraryUnload"), 1);
}

/* Report 54: a driver that loads lazily would load at the first launch, which may be in a capture. */
static void load_with_current_context_loads_the_function_there(void **state)
{
  (void)state;
  static const int devices[2][3] = {{9, 0, 232448}, {9, 0, 232448}};
  sj_loaded loaded;
  start(2, devices);
  cuda->set_current(1);
  assert_load_works(90, &loaded);
  assert_true(cuda->is_function_loaded(loaded.kernel, 1));
  assert_false(cuda->is_function_loaded(loaded.kernel, 0));
  assert_int_equal(cuda->get_depth(), 1);
  assert_ptr_equal(sj_load_find_function(&api, &loaded), cuda->get_function(loaded.kernel, 1));
  sj_load_finish(&api, &loaded);
}

static void load_with_context_of_another_device_leaves_it_alone(void **state)
{
  (void)state;
  static const int devices[2][3] = {{9, 0, 232448}, {10, 0, 232448}};
  sj_loaded loaded;
  start(2, devices);
  cuda->set_current(1);
  assert_load_works(90, &loaded);
  assert_int_equal(cuda->num_calls("cuKernelGetFunction"), 0);
  assert_false(sj_load_lacks_context(&api, &loaded));
  assert_null(sj_load_find_function(&api, &loaded));
  sj_load_finish(&api, &loaded);
}

static const sj_tile_plan *const big_plan = &(const sj_tile_plan){.num_warps = 4, .shared_memory_bytes = 200000};

static swa_jit_status add_context(sj_loaded *loaded)
{
  return sj_load_add_context(&api, sj_arch_find(90), &plan, loaded);
}

static void add_context_loads_the_function_there_once(void **state)
{
  (void)state;
  static const int devices[2][3] = {{9, 0, 232448}, {9, 0, 232448}};
  sj_loaded loaded;
  start(2, devices);
  cuda->set_current(0);
  assert_load_works(90, &loaded);
  assert_false(sj_load_lacks_context(&api, &loaded));
  cuda->set_current(1);
  assert_true(sj_load_lacks_context(&api, &loaded));
  assert_null(sj_load_find_function(&api, &loaded));
  assert_int_equal(add_context(&loaded), SWA_JIT_OK);
  assert_false(sj_load_lacks_context(&api, &loaded));
  assert_true(cuda->is_function_loaded(loaded.kernel, 1));
  assert_ptr_equal(sj_load_find_function(&api, &loaded), cuda->get_function(loaded.kernel, 1));
  assert_int_equal(add_context(&loaded), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls("cuFuncLoad"), 2);
  cuda->set_current(0);
  assert_ptr_equal(sj_load_find_function(&api, &loaded), cuda->get_function(loaded.kernel, 0));
  assert_int_equal(cuda->num_loads(), 1);
  sj_load_finish(&api, &loaded);
  assert_int_equal(loaded.num_contexts, 0);
}

static void add_context_after_a_load_without_one_is_the_first(void **state)
{
  (void)state;
  sj_loaded loaded;
  start_one();
  assert_load_works(90, &loaded);
  assert_false(sj_load_lacks_context(&api, &loaded));
  assert_int_equal(add_context(&loaded), SWA_JIT_OK);
  assert_int_equal(loaded.num_contexts, 0);
  cuda->set_current(0);
  assert_int_equal(add_context(&loaded), SWA_JIT_OK);
  assert_non_null(sj_load_find_function(&api, &loaded));
  sj_load_finish(&api, &loaded);
}

/* Otherwise each get there would take the kernel's mutex and ask the driver again. */
static void add_context_that_cannot_run_the_kernel_is_remembered_without_a_function(void **state)
{
  (void)state;
  static const int devices[3][3] = {{9, 0, 232448}, {10, 0, 232448}, {9, 0, 199999}};
  sj_loaded loaded = {0};
  bool refused = true;
  start(3, devices);
  assert_int_equal(sj_load_make(&api, sj_arch_find(90), big_plan, "swa_decode", image, &refused, &loaded), SWA_JIT_OK);
  for (int i = 1; i < 3; ++i) {
    cuda->set_current(i);
    assert_true(sj_load_lacks_context(&api, &loaded));
    assert_int_equal(sj_load_add_context(&api, sj_arch_find(90), big_plan, &loaded), SWA_JIT_OK);
    assert_false(sj_load_lacks_context(&api, &loaded));
    assert_null(sj_load_find_function(&api, &loaded));
  }
  assert_int_equal(cuda->num_calls("cuKernelGetFunction"), 0);
  sj_load_finish(&api, &loaded);
}

static void add_context_at_the_address_of_a_destroyed_one_is_told_apart(void **state)
{
  (void)state;
  sj_loaded loaded;
  start_one();
  cuda->set_current(0);
  assert_load_works(90, &loaded);
  cuda->renew_context(0);
  assert_null(sj_load_find_function(&api, &loaded));
  assert_true(sj_load_lacks_context(&api, &loaded));
  assert_int_equal(add_context(&loaded), SWA_JIT_OK);
  assert_true(cuda->is_function_loaded(loaded.kernel, 0));
  assert_non_null(sj_load_find_function(&api, &loaded));
  sj_load_finish(&api, &loaded);
}

static void add_context_beyond_the_most_asks_the_driver_nothing(void **state)
{
  (void)state;
  sj_loaded loaded;
  start_one();
  cuda->set_current(0);
  assert_load_works(90, &loaded);
  for (int i = 1; i < SJ_MAX_LOADED_CONTEXTS; ++i) {
    cuda->renew_context(0);
    assert_int_equal(add_context(&loaded), SWA_JIT_OK);
    assert_int_equal(loaded.num_contexts, i + 1);
  }
  assert_non_null(sj_load_find_function(&api, &loaded)); /* the last that there was room for */
  cuda->renew_context(0);
  unsigned calls = cuda->num_calls(NULL);
  assert_false(sj_load_lacks_context(&api, &loaded));
  assert_int_equal(add_context(&loaded), SWA_JIT_OK);
  assert_int_equal(cuda->num_calls(NULL), calls);
  assert_int_equal(loaded.num_contexts, SJ_MAX_LOADED_CONTEXTS);
  assert_null(sj_load_find_function(&api, &loaded));
  sj_load_finish(&api, &loaded);
}

static void load_where_the_driver_has_no_context_id_remembers_none(void **state)
{
  (void)state;
  sj_loaded loaded;
  start_one();
  api.ctx_get_id = NULL;
  cuda->set_current(0);
  assert_load_works(90, &loaded);
  assert_true(cuda->is_function_loaded(loaded.kernel, 0));
  assert_int_equal(loaded.num_contexts, 0);
  assert_false(sj_load_lacks_context(&api, &loaded));
  assert_null(sj_load_find_function(&api, &loaded));
  sj_load_finish(&api, &loaded);
}

/* Told, but for cuCtxGetId's: then the context is not remembered, or not yet. */
static void add_context_with_each_call_failing_is_cured_by_the_next(void **state)
{
  (void)state;
  static const int devices[2][3] = {{9, 0, 232448}, {9, 0, 232448}};
  unsigned nth = 1;
  for (;; ++nth) {
    sj_loaded loaded;
    start(2, devices);
    cuda->set_current(0);
    assert_load_works(90, &loaded);
    cuda->set_current(1);
    unsigned calls = cuda->num_calls(NULL);
    cuda->fail_call(nth, 999);
    swa_jit_status status = add_context(&loaded);
    bool has_failed = cuda->has_failed();
    if (has_failed) {
      const char *failed = cuda->get_call(calls + nth - 1);
      bool is_told = strcmp(failed, "cuCtxGetId") != 0;
      assert_int_equal(status, is_told ? SWA_JIT_CUDA_ERROR : SWA_JIT_OK);
      assert_int_equal(loaded.num_contexts, 1);
      if (is_told) {
        assert_message_has(failed);
      }
      assert_int_equal(add_context(&loaded), SWA_JIT_OK);
    }
    cuda->fail_call(0, 0);
    assert_int_equal(loaded.num_contexts, 2);
    sj_load_finish(&api, &loaded);
    if (!has_failed) {
      assert_int_equal(status, SWA_JIT_OK);
      break;
    }
  }
  /* context's id, context, its device, major, minor, shared memory, function, its load, id again, and none failed */
  assert_int_equal(nth, 10);
}

static void load_without_the_optional_call_still_gets_the_function(void **state)
{
  (void)state;
  sj_loaded loaded;
  start_one();
  api.func_load = NULL;
  cuda->set_current(0);
  assert_load_works(90, &loaded);
  assert_int_equal(cuda->num_calls("cuKernelGetFunction"), 1);
  sj_load_finish(&api, &loaded);
}

static void load_for_several_devices_serves_those_of_the_architecture(void **state)
{
  (void)state;
  static const int devices[4][3] = {{10, 0, 232448}, {9, 0, 232448}, {8, 0, 166912}, {9, 0, 200000}};
  sj_loaded loaded;
  start(4, devices);
  assert_load_works(90, &loaded);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 0), 0);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 1), 150000);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 2), 0);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 3), 150000);
  sj_load_finish(&api, &loaded);
}

static void load_where_one_of_two_devices_is_too_small_serves_the_other(void **state)
{
  (void)state;
  static const int devices[2][3] = {{8, 6, 101376}, {8, 0, 166912}};
  sj_loaded loaded;
  start(2, devices);
  cuda->set_current(0);
  assert_load_works(80, &loaded);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 0), 0);
  assert_int_equal(cuda->get_shared_limit(loaded.kernel, 1), 150000);
  assert_int_equal(cuda->num_calls("cuKernelGetFunction"), 0);
  sj_load_finish(&api, &loaded);
}

static void load_where_no_device_has_the_shared_memory_is_refused_with_both_figures(void **state)
{
  (void)state;
  static const int devices[2][3] = {{8, 6, 101376}, {9, 0, 232448}};
  start(2, devices);
  assert_load_fails(80, SWA_JIT_UNSUPPORTED, false);
  assert_message_has("150000");
  assert_message_has("101376");
  assert_int_equal(cuda->num_loads(), 0);
}

static void load_where_no_device_runs_the_architecture_names_those_there(void **state)
{
  (void)state;
  static const int devices[2][3] = {{9, 0, 232448}, {7, 0, 98304}};
  start(2, devices);
  assert_load_fails(100, SWA_JIT_NO_DEVICE, false);
  assert_message_has("sm_100a");
  assert_message_has("device 0 of compute capability 9.0 (sm_90a)");
  assert_message_has("device 1 of compute capability 7.0 (not served)");
  assert_int_equal(cuda->num_loads(), 0);
}

static void load_with_an_old_driver_is_refused_before_loading(void **state)
{
  (void)state;
  static const int devices[1][3] = {{10, 0, 232448}};
  start(1, devices);
  api.driver_version = 12040;
  assert_load_fails(100, SWA_JIT_UNSUPPORTED, false);
  assert_message_has("12.4");
  assert_message_has("12.8");
  assert_int_equal(cuda->num_loads(), 0);
}

static void load_of_no_image_says_that_the_cubin_was_refused(void **state)
{
  (void)state;
  sj_loaded loaded = {0};
  bool refused = false;
  start_one();
  assert_int_equal(sj_load_make(&api, sj_arch_find(90), &plan, "swa_decode", "no image", &refused, &loaded),
                   SWA_JIT_CUDA_ERROR);
  assert_true(refused);
  assert_message_has("CUDA_ERROR_INVALID_IMAGE");
  assert_message_has("the driver for CUDA 13.0 refused the image");
}

static void load_asks_for_the_kernel_by_its_name(void **state)
{
  (void)state;
  sj_loaded loaded = {0};
  bool refused = true;
  start_one();
  assert_int_equal(sj_load_make(&api, sj_arch_find(90), &plan, "swa_merge", image, &refused, &loaded), SWA_JIT_OK);
  sj_load_finish(&api, &loaded);
  assert_int_equal(sj_load_make(&api, sj_arch_find(90), &plan, "swa_other", image, &refused, &loaded),
                   SWA_JIT_CUDA_ERROR);
  assert_true(refused);
  assert_message_has("cuLibraryGetKernel");
}

/* The image may be read as late as the function's load: whichever call reports it, the cubin is what was refused. */
static void load_refused_late_says_so_and_unloads(void **state)
{
  (void)state;
  static const struct {
    const char *call;
    int result;
  } refusals[] = {{"cuLibraryLoadData", 200},   {"cuLibraryLoadData", 209},  {"cuLibraryLoadData", 300},
                  {"cuLibraryGetKernel", 500},  {"cuLibraryGetKernel", 200}, {"cuKernelSetAttribute", 209},
                  {"cuKernelGetFunction", 209}, {"cuFuncLoad", 200}};
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
    start_one();
    cuda->set_current(0);
    cuda->fail_function(refusals[i].call, 1, refusals[i].result);
    assert_load_fails(90, SWA_JIT_CUDA_ERROR, true);
    assert_message_has(refusals[i].call);
  }
}

/* later: every call after the n-th fails too, those that name errors and that unload included. */
static void fail_each_call(bool later)
{
  static const int devices[2][3] = {{9, 0, 232448}, {9, 0, 232448}};
  unsigned nth = 1;
  for (;; ++nth) {
    sj_loaded loaded = {0};
    bool refused = true;
    start(2, devices);
    cuda->set_current(0);
    (later ? cuda->fail_from : cuda->fail_call)(nth, 999);
    swa_jit_status status = sj_load_make(&api, sj_arch_find(90), &plan, "swa_decode", image, &refused, &loaded);
    assert_false(refused);
    if (!cuda->has_failed()) {
      assert_int_equal(status, SWA_JIT_OK);
      cuda->fail_call(0, 0);
      assert_non_null(sj_load_find_function(&api, &loaded));
      sj_load_finish(&api, &loaded);
      break;
    }
    if (status == SWA_JIT_OK) {
      assert_int_equal(cuda->num_calls("cuCtxGetId"), 1); /* the last call: only the function is not remembered */
      cuda->fail_call(0, 0);
      assert_int_equal(loaded.num_contexts, 0);
      sj_load_finish(&api, &loaded);
      continue;
    }
    assert_int_equal(status, SWA_JIT_CUDA_ERROR);
    assert_message_has(" failed: ");
    assert_null(loaded.library);
    assert_int_equal(cuda->num_calls("cuLibraryUnload"), cuda->num_loads());
    cuda->fail_call(0, 0);
    assert_int_equal(sj_load_make(&api, sj_arch_find(90), &plan, "swa_decode", image, &refused, &loaded), SWA_JIT_OK);
    sj_load_finish(&api, &loaded);
    /* A library whose unload failed is the driver's to keep. */
    assert_int_equal(cuda->num_loaded(), later && cuda->num_loads() > 1 ? 1 : 0);
  }
  /* 8 for the two devices, then load, kernel, 2 attributes, context, its device, function, its load, context's id. */
  assert_int_equal(nth, 8 + 9 + 1);
}

static void load_with_each_call_failing_leaves_nothing_loaded(void **state)
{
  (void)state;
  fail_each_call(false);
}

static void load_with_each_call_and_all_later_failing_still_says_which(void **state)
{
  (void)state;
  fail_each_call(true);
}

static void native_arch_is_that_of_the_current_context(void **state)
{
  (void)state;
  static const int devices[2][3] = {{9, 0, 232448}, {10, 0, 232448}};
  const sj_arch *arch = NULL;
  start(2, devices);
  assert_int_equal(sj_load_native_arch(&api, false, &arch), SWA_JIT_OK);
  assert_string_equal(arch->name, "sm_90a");
  cuda->set_current(1);
  assert_int_equal(sj_load_native_arch(&api, false, &arch), SWA_JIT_OK);
  assert_string_equal(arch->name, "sm_100a");
}

static void native_arch_of_an_unknown_device_is_unsupported(void **state)
{
  (void)state;
  static const int devices[1][3] = {{7, 5, 65536}};
  const sj_arch *arch = NULL;
  start(1, devices);
  assert_int_equal(sj_load_native_arch(&api, false, &arch), SWA_JIT_UNSUPPORTED);
  assert_null(arch);
  assert_message_has("device 0 has compute capability 7.5");
  cuda->set_current(0);
  assert_int_equal(sj_load_native_arch(&api, false, &arch), SWA_JIT_UNSUPPORTED);
  assert_message_has("the current context's device");
}

static void native_arch_with_each_call_failing_is_a_cuda_error(void **state)
{
  (void)state;
  for (int current = -1; current <= 0; ++current) {
    unsigned nth = 1;
    for (;; ++nth) {
      const sj_arch *arch = NULL;
      start_one();
      cuda->set_current(current);
      cuda->fail_call(nth, 999);
      swa_jit_status status = sj_load_native_arch(&api, false, &arch);
      if (!cuda->has_failed()) {
        assert_int_equal(status, SWA_JIT_OK);
        break;
      }
      assert_int_equal(status, SWA_JIT_CUDA_ERROR);
      assert_null(arch);
    }
    assert_int_equal(nth, 5); /* context, device, major, minor, and none failed */
  }
}

int main(void)
{
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    fprintf(stderr, "cannot open %s: build it first\n", CUDA_RECORDING);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(load_without_context_sets_shared_memory_only),
      cmocka_unit_test(load_with_current_context_loads_the_function_there),
      cmocka_unit_test(load_with_context_of_another_device_leaves_it_alone),
      cmocka_unit_test(load_without_the_optional_call_still_gets_the_function),
      cmocka_unit_test(load_where_the_driver_has_no_context_id_remembers_none),
      cmocka_unit_test(add_context_loads_the_function_there_once),
      cmocka_unit_test(add_context_after_a_load_without_one_is_the_first),
      cmocka_unit_test(add_context_that_cannot_run_the_kernel_is_remembered_without_a_function),
      cmocka_unit_test(add_context_at_the_address_of_a_destroyed_one_is_told_apart),
      cmocka_unit_test(add_context_beyond_the_most_asks_the_driver_nothing),
      cmocka_unit_test(add_context_with_each_call_failing_is_cured_by_the_next),
      cmocka_unit_test(load_for_several_devices_serves_those_of_the_architecture),
      cmocka_unit_test(load_where_one_of_two_devices_is_too_small_serves_the_other),
      cmocka_unit_test(load_where_no_device_has_the_shared_memory_is_refused_with_both_figures),
      cmocka_unit_test(load_where_no_device_runs_the_architecture_names_those_there),
      cmocka_unit_test(load_with_an_old_driver_is_refused_before_loading),
      cmocka_unit_test(load_of_no_image_says_that_the_cubin_was_refused),
      cmocka_unit_test(load_asks_for_the_kernel_by_its_name),
      cmocka_unit_test(load_refused_late_says_so_and_unloads),
      cmocka_unit_test(load_with_each_call_failing_leaves_nothing_loaded),
      cmocka_unit_test(load_with_each_call_and_all_later_failing_still_says_which),
      cmocka_unit_test(native_arch_is_that_of_the_current_context),
      cmocka_unit_test(native_arch_of_an_unknown_device_is_unsupported),
      cmocka_unit_test(native_arch_with_each_call_failing_is_a_cuda_error),
  };
  return SJ_TEST_RUN(tests);
}
