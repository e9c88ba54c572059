/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_args_fixture.h"

#include <string.h>

#include "test_main.h"

#include "config.h"
#include "launch_args.h"
#include "launch_usual.h"

void *launch_args_address(uint64_t value)
{
  return (void *)(uintptr_t)value;
}

static void place_extra(const swa_jit_config *config, swa_jit_decode_args *args)
{
  if (config->extra_size != 0) {
    args->extra_kv = launch_args_address(0x1000000000000020);
    args->extra_inv_scale =
        config->extra_format == SWA_JIT_KV_E4M3_SLOT ? launch_args_address(0x1100000000000004) : NULL;
    args->extra_indices = launch_args_address(0x1200000000000008);
    args->extra_lens = launch_args_address(0x1300000000000008);
    args->extra_num_blocks = 7;
    args->extra_block_size = 32;
  }
}

/* Outputs lie behind all inputs, with room for most tokens of most heads. */
void launch_args_begin(launch_args_fixture *fixture, const char *config_text)
{
  swa_jit_config *config = &fixture->config;
  swa_jit_decode_args *args = &fixture->args;
  assert_int_equal(sj_config_from_text(config_text, config), SWA_JIT_OK);
  const bool has_slot_scales = config->kv_format == SWA_JIT_KV_E4M3_SLOT;
  *args = (swa_jit_decode_args)SWA_JIT_DECODE_ARGS_INIT;
  args->num_tokens = 5;
  args->num_heads = 40;
  args->block_size = 64;
  args->num_blocks = 10;
  args->q = launch_args_address(0x0100000000000010);
  args->kv = launch_args_address(0x0200000000000020);
  args->inv_scale = has_slot_scales ? launch_args_address(0x0300000000000004) : NULL;
  args->indices = launch_args_address(0x0400000000000008);
  args->lens = launch_args_address(0x0500000000000008);
  args->out = launch_args_address(0x4000000000000030);
  args->lse = config->lse != 0 ? launch_args_address(0x7000000000000004) : NULL;
  args->sinks = config->sinks != 0 ? launch_args_address(0x0600000000000004) : NULL;
  args->scale = 0.25f;
  if (config->head_dim_v != 0) {
    args->v = launch_args_address(0x0700000000000040);
    args->v_inv_scale = has_slot_scales ? launch_args_address(0x0800000000000004) : NULL;
  }
  place_extra(config, args);
}

void launch_args_choose_way(launch_args_fixture *fixture, launch_args_way way)
{
  if (way != LAUNCH_ARGS_CHECKED) {
    swa_jit_decode_args *args = &fixture->args;
    args->out = launch_args_address(0x3000000000000030);
    args->lse = way == LAUNCH_ARGS_WITH_REST && args->lse != NULL ? launch_args_address(0x2800000000000004) : NULL;
    args->inv_scale = args->inv_scale != NULL ? launch_args_address(0x0300000000000008) : NULL;
  }
}

swa_params launch_args_make(const launch_args_fixture *fixture)
{
  swa_params params;
  memset(&params, 0x5a, sizeof params); /* every byte is to be written */
  if (sj_launch_args_make(&fixture->config, &fixture->args, &params) != SWA_JIT_OK) {
    fail_msg("%s", sj_message());
  }
  return params;
}

void launch_args_assert_right(const launch_args_fixture *fixture, const swa_params *found)
{
  swa_params checked;
  memset(&checked, 0xa5, sizeof checked);
  if (sj_launch_args_check(&fixture->config, &fixture->args, &checked) != SWA_JIT_OK) {
    fail_msg("plain, but: %s", sj_message());
  }
  assert_memory_equal(found, &checked, sizeof checked);
}

bool launch_args_is_usual(const launch_args_fixture *fixture)
{
  const sj_cuda_api api = {0};
  const sj_tile_plan plan = {0};
  const sj_launch_constants constants = sj_launch_constants_make(&api, &fixture->config, &plan);
  swa_params params;
  memset(&params, 0x5a, sizeof params); /* every byte is to be written */
  if (constants.args_size != fixture->args.size || fixture->args.num_kv_heads > 1) {
    return false;
  }
  const sj_usual found = sj_usual_fill(&constants, &fixture->args, &params);
  if (found.odd != 0
      || (found.rest != 0 && !sj_launch_fill_rest(&constants, &fixture->config, &fixture->args, &params))) {
    return false;
  }
  launch_args_assert_right(fixture, &params);
  return true;
}

static void assert_message_has(const char *part)
{
  if (strstr(sj_message(), part) == NULL) {
    fail_msg("no \"%s\" in: %s", part, sj_message());
  }
}

void launch_args_assert_refused(const launch_args_fixture *fixture, swa_jit_status status, const char *first_part,
                                const char *second_part)
{
  swa_params params;
  swa_jit_status found = sj_launch_args_make(&fixture->config, &fixture->args, &params);
  if (found != status) {
    fail_msg("%s instead of %s for \"%s\": %s", sj_status_name(found), sj_status_name(status), first_part,
             found == SWA_JIT_OK ? "" : sj_message());
  }
  assert_message_has(first_part);
  assert_message_has(second_part);
}

void launch_args_set(launch_args_fixture *fixture, size_t offset, const void *value, size_t value_bytes)
{
  memcpy((char *)&fixture->args + offset, value, value_bytes);
}

void launch_args_assert_strides_refused(launch_args_fixture *fixture, const launch_args_stride *cases, size_t num_cases)
{
  const swa_jit_decode_args right = fixture->args;
  for (size_t i = 0; i < num_cases; ++i) {
    char expected[96];
    launch_args_set(fixture, cases[i].offset, &cases[i].wrong, sizeof cases[i].wrong);
    snprintf(expected, sizeof expected, "%s ", cases[i].name);
    launch_args_assert_refused(fixture, SWA_JIT_INVALID, expected, cases[i].limit);
    fixture->args = right;
  }
  launch_args_make(fixture);
}

void launch_args_assert_pointers_checked(launch_args_fixture *fixture, const launch_args_pointer *cases,
                                         size_t num_cases)
{
  const swa_jit_decode_args right = fixture->args;
  for (size_t i = 0; i < num_cases; ++i) {
    char expected[64];
    char limit[64];
    void *wrong = NULL;
    launch_args_set(fixture, cases[i].offset, &wrong, sizeof wrong);
    if (cases[i].may_be_null) {
      launch_args_make(fixture);
    } else {
      snprintf(expected, sizeof expected, "%s is NULL", cases[i].name);
      launch_args_assert_refused(fixture, SWA_JIT_INVALID, expected, "device address");
    }
    snprintf(limit, sizeof limit, "multiple of %u bytes", cases[i].alignment);
    for (unsigned off = 1; off < cases[i].alignment; off *= 2) {
      wrong = launch_args_address(0x1000 + off);
      launch_args_set(fixture, cases[i].offset, &wrong, sizeof wrong);
      snprintf(expected, sizeof expected, "%s is 0x10", cases[i].name);
      launch_args_assert_refused(fixture, SWA_JIT_INVALID, expected, limit);
    }
    fixture->args = right;
  }
  launch_args_make(fixture);
}
