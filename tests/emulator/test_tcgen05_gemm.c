/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a matrix product as one writes it in CUDA C++ (tcgen05_gemm.cu), compiled by NVRTC for sm_100a: two
 * stages, filled by four warps with 128-byte swizzling, multiplied by a thread of a fifth, handed on by mbarriers, read
 * back from tensor memory. Its result is compared with the sum in doubles; each variant that leaves something out is
 * caught. */
#include "test_main.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "snippet.h"
#include "tensor_kernel.h"
#include "tensor_tile.h"

enum { M = 128, N = 128, TILE = 64, TILES = 5, K = TILE * TILES, SHARED = 1024 + 2 * 32768 };

typedef struct gemm_data {
  uint16_t a[M][K], b[N][K];
  float d[M][N];
} gemm_data;

static gemm_data data;

static void fill_data(uint64_t seed)
{
  tensor_tile_fill(seed, &data.a[0][0], (size_t)(M + N) * K);
  tensor_tile_poison(&data.d[0][0], (size_t)M * N);
}

static unsigned count_wrong(void)
{
  return tensor_tile_count_wrong(&data.a[0][0], &data.b[0][0], &data.d[0][0], M, N, K);
}

static int run(const char *ptx, uint64_t seed, emu_message *message)
{
  fill_data(seed);
  emu_configure(&(emu_settings){seed, 1});
  return snippet_run_kernel("sm_100a", ptx, &data, sizeof data, 1, 160, SHARED, message);
}

static void the_tile_is_the_product(void **state)
{
  (void)state;
  char *ptx = tensor_kernel_compile("gemm", "");
  assert_non_null(ptx);
  for (uint64_t seed = 1; seed <= 20; seed++) {
    emu_message message;
    const int result = run(ptx, seed, &message);
    if (result != EMU_OK) {
      print_message("%s\n", message.text);
    }
    assert_int_equal(result, EMU_OK);
    assert_int_equal(count_wrong(), 0);
  }
  free(ptx);
}

/* says NULL: a wrong result and no fault. */
static const struct {
  const char *what, *definitions, *says;
} faults[] = {
    {"no fence of the proxies", "#define NO_PROXY_FENCE\n", "race: read of shared memory"},
    {"the full stage is not waited for", "#define NO_FULL_WAIT\n", ""},
    {"the empty stage is not waited for", "#define NO_EMPTY_WAIT\n", ""},
    {"the empty stage's phase is flipped", "#define PHASE(t) ((t) / 2 & 1)\n", "deadlock"},
    {"the end is not waited for", "#define NO_DONE_WAIT\n", ""},
    {"the end comes a tile too early", "#define EARLY_DONE\n", "race: this"},
    {"no fence after the barriers", "#define NO_AFTER\n", "tcgen05.fence::after_thread_sync is missing"},
    {"the load is not waited for", "#define NO_LD_WAIT\n", "is read before tcgen05.wait::ld"},
    {"not freed", "#define NO_FREE\n", "tensor memory not freed"},
    {"adds to what was never written", "#define ACCUMULATE(t, k) 1\n", "uninitialised: read of tensor memory"},
    {"a wrong swizzling mode", "#define SWIZZLE 4ull\n", NULL},
    {"a mode that is none", "#define SWIZZLE 5ull\n", "a swizzling mode of 5"},
    {"does not add", "#define ACCUMULATE(t, k) ((t) > 0)\n", NULL},
};

static void each_variant_is_caught(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char *ptx = tensor_kernel_compile("gemm", faults[i].definitions);
    assert_non_null(ptx);
    for (uint64_t seed = 1; seed <= 8; seed++) {
      emu_message message;
      const int result = run(ptx, seed, &message);
      const bool caught = faults[i].says == NULL ? result == EMU_OK && count_wrong() > 0
                                                 : result != EMU_OK && strstr(message.text, faults[i].says) != NULL;
      if (!caught) {
        print_message("%s, seed %u: %d %s\n", faults[i].what, (unsigned)seed, result, message.text);
      }
      assert_true(caught);
    }
    free(ptx);
  }
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_tile_is_the_product),
      cmocka_unit_test(each_variant_is_caught),
  };
  const int ready = tensor_kernel_open(argc, argv);
  if (ready != 0) {
    return ready;
  }
  const int result = SJ_TEST_RUN(tests);
  tensor_kernel_close();
  return result;
}
