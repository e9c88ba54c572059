/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of a matrix product by a pair of blocks (tcgen05_pair.cu), compiled by NVRTC for sm_100a: cta_group::2, each
 * block's half of the operands in its own shared memory, arrivals from one block in the other, commits to both. */
#include "test_main.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "snippet.h"
#include "tensor_kernel.h"
#include "tensor_tile.h"

enum { M = 256, N = 128, TILE = 64, TILES = 5, K = TILE * TILES, SHARED = 1024 + 2 * 24576 };

typedef struct pair_data {
  uint16_t a[M][K], b[N][K];
  float d[M][N];
} pair_data;

#define GROUP "#define GROUP \"2\"\n"

static pair_data data;

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
  return snippet_run_kernel("sm_100a", ptx, &data, sizeof data, 2, 160, SHARED, message);
}

static void the_pair_gives_the_product(void **state)
{
  (void)state;
  char *ptx = tensor_kernel_compile("product_pair", GROUP);
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

static const struct {
  const char *what, *definitions, *says;
} faults[] = {
    {"no fence of the proxies", GROUP "#define NO_PROXY_FENCE\n", "race: read of shared memory"},
    {"one block's half alone is waited for", GROUP "#define HALF_FULL\n", ""},
    {"the commit goes to one block", GROUP "#define MASK 1\n", "deadlock"},
    {"the end is not waited for", GROUP "#define NO_DONE_WAIT\n", ""},
    {"no fence after the barriers", GROUP "#define NO_AFTER\n", "tcgen05.fence::after_thread_sync is missing"},
};

static void each_variant_is_caught(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char *ptx = tensor_kernel_compile("product_pair", faults[i].definitions);
    assert_non_null(ptx);
    for (uint64_t seed = 1; seed <= 8; seed++) {
      emu_message message;
      const int result = run(ptx, seed, &message);
      const bool caught = result != EMU_OK && strstr(message.text, faults[i].says) != NULL;
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
      cmocka_unit_test(the_pair_gives_the_product),
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
