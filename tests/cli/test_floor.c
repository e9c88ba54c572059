/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-bench's own kernels compile for the architectures they are measured on. */
#include <stdlib.h>
#include <string.h>

#include "floor_source.h"
#include "nvrtc.h"
#include "nvrtc_api.h"
#include "status.h"
#include "test_main.h"

static char nvrtc_path[512];

static void compile_floor(const char *arch, const char *head_dim, const char *window_size)
{
  const char *const options[] = {arch, head_dim, window_size, "--std=c++17"};
  char message[2000] = "";
  char *cubin = NULL;
  if (!bench_nvrtc_compile(nvrtc_path, bench_floor_source, "floor.cu", options, 4, &cubin, message, sizeof message)) {
    fail_msg("%s: %s", arch, message);
  }
  assert_memory_equal(cubin, "\177ELF", 4);
  free(cubin);
}

static void floor_compiles_for_each_architecture(void **state)
{
  (void)state;
  compile_floor("--gpu-architecture=sm_80", "-DHEAD_DIM=64", "-DWINDOW_SIZE=1");
  compile_floor("--gpu-architecture=sm_90a", "-DHEAD_DIM=512", "-DWINDOW_SIZE=128");
  compile_floor("--gpu-architecture=sm_100a", "-DHEAD_DIM=96", "-DWINDOW_SIZE=129");
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
