/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench's own kernels compile for the architectures they are measured on. */
#include <stdlib.h>
#include <string.h>

#include "floor_source.h"
#include "kernels.h"
#include "nvrtc.h"
#include "nvrtc_api.h"
#include "status.h"
#include "test_main.h"

static char nvrtc_path[512];

static void compile_floor(const char *arch, uint32_t shared_bytes, const bench_tensors *tensors)
{
  char macros[BENCH_NUM_MACROS][BENCH_MACRO_SIZE];
  const char *options[BENCH_NUM_MACROS + 2];
  char message[2000] = "";
  char *cubin = NULL;
  bench_kernels_macros(tensors, shared_bytes, macros);
  for (int i = 0; i < BENCH_NUM_MACROS; i++) {
    options[i] = macros[i];
  }
  options[BENCH_NUM_MACROS] = arch;
  options[BENCH_NUM_MACROS + 1] = "--std=c++17";
  if (!bench_nvrtc_compile(nvrtc_path, bench_floor_source, "floor.cu", options, BENCH_NUM_MACROS + 2, &cubin, message,
                           sizeof message)) {
    fail_msg("%s: %s", arch, message);
  }
  assert_memory_equal(cubin, "\177ELF", 4);
  free(cubin);
}

static void floor_compiles_for_each_architecture(void **state)
{
  const bench_tensors narrow = {
      .head_dim = 64, .out_dim = 64, .window_size = 1, .k = bench_pool_plan(SWA_JIT_KV_E4M3, 64, 1, 1, 100, 0)};
  const bench_tensors usual = {.head_dim = 512,
                               .out_dim = 512,
                               .window_size = 128,
                               .k = bench_pool_plan(SWA_JIT_KV_E4M3_SLOT, 512, 1, 64, 1024, 0)};
  (void)state;
  compile_floor("--gpu-architecture=sm_80", 166912, &narrow);
  compile_floor("--gpu-architecture=sm_90a", 232448, &usual);
  compile_floor("--gpu-architecture=sm_120a", 101376, &usual);
}

static void floor_compiles_for_every_form_of_problem(void **state)
{
  const bench_tensors own_v = {.head_dim = 192,
                               .out_dim = 128,
                               .window_size = 129,
                               .k = bench_pool_plan(SWA_JIT_KV_BF16, 192, 8, 16, 1024, 0),
                               .v = bench_pool_plan(SWA_JIT_KV_BF16, 128, 8, 16, 1024, 0)};
  const bench_tensors footers = {.head_dim = 512,
                                 .out_dim = 512,
                                 .window_size = 128,
                                 .extra_size = 1024,
                                 .k = bench_pool_plan(SWA_JIT_KV_FOOTER_584, 512, 1, 64, 1024, 0),
                                 .extra = bench_pool_plan(SWA_JIT_KV_FOOTER_528, 512, 1, 2, 1024, 0)};
  (void)state;
  compile_floor("--gpu-architecture=sm_90a", 232448, &own_v);
  compile_floor("--gpu-architecture=sm_100a", 232448, &footers);
}

static void floor_with_an_error_tells_the_compilers_lines(void **state)
{
  const char *const options[] = {"-DHEAD_DIM=nonsense"};
  char message[2000] = "";
  char *cubin = NULL;
  (void)state;
  assert_false(
      bench_nvrtc_compile(nvrtc_path, bench_floor_source, "floor.cu", options, 1, &cubin, message, sizeof message));
  assert_non_null(strstr(message, "nonsense"));
  assert_null(cubin);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(floor_compiles_for_each_architecture),
      cmocka_unit_test(floor_compiles_for_every_form_of_problem),
      cmocka_unit_test(floor_with_an_error_tells_the_compilers_lines),
  };
  static sj_nvrtc_api api;

  if (sj_nvrtc_api_open(getenv("SWA_JIT_NVRTC"), NULL, 0, NULL, &api) != SWA_JIT_OK) {
    printf("skipped: %s\n", sj_message());
    return SJ_TEST_SKIPPED;
  }
  snprintf(nvrtc_path, sizeof nvrtc_path, "%s", api.path);
  int status = SJ_TEST_RUN(tests);
  sj_nvrtc_api_close(&api);
  return status;
}
