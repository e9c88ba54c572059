/* SPDX-License-Identifier: Apache-2.0 */
/* Against a stand-in for NVRTC. tests/integration/test_nvrtc_compile.c compiles in earnest. */
#include "compile.h"

#include <string.h>

#include "capture_log.h"
#include "fake_nvrtc.h"
#include "test_main.h"

enum { ERROR_OUT_OF_MEMORY = 1, ERROR_INVALID_OPTION = 5, ERROR_COMPILATION = 6, ERROR_BUILTINS = 7 };

static const char source[] = "// first\n"
                             "#line 1 \"kernel_templates/swa_config.cuh\"\n"
                             "config line 1\n"
                             "config line 2\n"
                             "#line 1 \"kernel_templates/kv/e4m3_slot.cuh\"\n"
                             "slot line 1\n"
                             "slot line 2\n"
                             "slot line 3\n";

static const sj_arch *arch_100a(void)
{
  return sj_arch_find(SWA_JIT_ARCH_SM_100A);
}

static void options_any_architecture_are_fixed_and_ordered(void **state)
{
  (void)state;
  char storage[64];
  const char *options[SJ_MAX_COMPILE_OPTIONS];
  for (unsigned i = 0; sj_arch_at(i) != NULL; i++) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "--gpu-architecture=%s", sj_arch_at(i)->name);
    assert_int_equal(sj_compile_options(sj_arch_at(i), storage, options), 3);
    assert_string_equal(options[0], wanted);
    assert_string_equal(options[1], "--std=c++17");
    assert_string_equal(options[2], "--ptxas-options=-v");
    assert_null(options[3]);
  }
}

static void run_good_source_gives_cubin_log_and_figures(void **state)
{
  (void)state;
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){0});
  sj_compiled compiled;
  size_t cubin_bytes = 0;
  const void *cubin = fake_nvrtc_cubin(&cubin_bytes);
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_OK);
  assert_int_equal(compiled.cubin_bytes, cubin_bytes);
  assert_memory_equal(compiled.cubin, cubin, cubin_bytes);
  assert_int_equal(compiled.num_registers, FAKE_NVRTC_REGISTERS);
  assert_int_equal(compiled.spill_store_bytes, FAKE_NVRTC_SPILL_STORES);
  assert_int_equal(compiled.spill_load_bytes, FAKE_NVRTC_SPILL_LOADS);
  assert_int_equal(compiled.nvrtc_version, 13000);
  assert_non_null(strstr(compiled.log, "Used 40 registers"));
  assert_null(compiled.ptx);
  assert_int_equal(fake_nvrtc_num_programs(), 0);
  sj_compiled_finish(&compiled);
  assert_null(compiled.cubin);
}

static void run_ptx_alone_gives_ptx_without_cubin_and_figures(void **state)
{
  (void)state;
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){0});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_ALONE, NULL, &compiled),
                   SWA_JIT_OK);
  assert_non_null(strstr(fake_nvrtc_options(), "--gpu-architecture=compute_100a "));
  assert_string_equal(compiled.ptx, FAKE_NVRTC_PTX);
  assert_null(compiled.cubin);
  assert_int_equal(compiled.cubin_bytes, 0);
  assert_int_equal(compiled.num_registers, 0);
  assert_string_equal(compiled.log, "");
  sj_compiled_finish(&compiled);
}

static void run_ptx_beside_a_cubin_gives_both(void **state)
{
  (void)state;
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){0});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_WISHED, NULL, &compiled),
                   SWA_JIT_OK);
  assert_string_equal(compiled.ptx, FAKE_NVRTC_PTX);
  assert_non_null(compiled.cubin);
  assert_int_equal(compiled.num_registers, FAKE_NVRTC_REGISTERS);
  sj_compiled_finish(&compiled);
}

static void run_ptx_wished_and_not_had_is_a_warning(void **state)
{
  (void)state;
  static const fake_nvrtc_call calls[] = {FAKE_NVRTC_GET_PTX_SIZE, FAKE_NVRTC_GET_PTX};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.call = calls[i], .nth = 1, .result = 11});
    sj_compiled compiled;
    capture_log capture;
    capture_log_init(&capture, SWA_JIT_LOG_DEBUG);
    assert_int_equal(
        sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_WISHED, &capture.log, &compiled),
        SWA_JIT_OK);
    assert_true(fake_nvrtc_has_failed());
    assert_non_null(compiled.cubin);
    assert_null(compiled.ptx);
    assert_int_equal(compiled.num_registers, FAKE_NVRTC_REGISTERS);
    assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_WARN), 1);
    assert_true(capture_log_has(&capture, "the PTX could not be dumped"));
    assert_true(capture_log_has(&capture, "nvrtcGetPTX failed with 11"));
    sj_compiled_finish(&compiled);
    capture_log_finish(&capture);
  }
}

static void run_options_are_asked_of_versions_that_know_them(void **state)
{
  (void)state;
  static const struct {
    unsigned version_code;
    const char *options;
  } rows[] = {
      {12030, ""},
      {12040, " --minimal"},
      {12080, " --minimal"},
      {12090, " --minimal --no-cache"},
  };
  const sj_arch *arch = sj_arch_find(SWA_JIT_ARCH_SM_90A);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char expected[128];
    snprintf(expected, sizeof expected, "--gpu-architecture=sm_90a --std=c++17 --ptxas-options=-v%s", rows[i].options);
    sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.version_code = rows[i].version_code});
    sj_compiled compiled;
    assert_int_equal(sj_compile_run(&api, arch, "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                     SWA_JIT_OK);
    assert_string_equal(fake_nvrtc_options(), expected);
    sj_compiled_finish(&compiled);
  }
}

static void run_old_nvrtc_is_unsupported_before_compiling(void **state)
{
  (void)state;
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.version_code = 12040});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_UNSUPPORTED);
  assert_non_null(strstr(sj_message(), "12.4"));
  assert_non_null(strstr(sj_message(), "sm_100a"));
  assert_non_null(strstr(sj_message(), "12.8"));
  assert_non_null(strstr(sj_message(), "SWA_JIT_NVRTC"));
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_CREATE_PROGRAM), 0);
  sj_compiled_finish(&compiled);
}

static void run_unlisted_architecture_is_unsupported_before_compiling(void **state)
{
  (void)state;
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.last_arch = 90});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_UNSUPPORTED);
  assert_non_null(strstr(sj_message(), "sm_100a"));
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_CREATE_PROGRAM), 0);
  sj_compiled_finish(&compiled);
}

/* One compile that NVRTC refuses with result and log. */
static swa_jit_status run_failing(int result, const char *log, capture_log *capture, sj_compiled *compiled)
{
  sj_nvrtc_api api =
      fake_nvrtc_start((fake_nvrtc_plan){.call = FAKE_NVRTC_COMPILE_PROGRAM, .nth = 1, .result = result, .log = log});
  capture_log_init(capture, SWA_JIT_LOG_DEBUG);
  swa_jit_status status =
      sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, &capture->log, compiled);
  assert_int_equal(fake_nvrtc_num_programs(), 0);
  return status;
}

static void run_wrong_source_carries_lines_and_logs_numbered_source(void **state)
{
  (void)state;
  static const char log[] = "kernel_templates/swa_config.cuh(1): warning #177-D: variable \"x\" was declared\n"
                            "\n"
                            "kernel_templates/kv/e4m3_slot.cuh(2): error: identifier \"y\" is undefined\n"
                            "  slot line 2\n"
                            "1 error detected in the compilation of \"swa_decode.cu\".\n";
  capture_log capture;
  sj_compiled compiled;
  assert_int_equal(run_failing(ERROR_COMPILATION, log, &capture, &compiled), SWA_JIT_COMPILE_FAILED);
  assert_non_null(strstr(sj_message(), "kernel_templates/kv/e4m3_slot.cuh(2): error: identifier \"y\" is undefined"));
  assert_non_null(strstr(sj_message(), "sm_100a"));
  assert_null(strstr(sj_message(), "warning"));
  assert_true(capture_log_has(&capture, "7 | slot line 2"));
  assert_true(capture_log_has(&capture, "4 | config line 2"));
  assert_false(capture_log_has(&capture, "1 | // first"));
  assert_string_equal(compiled.log, log);
  assert_null(compiled.cubin);
  sj_compiled_finish(&compiled);
  capture_log_finish(&capture);
}

static void run_error_before_any_directive_is_found_by_program_name(void **state)
{
  (void)state;
  capture_log capture;
  sj_compiled compiled;
  assert_int_equal(run_failing(ERROR_COMPILATION, "swa_decode.cu(1): error: no\n", &capture, &compiled),
                   SWA_JIT_COMPILE_FAILED);
  assert_true(capture_log_has(&capture, "1 | // first"));
  sj_compiled_finish(&compiled);
  capture_log_finish(&capture);
}

/* ptxas counts lines of the PTX, and a place may be nowhere in the source: the message is all there is. */
static void run_error_without_place_logs_no_source(void **state)
{
  (void)state;
  static const char *const logs[] = {
      "ptxas application ptx input, line 20; error   : Unknown modifier '.op'\n",
      "elsewhere.cuh(2): error: no\n",
      "kernel_templates/kv/e4m3_slot.cuh(99999999999999999999): error: no\n",
      "kernel_templates/kv/e4m3_slot.cuh(4): error: past the part\n",
      "): error\n",
      "error",
      "",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    capture_log capture;
    sj_compiled compiled;
    assert_int_equal(run_failing(ERROR_COMPILATION, logs[i], &capture, &compiled), SWA_JIT_COMPILE_FAILED);
    assert_int_equal(capture_log_count(&capture, SWA_JIT_LOG_ERROR), 0);
    size_t length = strcspn(logs[i], "\n");
    char line[128];
    snprintf(line, sizeof line, "%.*s", (int)length, logs[i]);
    assert_non_null(strstr(sj_message(), line));
    sj_compiled_finish(&compiled);
    capture_log_finish(&capture);
  }
}

static void run_long_report_is_cut_in_the_message_and_kept_in_the_log(void **state)
{
  (void)state;
  char log[8192];
  memset(log, 'x', sizeof log);
  memcpy(log, "error ", 6);
  log[sizeof log - 1] = '\0';
  capture_log capture;
  sj_compiled compiled;
  assert_int_equal(run_failing(ERROR_COMPILATION, log, &capture, &compiled), SWA_JIT_COMPILE_FAILED);
  assert_true(strlen(sj_message()) < 4000);
  assert_string_equal(compiled.log, log);
  sj_compiled_finish(&compiled);
  capture_log_finish(&capture);
}

/* What another attempt may cure must not look like a wrong source. */
static void run_broken_compiler_is_no_compiler_with_its_log(void **state)
{
  (void)state;
  const int results[] = {ERROR_INVALID_OPTION, ERROR_BUILTINS, 11};
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    capture_log capture;
    sj_compiled compiled;
    assert_int_equal(run_failing(results[i], "failed to open libnvrtc-builtins.so.13.0", &capture, &compiled),
                     SWA_JIT_NO_COMPILER);
    assert_non_null(strstr(sj_message(), "nvrtcCompileProgram"));
    assert_non_null(strstr(sj_message(), "NVRTC_ERROR_FAKE"));
    assert_non_null(strstr(sj_message(), "failed to open libnvrtc-builtins.so.13.0"));
    sj_compiled_finish(&compiled);
    capture_log_finish(&capture);
  }
}

static void run_compiler_out_of_memory_is_out_of_memory(void **state)
{
  (void)state;
  capture_log capture;
  sj_compiled compiled;
  assert_int_equal(run_failing(ERROR_OUT_OF_MEMORY, "", &capture, &compiled), SWA_JIT_OUT_OF_MEMORY);
  sj_compiled_finish(&compiled);
  capture_log_finish(&capture);
}

/* NVRTC answers the size of a cubin that it did not make with success and 0. */
static void run_empty_cubin_is_no_success(void **state)
{
  (void)state;
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.empty_cubin = 1});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "0 bytes"));
  sj_compiled_finish(&compiled);
}

/* The number of calls whose failure is one of the compile. */
static unsigned fail_each_call(sj_compile_ptx ptx)
{
  unsigned num_failures = 0;
  for (unsigned nth = 1;; nth++) {
    sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.nth = nth, .result = 11});
    sj_compiled compiled;
    swa_jit_status status = sj_compile_run(&api, arch_100a(), "swa_decode", source, ptx, NULL, &compiled);
    assert_int_equal(fake_nvrtc_num_programs(), 0);
    sj_compiled_finish(&compiled);
    if (!fake_nvrtc_has_failed()) {
      assert_int_equal(status, SWA_JIT_OK);
      return num_failures;
    }
    if (status != SWA_JIT_OK) {
      assert_int_equal(status, SWA_JIT_NO_COMPILER);
      assert_non_null(strstr(sj_message(), "NVRTC_ERROR_FAKE"));
      num_failures++;
    }
  }
}

static void run_each_call_failing_is_a_status_and_leaks_nothing(void **state)
{
  (void)state;
  /* All but the log's two calls and the program's end: two for the architectures, two before and two for each product.
   * A cubin does without the PTX that was wished for. */
  assert_int_equal(fail_each_call(SJ_COMPILE_PTX_NONE), 6);
  assert_int_equal(fail_each_call(SJ_COMPILE_PTX_WISHED), 6);
  assert_int_equal(fail_each_call(SJ_COMPILE_PTX_ALONE), 6);
}

static void run_log_unavailable_still_gives_the_cubin(void **state)
{
  (void)state;
  static const fake_nvrtc_call calls[] = {FAKE_NVRTC_GET_LOG_SIZE, FAKE_NVRTC_GET_LOG, FAKE_NVRTC_DESTROY_PROGRAM};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.call = calls[i], .nth = 1, .result = 11});
    sj_compiled compiled;
    assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                     SWA_JIT_OK);
    assert_true(fake_nvrtc_has_failed());
    assert_non_null(compiled.cubin);
    assert_non_null(compiled.log);
    sj_compiled_finish(&compiled);
  }
}

/* The figures of log, for a compile that went well. */
static sj_compiled read_figures(const char *log)
{
  sj_nvrtc_api api = fake_nvrtc_start((fake_nvrtc_plan){.log = log});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_OK);
  sj_compiled figures = {.num_registers = compiled.num_registers,
                         .spill_store_bytes = compiled.spill_store_bytes,
                         .spill_load_bytes = compiled.spill_load_bytes};
  sj_compiled_finish(&compiled);
  return figures;
}

static void run_report_of_other_functions_is_not_the_kernels(void **state)
{
  (void)state;
  sj_compiled figures =
      read_figures("ptxas info    : Compiling entry function 'other' for 'sm_100a'\n"
                   "ptxas info    : Function properties for other\n"
                   "ptxas         .     0 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
                   "ptxas info    : Used 3 registers, used 0 barriers\n"
                   "ptxas info    : Compiling entry function 'swa_decode' for 'sm_100a'\n"
                   "ptxas info    : Function properties for swa_decode\n"
                   "    32 bytes stack frame, 44 bytes spill stores, 48 bytes spill loads\n"
                   "ptxas info    : Used 168 registers, used 1 barriers, 32 bytes cumulative stack size\n"
                   "ptxas info    : Function properties for _Z1ff_swa_decode\n"
                   "ptxas         .     0 bytes stack frame, 5 bytes spill stores, 6 bytes spill loads\n"
                   "ptxas info    : Compiling entry function 'later' for 'sm_100a'\n"
                   "ptxas info    : Used 7 registers, used 0 barriers\n");
  assert_int_equal(figures.num_registers, 168);
  assert_int_equal(figures.spill_store_bytes, 44);
  assert_int_equal(figures.spill_load_bytes, 48);
}

static void run_report_is_read_for_the_kernel_named(void **state)
{
  (void)state;
  sj_nvrtc_api api =
      fake_nvrtc_start((fake_nvrtc_plan){.log = "ptxas info    : Compiling entry function 'swa_merge' for 'sm_100a'\n"
                                                "ptxas info    : Function properties for swa_merge\n"
                                                "    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
                                                "ptxas info    : Used 64 registers, used 0 barriers\n"});
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_merge", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_OK);
  assert_int_equal(compiled.num_registers, 64);
  assert_int_equal(compiled.spill_store_bytes, 4);
  assert_int_equal(compiled.spill_load_bytes, 8);
  sj_compiled_finish(&compiled);
  assert_int_equal(sj_compile_run(&api, arch_100a(), "swa_decode", source, SJ_COMPILE_PTX_NONE, NULL, &compiled),
                   SWA_JIT_OK);
  assert_int_equal(compiled.num_registers, 0);
  sj_compiled_finish(&compiled);
}

static void run_report_absent_or_odd_gives_zeros(void **state)
{
  (void)state;
  static const char *const logs[] = {
      "",
      "a warning about nothing\n",
      "Compiling entry function 'swa_decode'\nUsed many registers\n",
      "Compiling entry function 'swa_decode'\nUsed 99999999999 registers",
      "Function properties for swa_decode\n bytes spill stores,  bytes spill loads",
      "Function properties for ",
  };
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    sj_compiled figures = read_figures(logs[i]);
    assert_int_equal(figures.num_registers, 0);
    assert_int_equal(figures.spill_store_bytes, 0);
    assert_int_equal(figures.spill_load_bytes, 0);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_any_architecture_are_fixed_and_ordered),
      cmocka_unit_test(run_good_source_gives_cubin_log_and_figures),
      cmocka_unit_test(run_ptx_alone_gives_ptx_without_cubin_and_figures),
      cmocka_unit_test(run_ptx_beside_a_cubin_gives_both),
      cmocka_unit_test(run_ptx_wished_and_not_had_is_a_warning),
      cmocka_unit_test(run_options_are_asked_of_versions_that_know_them),
      cmocka_unit_test(run_old_nvrtc_is_unsupported_before_compiling),
      cmocka_unit_test(run_unlisted_architecture_is_unsupported_before_compiling),
      cmocka_unit_test(run_wrong_source_carries_lines_and_logs_numbered_source),
      cmocka_unit_test(run_error_before_any_directive_is_found_by_program_name),
      cmocka_unit_test(run_error_without_place_logs_no_source),
      cmocka_unit_test(run_long_report_is_cut_in_the_message_and_kept_in_the_log),
      cmocka_unit_test(run_broken_compiler_is_no_compiler_with_its_log),
      cmocka_unit_test(run_compiler_out_of_memory_is_out_of_memory),
      cmocka_unit_test(run_empty_cubin_is_no_success),
      cmocka_unit_test(run_each_call_failing_is_a_status_and_leaks_nothing),
      cmocka_unit_test(run_log_unavailable_still_gives_the_cubin),
      cmocka_unit_test(run_report_of_other_functions_is_not_the_kernels),
      cmocka_unit_test(run_report_is_read_for_the_kernel_named),
      cmocka_unit_test(run_report_absent_or_odd_gives_zeros),
  };
  return SJ_TEST_RUN(tests);
}
