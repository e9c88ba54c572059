/* SPDX-License-Identifier: Apache-2.0 */
/* The fake device's kernel: cases of every option come back right from the kernel's parameter alone. */
#include "test_main.h"

#include <string.h>

#include "check.h"
#include "fake_kernel.h"

/* As the library's launch does: strides resolved, pointers handed on. */
static swa_pool pool_of(const sj_reference_pool *from)
{
  return (swa_pool){.kv = from->rows,
                    .inv_scale = from->inv_scale,
                    .indices = from->indices,
                    .block_stride_bytes = from->block_stride_bytes,
                    .slot_stride_bytes = from->slot_stride_bytes,
                    .kv_head_stride_bytes = from->head_stride_bytes,
                    .scale = (float)from->scale};
}

static swa_scope scope_of(const sj_reference_scope *from)
{
  return (swa_scope){.pool = pool_of(&from->k),
                     .lens = from->lens,
                     .indices_token_stride = from->indices_token_stride,
                     .block_size = from->k.block_size,
                     .num_slots = (unsigned)from->num_slots};
}

static swa_params params_of(const decode_data *data)
{
  const swa_jit_decode_args *args = &data->args;
  const sj_reference_scope window = sj_reference_window(&data->config, args);
  const sj_reference_scope extra = sj_reference_extra(&data->config, args);
  swa_params params = {.window = scope_of(&window),
                       .q = args->q,
                       .out = args->out,
                       .lse = args->lse,
                       .sinks = args->sinks,
                       .q_token_stride = (long long)data->which.num_heads * data->which.head_dim,
                       .q_head_stride = data->which.head_dim,
                       .out_token_stride = decode_data_out_offset(data, 1, 0),
                       .out_head_stride = decode_data_out_offset(data, 0, 1),
                       .lse_token_stride = decode_data_lse_offset(data, 1, 0),
                       .lse_head_stride = decode_data_lse_offset(data, 0, 1),
                       .num_tokens = args->num_tokens,
                       .num_heads = args->num_heads,
                       .num_kv_heads = args->num_kv_heads,
                       .lse_form = args->lse_form,
                       .scale = args->scale,
                       .soft_cap = args->soft_cap};
  if (extra.size != 0) {
    params.extra = scope_of(&extra);
  }
  if (window.has_v) {
    params.v = pool_of(&window.v);
  }
  return params;
}

/* Whether the kernel ran and its results are right. */
static bool runs_right(const char *text, const char *fault)
{
  decode_case which;
  decode_data data;
  decode_verdict verdict;
  const char *bad;
  assert_true(decode_case_from_text(text, &which, &bad));
  assert_true(decode_data_make(&which, &data));
  const swa_params params = params_of(&data);
  bool has_run = fake_kernel_run(&params, fault) == NULL;
  assert_true(decode_judge(&data, 1, &verdict));
  decode_data_free(&data);
  return has_run && verdict.num_faults == 0;
}

static const char *const texts[] = {
    "num_heads=3 head_dim=64 scales=random lens=uniform",
    "num_heads=3 head_dim=64 kv_format=e4m3 scales=random block_size=3",
    "num_heads=3 head_dim=64 kv_format=bf16",
    "num_heads=3 kv_format=footer_584",
    "num_heads=3 kv_format=footer_584 block_gap=64",
    "num_heads=3 kv_format=footer_528 block_size=32",
    "num_heads=6 head_dim=64 sinks=special lse_form=7 lens=gaps",
    "num_heads=6 head_dim=64 soft_cap=2 lse_layout=heads_outside",
    "num_heads=6 num_kv_heads=3 head_dim=64 head_dim_v=96 v_indices=own kv_format=bf16",
    "num_heads=6 num_kv_heads=2 head_dim=192 head_dim_v=128 scales=random",
    "num_heads=3 kv_format=footer_584 extra_format=footer_528 extra_size=50 extra_block_size=2 extra_lens=uniform",
    "num_heads=3 head_dim=64 kv_format=e4m3 extra_format=e4m3 extra_size=50 extra_lens=null lens=zero scales=random",
};

static void kernel_of_every_option_is_read_from_its_parameter(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (!runs_right(texts[i], "")) {
      fail_msg("%s", texts[i]);
    }
  }
}

static void faults_spoil_results(void **state)
{
  static const char *const faults[] = {"wrong", "lse", "unwritten", "past"};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    assert_false(runs_right(texts[0], faults[i]));
    assert_false(runs_right(texts[10], faults[i]));
  }
}

static void strides_that_say_nothing_of_the_format_are_refused(void **state)
{
  (void)state;
  assert_false(runs_right("num_heads=3 head_dim=64 slot_gap=16", ""));
  assert_false(runs_right("num_heads=3 head_dim=64 kv_format=bf16 block_gap=16", ""));
  assert_false(runs_right("num_heads=4 num_kv_heads=2 head_dim=64 kv_layout=padded", ""));
  assert_false(runs_right("num_heads=4 num_kv_heads=2 head_dim=64 head_dim_v=64 v_slot_gap=16", ""));
  assert_false(runs_right("num_heads=3 head_dim=64 extra_size=9 extra_block_gap=16", ""));
}

static void splits_need_a_workspace_of_zeros(void **state)
{
  decode_case which;
  decode_data data;
  const char *bad;
  char workspace[64] = {0};
  (void)state;
  assert_true(decode_case_from_text(texts[0], &which, &bad));
  assert_true(decode_data_make(&which, &data));
  swa_params params = params_of(&data);
  params.num_splits = 2;
  assert_non_null(fake_kernel_run(&params, ""));
  assert_non_null(fake_kernel_check(&params));
  params.workspace = workspace;
  assert_null(fake_kernel_run(&params, ""));
  assert_null(fake_kernel_check(&params));
  workspace[3] = 1;
  assert_non_null(fake_kernel_run(&params, ""));
  decode_data_free(&data);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_of_every_option_is_read_from_its_parameter),
      cmocka_unit_test(faults_spoil_results),
      cmocka_unit_test(splits_need_a_workspace_of_zeros),
      cmocka_unit_test(strides_that_say_nothing_of_the_format_are_refused),
  };
  return SJ_TEST_RUN(tests);
}
