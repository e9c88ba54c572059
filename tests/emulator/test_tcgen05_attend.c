/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline of products as an attention kernel has it, in CUDA C++ (tcgen05_attend.cu), compiled by NVRTC for sm_100a:
 * the scores go from tensor memory through registers back to tensor memory, where they are the left operand of the next
 * product. The result is compared with the sum in doubles; each variant that leaves something out is caught. */
#include "test_main.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "snippet.h"
#include "tensor_kernel.h"

enum { HEADS = 128, DIM = 64, ROWS = 6 * 64, SHARED = 1024 + (HEADS + 2 * 64) * 2 * DIM };

typedef struct attend_data {
  uint16_t q[HEADS][DIM], keys[ROWS][DIM];
  float o[HEADS][DIM];
} attend_data;

static attend_data data;

static void fill_data(uint64_t seed)
{
  uint64_t state = seed;
  uint16_t *values = &data.q[0][0];
  for (size_t i = 0; i < (size_t)(HEADS + ROWS) * DIM; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    values[i] = (uint16_t)((state >> 63) << 15 | (124 + (state >> 40) % 4) << 7 | (state >> 50 & 127));
  }
  for (size_t i = 0; i < (size_t)HEADS * DIM; i++) {
    (&data.o[0][0])[i] = NAN;
  }
}

/* Values beyond the bound: of f32 sums, and of two values of P that are a bf16 step off because their score's f32 sum
 * lies on the other side of a tie. */
static unsigned count_wrong(void)
{
  unsigned wrong = 0;
  for (unsigned h = 0; h < HEADS; h++) {
    double o[DIM] = {0}, size[DIM] = {0}, most[DIM] = {0};
    for (unsigned row = 0; row < ROWS; row++) {
      double s = 0;
      for (unsigned d = 0; d < DIM; d++) {
        s += (double)emu_bf16_value(data.q[h][d]) * (double)emu_bf16_value(data.keys[row][d]);
      }
      const double p = (double)emu_bf16_value(emu_to_bf16((float)(s / 8)));
      for (unsigned d = 0; d < DIM; d++) {
        const double product = p * (double)emu_bf16_value(data.keys[row][d]);
        o[d] += product;
        size[d] += fabs(product);
        most[d] = fmax(most[d], fabs(product));
      }
    }
    for (unsigned d = 0; d < DIM; d++) {
      wrong += !(fabs((double)data.o[h][d] - o[d]) <= size[d] * (ROWS / 16) * 0x1p-24 + 2 * most[d] * 0x1p-8);
    }
  }
  return wrong;
}

static int run(const char *ptx, uint64_t seed, emu_message *message)
{
  fill_data(seed);
  emu_configure(&(emu_settings){seed, 1});
  return snippet_run_kernel("sm_100a", ptx, &data, sizeof data, 1, 192, SHARED, message);
}

static void the_pipeline_gives_the_products(void **state)
{
  (void)state;
  char *ptx = tensor_kernel_compile("attend", "");
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
    {"P is not waited for by the issuer", "#define NO_P_WAIT\n", ""},
    {"P's store is not waited for", "#define NO_ST_WAIT\n", "tcgen05.wait::st is missing behind it"},
    {"no fence before the arrivals", "#define NO_BEFORE\n", "tcgen05.fence::before_thread_sync"},
    {"the scores are not waited for", "#define NO_S_WAIT\n", ""},
    {"keys are overwritten under the product", "#define NO_K_EMPTY\n", ""},
    {"keys are not waited for", "#define NO_K_FULL\n", ""},
};

static void each_variant_is_caught(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    char *ptx = tensor_kernel_compile("attend", faults[i].definitions);
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
      cmocka_unit_test(the_pipeline_gives_the_products),
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
