/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-computed cases of the KV formats of the reference. */
#include "test_main.h"

#include <math.h>
#include <string.h>

#include "kv_formats.h"

enum { DIM = SJ_REFERENCE_FOOTER_DIM, CODE_1 = 0x38, CODE_MINUS_2 = 0xC0, CODE_448 = 0x7E, CODE_NAN = 0x7F };

static void e8m0_of_known_bytes_is_exact(void **state)
{
  (void)state;
  assert_true(sj_reference_e8m0(127) == 1.0);
  assert_true(sj_reference_e8m0(128) == 2.0);
  assert_true(sj_reference_e8m0(120) == 0.0078125);
  assert_true(sj_reference_e8m0(0) == ldexp(1.0, -127)); /* a subnormal float, not 0 */
  assert_true(sj_reference_e8m0(254) == ldexp(1.0, 127));
  assert_true(isnan(sj_reference_e8m0(255)));
}

static void sizes_are_those_that_engines_use(void **state)
{
  (void)state;
  assert_int_equal(sj_reference_row_bytes(SWA_JIT_KV_E4M3, 192), 192);
  assert_int_equal(sj_reference_row_bytes(SWA_JIT_KV_BF16, 192), 384);
  assert_int_equal(sj_reference_row_bytes(SWA_JIT_KV_FOOTER_584, DIM), 576);
  assert_int_equal(sj_reference_row_bytes(SWA_JIT_KV_FOOTER_528, DIM), 512);
  assert_int_equal(sj_reference_block_bytes(SWA_JIT_KV_FOOTER_584, DIM, 64), 37376);
  assert_int_equal(sj_reference_block_bytes(SWA_JIT_KV_FOOTER_528, DIM, 32), 16896);
  assert_int_equal(sj_reference_block_bytes(SWA_JIT_KV_BF16, 64, 3), 384);
}

static void bf16_row_is_read_at_its_stride(void **state)
{
  static const uint16_t block[2][4] = {{0x3F80, 0x4000, 0, 0}, {0xBF80, 0x7F80, 0, 0}};
  double row[2];
  (void)state;
  sj_reference_read_row(SWA_JIT_KV_BF16, (const uint8_t *)block, 2, 1, 8, 2, 5.0, row);
  assert_true(row[0] == -1.0 && isinf(row[1])); /* no scale */
  sj_reference_read_row(SWA_JIT_KV_BF16, (const uint8_t *)block, 4, 1, 0, 2, 1.0, row);
  assert_true(row[0] == 0.0 && row[1] == 0.0); /* packed: the second pair */
}

static void e4m3_row_is_multiplied_by_its_scale(void **state)
{
  static const uint8_t block[4] = {CODE_1, CODE_MINUS_2, CODE_448, CODE_NAN};
  double row[2];
  (void)state;
  sj_reference_read_row(SWA_JIT_KV_E4M3, block, 2, 0, 0, 2, 0.5, row);
  assert_true(row[0] == 0.5 && row[1] == -1.0);
  sj_reference_read_row(SWA_JIT_KV_E4M3, block, 2, 1, 0, 2, -2.0, row);
  assert_true(row[0] == -896.0 && isnan(row[1]));
}

/* Two slots: the scales of both lie behind the rows of both, so that a reader of interleaved scales goes wrong. */
static void footer_584_row_has_its_scales_behind_the_blocks_rows(void **state)
{
  uint8_t block[2 * 584];
  double row[DIM];
  (void)state;
  memset(block, 0, sizeof block);
  memset(block + 576, CODE_1, 448);
  block[576 + 448 + 2 * 63 + 1] = 0x40; /* the last of 64 bf16: 2 */
  uint8_t *scales = block + 2 * 576 + 8;
  for (int i = 0; i < 7; i++) {
    scales[i] = (uint8_t)(127 + i);
  }
  scales[7] = 255; /* the pad counts for nothing */
  sj_reference_read_row(SWA_JIT_KV_FOOTER_584, block, 2, 1, 0, DIM, 3.0, row);
  for (int d = 0; d < 448; d++) {
    assert_true(row[d] == (double)(1 << (d / 64)));
  }
  assert_true(row[448] == 0.0 && row[510] == 0.0 && row[511] == 2.0);
  sj_reference_read_row(SWA_JIT_KV_FOOTER_584, block, 2, 0, 0, DIM, 3.0, row);
  assert_true(row[0] == 0.0 && row[511] == 0.0);
}

static void footer_528_row_has_a_scale_for_every_32_elements(void **state)
{
  uint8_t block[3 * 528];
  double row[DIM];
  (void)state;
  memset(block, CODE_1, 3 * 512);
  memset(block + 3 * 512, 127, 3 * 16);
  block[3 * 512 + 2 * 16 + 15] = 130;
  block[3 * 512 + 2 * 16] = 255;
  sj_reference_read_row(SWA_JIT_KV_FOOTER_528, block, 3, 2, 0, DIM, 1.0, row);
  assert_true(isnan(row[0]) && isnan(row[31]) && row[32] == 1.0 && row[479] == 1.0);
  assert_true(row[480] == 8.0 && row[511] == 8.0);
  sj_reference_read_row(SWA_JIT_KV_FOOTER_528, block, 3, 1, 0, DIM, 1.0, row);
  assert_true(row[0] == 1.0 && row[511] == 1.0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(e8m0_of_known_bytes_is_exact),
      cmocka_unit_test(sizes_are_those_that_engines_use),
      cmocka_unit_test(bf16_row_is_read_at_its_stride),
      cmocka_unit_test(e4m3_row_is_multiplied_by_its_scale),
      cmocka_unit_test(footer_584_row_has_its_scales_behind_the_blocks_rows),
      cmocka_unit_test(footer_528_row_has_a_scale_for_every_32_elements),
  };
  return SJ_TEST_RUN(tests);
}
