/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_stand_in.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "status.h"
#include "test_main.h"

const char *swa_jit_version_text(void)
{
  return "1.2.3";
}

const char *swa_jit_message(void)
{
  return sj_message();
}

const char *swa_jit_arch_name(uint32_t arch)
{
  return arch == SWA_JIT_ARCH_SM_90A ? "sm_90a" : NULL;
}

void swa_jit_config_init_sized(swa_jit_config *config, size_t size)
{
  assert_int_equal(size, sizeof *config);
  sj_config_init(config);
}

void swa_jit_decode_args_init_sized(swa_jit_decode_args *args, size_t size)
{
  assert_int_equal(size, sizeof *args);
  static const swa_jit_decode_args usual = SWA_JIT_DECODE_ARGS_INIT;
  *args = usual;
}

swa_jit_status swa_jit_config_from_text(const char *text, swa_jit_config *config_out)
{
  return sj_config_from_text(text, config_out);
}

swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out)
{
  swa_jit_config taken;
  swa_jit_status status = sj_config_take(config, &taken);
  (void)shared_memory_bytes_out;
  return status != SWA_JIT_OK    ? status
         : config->kv_tile == 64 ? sj_fail(SWA_JIT_UNSUPPORTED, "too much shared memory")
                                 : SWA_JIT_OK;
}

swa_jit_status swa_jit_kernel_get(swa_jit_lib *lib, const swa_jit_config *config, const swa_jit_kernel **kernel_out)
{
  (void)lib;
  if (config->kv_tile == 128) {
    return sj_fail(SWA_JIT_COMPILE_FAILED, "a line of the compiler");
  }
  *kernel_out = NULL;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_pick_splits(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads,
                                   uint32_t num_kv_heads, uint32_t num_sms, uint32_t *num_splits_out)
{
  assert_int_equal(config->splits, 1);
  assert_int_equal(num_heads % num_kv_heads, 0);
  *num_splits_out = num_sms / num_tokens + 1;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_workspace_bytes(const swa_jit_kernel *kernel, uint32_t num_tokens, uint32_t num_heads,
                                       uint32_t num_kv_heads, uint32_t num_splits, uint64_t *bytes_out)
{
  (void)kernel;
  (void)num_heads;
  (void)num_kv_heads;
  *bytes_out = (uint64_t)num_tokens * num_splits * 1000;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_decode(const swa_jit_kernel *kernel, const swa_jit_decode_args *args, swa_jit_stream stream)
{
  (void)kernel;
  (void)args;
  (void)stream;
  return SWA_JIT_OK;
}

/* Two tokens, four kernels of which the third is refused. */
void make_sweep(bench_sweep *sweep, bench_options *options, sj_device *device)
{
  static const double us[2][4] = {{4.0, 3.5, 0.0, 6.0}, {40.0, 50.0, 0.0, 30.0}};
  assert_int_equal(READ(options, "--tokens", "1,100", "--head-group", "16,128", "--kv-tile", "16,32"), SJ_CLI_RUN);
  memset(device, 0, sizeof *device);
  strcpy(device->name, "A \"device\" <1>");
  device->num_sms = 132;
  assert_true(bench_sweep_prepare(device, NULL, SWA_JIT_ARCH_SM_90A, options, sweep));
  assert_int_equal(sweep->num_kernels, 4);
  sweep->kernels[2].state = BENCH_REFUSED;
  sweep->num_points = 2; /* of 128 heads */
  sweep->points = calloc(2, sizeof *sweep->points);
  assert_non_null(sweep->points);
  for (int i = 0; i < 2; i++) {
    sweep->points[i] = (bench_point){
        .step = {options->tokens.values[i], 128}, .traffic = 1000, .us_copy = 2.0 + 8 * i, .us_floor = 2.5 + 10 * i};
    sweep->points[i].us_ours = malloc(sizeof us[i]);
    assert_non_null(sweep->points[i].us_ours);
    memcpy(sweep->points[i].us_ours, us[i], sizeof us[i]);
  }
}
