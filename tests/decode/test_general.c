/* SPDX-License-Identifier: Apache-2.0 */
/* The judge over the general form: the reference passes, and each planted fault is found. */
#include "test_main.h"

#include "planted.h"

static void reference_in_general_patterns_passes(void **state)
{
  static const char *const texts[] = {
      "num_heads=3 kv_format=e4m3 scales=random num_tokens=14 lens=edges head_dim=64 scores=m20",
      "num_heads=3 kv_format=e4m3 num_tokens=14 codes=all exact=1 lens=one head_dim=96",
      "num_heads=3 kv_format=bf16 num_tokens=14 lens=edges head_dim=64 scores=m5 slot_gap=32 block_gap=48",
      "num_heads=3 kv_format=bf16 num_tokens=14 codes=all exact=1 lens=one head_dim=64",
      "num_heads=3 kv_format=bf16 num_tokens=5 bf16=large head_dim=64",
      "num_heads=3 kv_format=bf16 num_tokens=5 bf16=tiny head_dim=64 codes=nan",
      "num_heads=2 kv_format=footer_584 num_tokens=14 lens=edges scores=m5 block_size=3 num_blocks=30 block_gap=8",
      "num_heads=2 kv_format=footer_584 num_tokens=60 lens=one scale_bytes=all exact=1",
      "num_heads=2 kv_format=footer_584 num_tokens=20 lens=one codes=all scale_bytes=one bf16=tiny exact=1",
      "num_heads=2 kv_format=footer_584 num_tokens=3 scale_bytes=random lens=uniform",
      "num_heads=2 kv_format=footer_528 num_tokens=5 scale_bytes=nan lens=uniform block_size=2 num_blocks=100",
      "num_heads=2 kv_format=footer_528 num_tokens=3 scale_bytes=near codes=nan block_gap=32",
      "num_heads=13 sinks=special num_tokens=14 lens=edges head_dim=64 scores=m5",
      "num_heads=12 sinks=special num_tokens=3 slots=masked_all head_dim=64 lse_form=6",
      "num_heads=12 sinks=special num_tokens=4 lens=gaps head_dim=64 lse_form=7",
      "num_heads=6 sinks=normal scales=inf num_tokens=3 head_dim=64 lse_form=3",
      "num_heads=6 sinks=null num_tokens=3 head_dim=64 lse_form=2 lse_layout=strided lse_gap=1",
      "num_heads=5 num_tokens=4 lens=gaps head_dim=64 lse_form=5 lse_layout=heads_outside lse_gap=2",
      "num_heads=4 soft_cap=2 scores=sharp head_dim=64 num_tokens=3 codes=nan",
      "num_heads=6 num_kv_heads=3 head_dim=64 head_dim_v=96 num_tokens=4 lens=uniform out_layout=padded",
      "num_heads=6 num_kv_heads=3 head_dim=64 num_tokens=4 codes=nan scales=random",
      "num_heads=6 num_kv_heads=2 head_dim=64 head_dim_v=64 v_indices=own slots=masked_some codes=nan num_tokens=8",
      "num_heads=6 num_kv_heads=2 head_dim=64 head_dim_v=64 scales=inf kv_layout=padded v_slot_gap=16 num_tokens=8",
      "num_heads=6 num_kv_heads=2 head_dim=64 head_dim_v=128 kv_format=bf16 kv_layout=heads_outside v_block_gap=512",
      "num_heads=3 extra_size=40 extra_lens=edges lens=edges num_tokens=14 head_dim=64 scores=m20",
      "num_heads=3 extra_size=40 extra_lens=null lens=zero num_tokens=3 head_dim=64 codes=nan",
      "num_heads=3 extra_size=40 lens=gaps extra_lens=gaps num_tokens=8 head_dim=64 sinks=special",
      "num_heads=3 extra_size=40 extra_num_blocks=0 num_blocks=0 num_tokens=3 head_dim=64 lse_form=4",
      "num_heads=2 extra_size=40 kv_format=footer_584 extra_format=footer_528 extra_block_size=2 num_tokens=4 "
      "scale_bytes=nan",
      "num_heads=2 extra_size=40 scale_type=bfloat16 scales=random extra_format=e4m3 extra_slot_gap=16 num_tokens=3 "
      "extra_block_gap=64 index_type=int64 index_gap=3 slots=masked_some head_dim=64",
      /* pools of which only what is selected is written */
      "num_heads=1 kv_format=footer_584 num_blocks=210 block_gap=1271232 num_tokens=2",
      "num_heads=2 num_kv_heads=2 head_dim=64 head_dim_v=64 kv_layout=heads_outside num_blocks=210 v_block_gap=1300000",
  };
  decode_verdict verdict;

  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (planted_run(FAULT_NONE, texts[i], &verdict) != DECODE_PASSED) {
      fail_msg("%s: %s", texts[i], verdict.fault);
    }
  }
}

static void faults_of_formats_are_found(void **state)
{
  const char *blocks = "num_heads=2 kv_format=footer_584 block_size=4 num_blocks=40 scale_bytes=near num_tokens=3";

  (void)state;
  assert_found(FAULT_IGNORES_POOL_SCALE, "num_heads=2 kv_format=e4m3 scales=random head_dim=64", "out[");
  assert_found(FAULT_IGNORES_POOL_SCALE,
               "num_heads=2 extra_size=9 lens=zero extra_format=e4m3 scales=random head_dim=64", "out[");
  assert_found(FAULT_READS_FIRST_SCALE_ROW, blocks, "out[");
  assert_found(FAULT_READS_FIRST_SCALE_ROW, "num_heads=2 kv_format=footer_528 block_size=4 num_blocks=40 num_tokens=3",
               "out[");
  assert_found(FAULT_TAKES_255_AS_A_POWER, "num_heads=2 kv_format=footer_528 scale_bytes=nan num_tokens=3", "not nan");
  assert_found(FAULT_IGNORES_BLOCK_STRIDE, "num_heads=2 kv_format=footer_584 block_gap=64", "out[");
}

static void faults_of_sinks_cap_and_lse_are_found(void **state)
{
  const char *sinks = "num_heads=6 sinks=normal num_tokens=3 head_dim=64 scores=m5";
  const char *special = "num_heads=6 sinks=special num_tokens=4 lens=gaps head_dim=64";
  const char *base_2 = "num_heads=6 num_tokens=4 head_dim=64 lse_form=1";

  (void)state;
  assert_found(FAULT_IGNORES_SINKS, sinks, "out[");
  assert_found(FAULT_IGNORES_SINKS, special, "out[");
  assert_found(FAULT_SINK_IN_LSE, sinks, "LSE");
  assert_found(FAULT_DIVIDES_BY_THE_SINK_ALONE, special, "no unmasked position");
  assert_found(FAULT_IGNORES_SOFT_CAP, "num_heads=4 soft_cap=2 scores=m5 head_dim=64", "out[");
  assert_found(FAULT_IGNORES_LSE_FORM, base_2, "LSE");
  assert_found(FAULT_IGNORES_LSE_FORM, "num_heads=6 num_tokens=4 head_dim=64 lens=gaps lse_form=4", "not inf");
  assert_found(FAULT_IGNORES_LSE_STRIDES, "num_heads=6 num_tokens=4 head_dim=64 lse_layout=heads_outside", "LSE");
  assert_found(FAULT_IGNORES_LSE_STRIDES, "num_heads=6 num_tokens=1 head_dim=64 lse_layout=strided", "LSE");
}

static void faults_of_grouped_heads_are_found(void **state)
{
  const char *apart = "num_heads=4 num_kv_heads=2 head_dim=64 head_dim_v=64 kv_format=bf16 num_tokens=3 v_indices=own "
                      "v_slot_gap=32 v_block_gap=64";

  (void)state;
  assert_found(FAULT_READS_KV_HEAD_0, "num_heads=4 num_kv_heads=2 head_dim=64 head_dim_v=64 kv_format=bf16",
               "token 0 head 2: out");
  assert_found(FAULT_V_BY_STRIDES_OF_K, apart, "out[");
  assert_found(FAULT_V_BY_INDICES_OF_K, apart, "out[");
  assert_found(FAULT_SPREADS_NAN, "num_heads=4 num_kv_heads=2 head_dim=64 codes=nan num_tokens=3", "token 0 head 0");
  assert_found(FAULT_SWALLOWS_NAN, "num_heads=4 num_kv_heads=2 head_dim=64 head_dim_v=64 codes=nan num_tokens=6",
               "not nan");
}

static void faults_of_the_extra_scope_are_found(void **state)
{
  const char *usual =
      "num_heads=2 extra_size=64 extra_lens=uniform num_tokens=4 head_dim=64 scores=m5 extra_block_gap=64";

  (void)state;
  assert_found(FAULT_IGNORES_EXTRA, usual, "out[");
  assert_found(FAULT_IGNORES_EXTRA_LENS, usual, "out[");
  assert_found(FAULT_EXTRA_BY_STRIDES_OF_WINDOW, usual, "out[");
  assert_found(FAULT_SWALLOWS_NAN, "num_heads=2 extra_size=64 lens=zero codes=nan num_tokens=4 head_dim=64", "not nan");
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_in_general_patterns_passes),  cmocka_unit_test(faults_of_formats_are_found),
      cmocka_unit_test(faults_of_sinks_cap_and_lse_are_found), cmocka_unit_test(faults_of_grouped_heads_are_found),
      cmocka_unit_test(faults_of_the_extra_scope_are_found),
  };

  return SJ_TEST_RUN(tests);
}
