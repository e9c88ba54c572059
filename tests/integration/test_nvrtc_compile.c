/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles in earnest, small sources of its own. Skipped where there is no libnvrtc. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture_log.h"
#include "compile.h"
#include "test_main.h"

static sj_nvrtc_api api;

static const char good_source[] =
    "struct params { float *out; int count; };\n"
    "#line 1 \"kernel_templates/swa_decode.cu\"\n"
    "extern \"C\" __global__ void __launch_bounds__(128) swa_decode(const __grid_constant__ params p)\n"
    "{\n"
    "  extern __shared__ float row[];\n"
    "  row[threadIdx.x] = p.out[threadIdx.x];\n"
    "  __syncthreads();\n"
    "  p.out[threadIdx.x] = row[127 - threadIdx.x];\n"
    "}\n";

static void compile_every_architecture_gives_an_elf_image_and_figures(void **state)
{
  (void)state;
  unsigned num_compiled = 0;
  for (unsigned i = 0; sj_arch_at(i) != NULL; i++) {
    sj_compiled compiled;
    swa_jit_status status =
        sj_compile_run(&api, sj_arch_at(i), "swa_decode", good_source, SJ_COMPILE_PTX_WISHED, NULL, &compiled);
    if (api.version_code < sj_arch_at(i)->min_nvrtc) {
      assert_int_equal(status, SWA_JIT_UNSUPPORTED);
      sj_compiled_finish(&compiled);
      continue;
    }
    assert_int_equal(status, SWA_JIT_OK);
    assert_true(compiled.cubin_bytes > 64);
    assert_memory_equal(compiled.cubin, "\177ELF", 4);
    assert_true(compiled.num_registers > 0 && compiled.num_registers <= 255);
    assert_int_equal(compiled.spill_store_bytes, 0);
    assert_non_null(strstr(compiled.ptx, sj_arch_at(i)->name));
    assert_non_null(strstr(compiled.ptx, "swa_decode"));
    assert_non_null(strstr(compiled.log, sj_arch_at(i)->name));
    assert_true(compiled.compile_ns > 0);
    sj_compiled_finish(&compiled);
    num_compiled++;
  }
  assert_true(num_compiled >= 2);
}

static void compile_twice_gives_the_same_bytes(void **state)
{
  (void)state;
  sj_compiled first;
  sj_compiled second;
  const sj_arch *arch = sj_arch_find(SWA_JIT_ARCH_SM_80);
  assert_int_equal(sj_compile_run(&api, arch, "swa_decode", good_source, SJ_COMPILE_PTX_NONE, NULL, &first),
                   SWA_JIT_OK);
  assert_int_equal(sj_compile_run(&api, arch, "swa_decode", good_source, SJ_COMPILE_PTX_NONE, NULL, &second),
                   SWA_JIT_OK);
  assert_int_equal(first.cubin_bytes, second.cubin_bytes);
  assert_memory_equal(first.cubin, second.cubin, first.cubin_bytes);
  sj_compiled_finish(&first);
  sj_compiled_finish(&second);
}

static void compile_to_ptx_alone_gives_the_bytes_of_ptx_beside_a_cubin(void **state)
{
  (void)state;
  for (unsigned i = 0; sj_arch_at(i) != NULL; i++) {
    sj_compiled beside;
    sj_compiled alone;
    if (api.version_code < sj_arch_at(i)->min_nvrtc) {
      continue;
    }
    assert_int_equal(
        sj_compile_run(&api, sj_arch_at(i), "swa_decode", good_source, SJ_COMPILE_PTX_WISHED, NULL, &beside),
        SWA_JIT_OK);
    assert_int_equal(sj_compile_run(&api, sj_arch_at(i), "swa_decode", good_source, SJ_COMPILE_PTX_ALONE, NULL, &alone),
                     SWA_JIT_OK);
    assert_string_equal(alone.ptx, beside.ptx);
    assert_null(alone.cubin);
    assert_string_equal(alone.log, ""); /* no complaint about an option for ptxas */
    sj_compiled_finish(&beside);
    sj_compiled_finish(&alone);
  }
}

/* 255 registers a thread are the most; this one wants 300 values at once. */
static void compile_of_a_greedy_kernel_reports_spills(void **state)
{
  (void)state;
  static const char source[] = "extern \"C\" __global__ void __launch_bounds__(1024) swa_decode(float *p)\n"
                               "{\n"
                               "  float v[300];\n"
                               "#pragma unroll\n"
                               "  for (int i = 0; i < 300; i++) v[i] = p[i * 1024 + threadIdx.x];\n"
                               "  __syncthreads();\n"
                               "#pragma unroll\n"
                               "  for (int i = 0; i < 300; i++) p[threadIdx.x * 300 + i] = v[299 - i] * v[i];\n"
                               "}\n";
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, sj_arch_find(SWA_JIT_ARCH_SM_80), "swa_decode", source, SJ_COMPILE_PTX_NONE,
                                  NULL, &compiled),
                   SWA_JIT_OK);
  assert_true(compiled.num_registers > 0);
  assert_true(compiled.spill_store_bytes > 0);
  assert_true(compiled.spill_load_bytes > 0);
  sj_compiled_finish(&compiled);
}

static void compile_of_a_wrong_source_points_at_its_line(void **state)
{
  (void)state;
  static const char source[] = "typedef unsigned int uint32;\n"
                               "#line 1 \"kernel_templates/kv/e4m3_slot.cuh\"\n"
                               "// a comment\n"
                               "__device__ uint32 convert(uint32 x) { return undefined_name; }\n"
                               "#line 1 \"kernel_templates/swa_decode.cu\"\n"
                               "extern \"C\" __global__ void swa_decode() {}\n";
  capture_log capture;
  sj_compiled compiled;
  capture_log_init(&capture, SWA_JIT_LOG_ERROR);
  assert_int_equal(sj_compile_run(&api, sj_arch_find(SWA_JIT_ARCH_SM_80), "swa_decode", source, SJ_COMPILE_PTX_NONE,
                                  &capture.log, &compiled),
                   SWA_JIT_COMPILE_FAILED);
  assert_non_null(strstr(sj_message(), "kernel_templates/kv/e4m3_slot.cuh(2): error"));
  assert_non_null(strstr(sj_message(), "undefined_name"));
  assert_true(capture_log_has(&capture, ">    4 | __device__ uint32 convert"));
  assert_null(compiled.cubin);
  assert_non_null(strstr(compiled.log, "undefined_name"));
  sj_compiled_finish(&compiled);
  capture_log_finish(&capture);
}

static void compile_with_a_wrong_instruction_carries_ptxas_words(void **state)
{
  (void)state;
  static const char source[] = "extern \"C\" __global__ void swa_decode() { asm volatile(\"bogus.op;\"); }\n";
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, sj_arch_find(SWA_JIT_ARCH_SM_80), "swa_decode", source, SJ_COMPILE_PTX_NONE,
                                  NULL, &compiled),
                   SWA_JIT_COMPILE_FAILED);
  assert_non_null(strstr(sj_message(), "ptxas"));
  assert_non_null(strstr(sj_message(), "bogus"));
  sj_compiled_finish(&compiled);
}

static void compile_with_warnings_only_succeeds(void **state)
{
  (void)state;
  static const char source[] = "extern \"C\" __global__ void swa_decode() { int never_read; }\n";
  sj_compiled compiled;
  assert_int_equal(sj_compile_run(&api, sj_arch_find(SWA_JIT_ARCH_SM_80), "swa_decode", source, SJ_COMPILE_PTX_NONE,
                                  NULL, &compiled),
                   SWA_JIT_OK);
  assert_non_null(strstr(compiled.log, "warning"));
  assert_true(compiled.num_registers > 0);
  sj_compiled_finish(&compiled);
}

static void *compile_in_thread(void *argument)
{
  swa_jit_status *status = argument;
  sj_compiled compiled;
  *status = sj_compile_run(&api, sj_arch_find(SWA_JIT_ARCH_SM_80), "swa_decode", good_source, SJ_COMPILE_PTX_NONE, NULL,
                           &compiled);
  sj_compiled_finish(&compiled);
  return NULL;
}

static void compile_in_two_threads_at_once_succeeds(void **state)
{
  (void)state;
  pthread_t threads[2];
  swa_jit_status statuses[2] = {SWA_JIT_INVALID, SWA_JIT_INVALID};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, &statuses[i]), 0);
  }
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(statuses[i], SWA_JIT_OK);
  }
}

int main(void)
{
  const char *path = getenv("SWA_JIT_NVRTC");
  if (sj_nvrtc_api_open(path, getenv("VIRTUAL_ENV"), 0, NULL, &api) != SWA_JIT_OK) {
    printf("skipped: %s\n", sj_message());
    return SJ_TEST_SKIPPED;
  }
  printf("%s, version %u.%u\n", api.path, api.version_code / 1000, api.version_code % 1000 / 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compile_every_architecture_gives_an_elf_image_and_figures),
      cmocka_unit_test(compile_twice_gives_the_same_bytes),
      cmocka_unit_test(compile_to_ptx_alone_gives_the_bytes_of_ptx_beside_a_cubin),
      cmocka_unit_test(compile_of_a_greedy_kernel_reports_spills),
      cmocka_unit_test(compile_of_a_wrong_source_points_at_its_line),
      cmocka_unit_test(compile_with_a_wrong_instruction_carries_ptxas_words),
      cmocka_unit_test(compile_with_warnings_only_succeeds),
      cmocka_unit_test(compile_in_two_threads_at_once_succeeds),
  };
  return SJ_TEST_RUN(tests);
}
