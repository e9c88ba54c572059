/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-computed cases of the KV formats of the reference. Report 53: the test's own reference was wrong. */
#include "test_main.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kv_formats.h"
#include "reference.h"

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

/* ---- how engines write ---- */

/* The finite code nearest to a magnitude, the even one of two, by trying all: independent of the encoder's
 * arithmetic. */
static uint8_t nearest_e4m3(double magnitude)
{
  uint8_t best = 0;
  for (uint8_t code = 1; code <= 0x7E; code++) {
    double now = fabs(sj_reference_e4m3(code) - magnitude);
    double before = fabs(sj_reference_e4m3(best) - magnitude);
    if (now < before || (now == before && code % 2 == 0)) {
      best = code;
    }
  }
  return best;
}

static void e4m3_code_of_a_code_is_itself(void **state)
{
  (void)state;
  for (unsigned code = 0; code < 256; code++) {
    if ((code & 0x7F) != 0x7F) {
      assert_int_equal(sj_reference_e4m3_from_double(sj_reference_e4m3((uint8_t)code)), code);
    }
  }
}

static void e4m3_between_two_codes_is_the_nearer_or_the_even(void **state)
{
  (void)state;
  for (uint8_t code = 0; code < 0x7E; code++) {
    double low = sj_reference_e4m3(code);
    double high = sj_reference_e4m3((uint8_t)(code + 1));
    for (int step = 1; step < 16; step++) {
      double value = low + (high - low) * step / 16.0;
      assert_int_equal(sj_reference_e4m3_from_double(value), nearest_e4m3(value));
      assert_int_equal(sj_reference_e4m3_from_double(-value), 0x80 | nearest_e4m3(value));
    }
  }
}

static void e4m3_beyond_its_range_saturates_and_nan_stays_nan(void **state)
{
  (void)state;
  assert_int_equal(sj_reference_e4m3_from_double(449.0), 0x7E);
  assert_int_equal(sj_reference_e4m3_from_double(-1e30), 0xFE);
  assert_int_equal(sj_reference_e4m3_from_double(INFINITY), 0x7E);
  assert_int_equal(sj_reference_e4m3_from_double(NAN), 0x7F);
  assert_int_equal(sj_reference_e4m3_from_double(0.0), 0x00);
  assert_int_equal(sj_reference_e4m3_from_double(-0.0), 0x80);
  assert_int_equal(sj_reference_e4m3_from_double(1e-30), 0x00);
}

/* On paper: 448 fits at 2^0; just above it needs 2^1; 3.5 = 448 / 128 needs 2^-7; zeros count as 1e-4. */
static void scale_bytes_are_the_least_that_fit(void **state)
{
  (void)state;
  assert_int_equal(sj_reference_scale_byte(448.0), 127);
  assert_int_equal(sj_reference_scale_byte(448.1), 128);
  assert_int_equal(sj_reference_scale_byte(3.5), 120);
  assert_int_equal(sj_reference_scale_byte(3.4), 120);
  assert_int_equal(sj_reference_scale_byte(1.75), 119);
  assert_int_equal(sj_reference_scale_byte(0.0), 105); /* 1e-4 / 448 = 2.2e-7, above 2^-23 */
  assert_true(sj_reference_e4m3_scale(896.0) == 2.0);
  assert_true(sj_reference_e4m3_scale(0.0) == 1e-4 / 448.0);
}

/* Rows of two slots; each format reads back what it wrote, to its rounding, and leaves the other slot alone. */
static void row_written_is_read_back(void **state)
{
  static const uint32_t formats[] = {SWA_JIT_KV_E4M3_SLOT, SWA_JIT_KV_E4M3, SWA_JIT_KV_BF16, SWA_JIT_KV_FOOTER_584,
                                     SWA_JIT_KV_FOOTER_528};
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    uint8_t block[2 * 2 * DIM];
    uint8_t before[sizeof block];
    double row[DIM], back[DIM], zero[DIM] = {0};
    for (int d = 0; d < DIM; d++) { /* groups of very different sizes, as footers are for */
      row[d] = (d % 2 == 0 ? 1.0 : -1.0) * (1.0 + d % 13) * exp2(d / 64 - 4);
    }
    double scale = sj_reference_e4m3_scale(sj_reference_largest(row, DIM));
    memset(block, 0, sizeof block);
    sj_reference_write_row(formats[i], block, 2, 1, 0, DIM, 1.0, zero);
    memcpy(before, block, sizeof block);
    sj_reference_write_row(formats[i], block, 2, 0, 0, DIM, scale, row);
    sj_reference_read_row(formats[i], block, 2, 0, 0, DIM, scale, back);
    bool is_footer = sj_reference_find_footer(formats[i]) != NULL;
    for (int d = 0; d < DIM; d++) {
      bool is_bf16 = formats[i] == SWA_JIT_KV_BF16 || (formats[i] == SWA_JIT_KV_FOOTER_584 && d >= 448);
      /* half a step of bf16, of a normal code, of a subnormal code of the row's scale */
      double limit = is_bf16 ? fabs(row[d]) / 256.0 : fmax(fabs(row[d]) / 16.0, is_footer ? 0.0 : scale / 1024.0);
      assert_true(fabs(back[d] - row[d]) <= limit);
    }
    sj_reference_read_row(formats[i], block, 2, 1, 0, DIM, 1.0, back);
    for (int d = 0; d < DIM; d++) {
      assert_true(back[d] == 0.0);
    }
    assert_memory_not_equal(block, before, sizeof block);
  }
}

static void pad_of_a_scale_row_is_zero(void **state)
{
  uint8_t block[584];
  double row[DIM];
  (void)state;
  memset(block, 0xFF, sizeof block);
  for (int d = 0; d < DIM; d++) {
    row[d] = 448.0;
  }
  sj_reference_write_row(SWA_JIT_KV_FOOTER_584, block, 1, 0, 0, DIM, 1.0, row);
  assert_int_equal(block[0], CODE_448);
  assert_int_equal(block[576], 127);
  assert_int_equal(block[582], 127);
  assert_int_equal(block[583], 0);
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
      cmocka_unit_test(e4m3_code_of_a_code_is_itself),
      cmocka_unit_test(e4m3_between_two_codes_is_the_nearer_or_the_even),
      cmocka_unit_test(e4m3_beyond_its_range_saturates_and_nan_stays_nan),
      cmocka_unit_test(scale_bytes_are_the_least_that_fit),
      cmocka_unit_test(row_written_is_read_back),
      cmocka_unit_test(pad_of_a_scale_row_is_zero),
  };
  return SJ_TEST_RUN(tests);
}
