/* SPDX-License-Identifier: Apache-2.0 */
#include "run_stand_in.h"

#include "config.h"
#include "status.h"
#include "test_main.h"

/* What problem.c asks of the library. */
const char *swa_jit_message(void)
{
  return sj_message();
}

swa_jit_status swa_jit_config_from_text(const char *text, swa_jit_config *config_out)
{
  return sj_config_from_text(text, config_out);
}

swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out)
{
  swa_jit_config taken;
  (void)shared_memory_bytes_out;
  return sj_config_take(config, &taken);
}

void swa_jit_decode_args_init_sized(swa_jit_decode_args *args, size_t size)
{
  assert_int_equal(size, sizeof *args);
  *args = (swa_jit_decode_args)SWA_JIT_DECODE_ARGS_INIT;
}

run_options small_options(void)
{
  return (run_options){.kv_format = "e4m3_slot",
                       .num_tokens = NUM_TOKENS,
                       .num_heads = NUM_HEADS,
                       .num_kv_heads = 1,
                       .extra_block_size = BLOCK,
                       .head_dim = HEAD_DIM,
                       .window_size = WINDOW,
                       .block_size = BLOCK,
                       .index_type = "int32",
                       .lens_type = "int64",
                       .scale_type = "float32",
                       .seed = 1};
}

run_problem make(const run_options *options)
{
  run_problem problem;
  assert_int_equal(run_problem_make(options, &problem), RUN_GOOD);
  run_problem_generate(&problem);
  run_problem_make_results(&problem);
  return problem;
}
