/* SPDX-License-Identifier: Apache-2.0 */
/* From the public call to the results, without a device: the stand-in for libcuda keeps the parameter, with host
 * addresses in it, and the template itself runs on the host. Then the judge, which must notice each kind of fault. */
#include <stdlib.h>
#include <string.h>

#include "test_main.h"

#include "merge.h"
#include "merge_case.h"
#include "recording_cuda.h"
#include "template_on_host.h"

static const recording_cuda *cuda;
static sj_cuda_api api;
static struct swa_jit_kernel kernel;

static int load_kernel(void)
{
  bool refused;
  cuda->reset();
  cuda->set_params_bytes(sizeof(swa_merge_params));
  cuda->set_current(0);
  kernel.cuda = &api;
  kernel.arch = sj_arch_find(SWA_JIT_ARCH_SM_90A);
  kernel.config = (swa_jit_config)SWA_JIT_CONFIG_INIT;
  kernel.config.kernel = SWA_JIT_KERNEL_MERGE;
  return sj_cuda_api_open(CUDA_RECORDING, NULL, &api) == SWA_JIT_OK
                 && sj_tile_plan_make(&kernel.config, kernel.arch, &kernel.plan) == SWA_JIT_OK
                 && sj_load_make(&api, kernel.arch, &kernel.plan, "swa_merge", "\177ELF", &refused, &kernel.loaded)
                        == SWA_JIT_OK
             ? 0
             : -1;
}

/* Copies of a case's tensors, as a device has them. */
typedef struct memory {
  void *tensors[MERGE_NUM_TENSORS];
  uint64_t addresses[MERGE_NUM_TENSORS];
} memory;

static void copy_in(const merge_data *data, memory *out)
{
  memset(out, 0, sizeof *out);
  for (unsigned i = 0; i < MERGE_NUM_TENSORS; i++) {
    if (data->sizes[i] != 0) {
      out->tensors[i] = aligned_alloc(16, (data->sizes[i] + 15) / 16 * 16);
      assert_non_null(out->tensors[i]);
      memcpy(out->tensors[i], data->tensors[i], data->sizes[i]);
      out->addresses[i] = (uint64_t)(uintptr_t)out->tensors[i];
    }
  }
}

static void free_memory(memory *m)
{
  for (unsigned i = 0; i < MERGE_NUM_TENSORS; i++) {
    free(m->tensors[i]);
  }
}

static void run(const merge_data *data, const memory *m, int is_backward)
{
  const swa_jit_merge_args args = merge_args_at(data, m->addresses);
  swa_merge_params params;
  assert_int_equal(load_kernel(), 0);
  const swa_jit_status status = sj_merge_launch(&kernel, &args, NULL);
  if (status != SWA_JIT_OK) {
    fail_msg("%s: %s", data->which.name, sj_message());
  }
  const recorded_launch *launch = cuda->get_launch(0);
  memcpy(&params, launch->params, sizeof params);
  template_run_merge(&params, launch->grid[0], launch->grid[1], launch->block[0], is_backward);
  sj_load_finish(&api, &kernel.loaded);
  sj_cuda_api_close(&api);
}

static decode_verdict judge(const merge_data *data, const memory *m)
{
  decode_verdict verdict;
  assert_true(merge_judge(data, m->tensors[merge_out_tensor(data)], m->tensors[MERGE_LSE], &verdict));
  return verdict;
}

static void template_merges_every_case_in_either_order(void **state)
{
  (void)state;
  for (size_t i = 0; i < num_merge_cases; i++) {
    for (int is_backward = 0; is_backward < 2; is_backward++) {
      merge_data data;
      memory m;
      assert_true(merge_data_make(&merge_cases[i], &data));
      copy_in(&data, &m);
      run(&data, &m, is_backward);
      const decode_verdict verdict = judge(&data, &m);
      if (verdict.num_faults != 0) {
        fail_msg("%s: %s (%llu faults)", merge_cases[i].name, verdict.fault, (unsigned long long)verdict.num_faults);
      }
      assert_int_equal(verdict.num_heads, merge_cases[i].num_tokens * merge_cases[i].num_heads);
      free_memory(&m);
      merge_data_free(&data);
    }
  }
}

static const merge_case *find_case(const char *name)
{
  for (size_t i = 0; i < num_merge_cases; i++) {
    if (strcmp(merge_cases[i].name, name) == 0) {
      return &merge_cases[i];
    }
  }
  fail_msg("no case %s", name);
  return NULL;
}

typedef struct planted_fault {
  const char *case_name;
  merge_tensor tensor;
  size_t place; /* byte */
  const char *expected;
} planted_fault;

/* Of the case "padded_out": 9 heads of 128 elements, gaps of 8 behind each; LSEs with gaps of 1. */
static void judge_names_each_planted_fault(void **state)
{
  (void)state;
  static const planted_fault faults[] = {
      {"padded_out", MERGE_OUT, 2 * 136 + 1, "token 0 head 1: out[0]"},
      {"padded_out", MERGE_OUT, 2 * 128, "out: byte 256 lies in no row"},
      {"padded_out", MERGE_LSE, 4 * 2 + 3, "token 0 head 1: LSE"},
      {"padded_out", MERGE_LSE, 4 * 1, "lse: byte 4 lies in no row"},
      {"in_place_of_the_last", MERGE_OUTS + 2, 1, "token 0 head 0: out[0]"},
      {"in_place_of_the_last", MERGE_OUTS + 2, 2 * 72, "out: byte 144 lies in no row"},
      {"all_empty", MERGE_OUT, 1, "token 0 head 0: out[0]"},
      {"all_empty", MERGE_LSE, 2, "token 0 head 0: LSE"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    merge_data data;
    memory m;
    assert_true(merge_data_make(find_case(faults[i].case_name), &data));
    copy_in(&data, &m);
    run(&data, &m, 0);
    ((unsigned char *)m.tensors[faults[i].tensor])[faults[i].place] ^= 0x40;
    const decode_verdict verdict = judge(&data, &m);
    assert_int_equal(verdict.num_faults, 1);
    if (strstr(verdict.fault, faults[i].expected) == NULL) {
      fail_msg("no \"%s\" in: %s", faults[i].expected, verdict.fault);
    }
    free_memory(&m);
    merge_data_free(&data);
  }
}

static void judge_of_a_merge_that_did_not_run_finds_every_row(void **state)
{
  (void)state;
  merge_data data;
  memory m;
  assert_true(merge_data_make(find_case("two_parts"), &data));
  copy_in(&data, &m);
  const decode_verdict verdict = judge(&data, &m);
  assert_true(verdict.num_faults >= 5 * 40);
  assert_non_null(strstr(verdict.fault, "it was not written"));
  free_memory(&m);
  merge_data_free(&data);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(template_merges_every_case_in_either_order),
      cmocka_unit_test(judge_names_each_planted_fault),
      cmocka_unit_test(judge_of_a_merge_that_did_not_run_finds_every_row),
  };
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    printf("failed: %s cannot be opened\n", CUDA_RECORDING);
    return 1;
  }
  return SJ_TEST_RUN(tests);
}
