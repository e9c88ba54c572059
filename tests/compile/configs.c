/* SPDX-License-Identifier: Apache-2.0 */
#include "configs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "test_main.h"

typedef struct field_values {
  size_t offset;
  unsigned count;
  uint32_t values[16];
} field_values;

static const field_values fields[] = {
    {offsetof(swa_jit_config, head_dim), 6, {64, 96, 128, 192, 256, 512}},
    {offsetof(swa_jit_config, head_group), 5, {8, 16, 32, 64, 128}},
    {offsetof(swa_jit_config, kv_tile), 4, {16, 32, 64, 128}},
    {offsetof(swa_jit_config, window_size), 14, {1, 2, 15, 16, 17, 100, 127, 128, 129, 512, 1000, 2048, 4097, 8192}},
    {offsetof(swa_jit_config, index_type), 2, {SWA_JIT_INT32, SWA_JIT_INT64}},
    {offsetof(swa_jit_config, lens_type), 2, {SWA_JIT_INT32, SWA_JIT_INT64}},
    {offsetof(swa_jit_config, scale_type), 2, {SWA_JIT_FLOAT32, SWA_JIT_BFLOAT16}},
    {offsetof(swa_jit_config, lse), 2, {0, 1}},
};

enum { NUM_FIELDS = sizeof fields / sizeof fields[0] };

static void set(swa_jit_config *config, const field_values *field, uint32_t value)
{
  *(uint32_t *)((char *)config + field->offset) = value;
}

static void add(configs *out, const swa_jit_config *config)
{
  if (out->count < CONFIGS_MAX) {
    out->list[out->count++] = *config;
  }
}

static void add_once(configs *out, const swa_jit_config *config)
{
  for (unsigned i = 0; i < out->count; i++) {
    if (memcmp(&out->list[i], config, sizeof *config) == 0) {
      return;
    }
  }
  add(out, config);
}

void configs_presets(uint32_t arch, configs *out)
{
  out->count = 0;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = arch;
  add(out, &config);
  for (uint32_t num_heads = 8; num_heads <= 128; num_heads *= 2) {
    for (uint32_t num_tokens = 1; num_tokens <= 65536; num_tokens *= 2) {
      if (swa_jit_pick(num_tokens, num_heads, 0, &config) == SWA_JIT_OK) {
        add_once(out, &config);
      }
    }
  }
}

/* A linear congruential generator: the same configurations on every machine. */
static uint32_t draw(uint32_t *state, unsigned count)
{
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 16) % count;
}

/* One legal configuration with the given field at the given value; 0 when 200 draws gave none. */
static int draw_legal(uint32_t arch, const field_values *field, uint32_t value, uint32_t *state, swa_jit_config *out)
{
  for (unsigned attempt = 0; attempt < 200; attempt++) {
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    config.arch = arch;
    for (unsigned f = 0; f < NUM_FIELDS; f++) {
      set(&config, &fields[f], fields[f].values[draw(state, fields[f].count)]);
    }
    set(&config, field, value);
    if (swa_jit_config_check(&config, NULL) == SWA_JIT_OK) {
      *out = config;
      return 1;
    }
  }
  return 0;
}

unsigned configs_spread(uint32_t arch, configs *out)
{
  uint32_t state = 2026;
  unsigned missing = 0;
  out->count = 0;
  for (unsigned f = 0; f < NUM_FIELDS; f++) {
    for (unsigned v = 0; v < fields[f].count; v++) {
      swa_jit_config config;
      if (draw_legal(arch, &fields[f], fields[f].values[v], &state, &config)) {
        add(out, &config);
      } else {
        missing++;
      }
    }
  }
  return missing;
}

void configs_clusters(uint32_t arch, configs *out)
{
  static const char *const rows[] = {
      "head_group=8",
      "head_group=16 sinks=1",
      "head_group=16 scale_type=bfloat16 lse=0 window_size=100",
      "head_group=8 kv_format=e4m3 sinks=1 lens_type=int64 window_size=1",
      "head_group=16 kv_format=e4m3 sinks=1 soft_cap=1 index_type=int64",
      "head_group=8 kv_format=footer_584 sinks=1",
      "head_group=16 kv_format=footer_584 sinks=1 soft_cap=1",
      "head_group=16 kv_format=footer_528 sinks=1",
  };
  out->count = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    swa_jit_config config = SWA_JIT_CONFIG_INIT;
    assert_int_equal(swa_jit_config_from_text(rows[i], &config), SWA_JIT_OK);
    config.arch = arch;
    config.kv_tile = 128;
    config.cluster_size = 4;
    add(out, &config);
  }
}

int configs_open(const char *folder, uint32_t arch, swa_jit_lib **lib_out)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  options.cache_dir = folder;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = arch;
  if (swa_jit_config_check(&config, NULL) != SWA_JIT_OK || swa_jit_open(&options, lib_out) != SWA_JIT_OK) {
    printf("failed: %s\n", swa_jit_message());
    return 1;
  }
  const void *cubin;
  size_t cubin_bytes;
  const swa_jit_status status = swa_jit_cubin_get(*lib_out, &config, &cubin, &cubin_bytes, NULL);
  if (status == SWA_JIT_OK) {
    return 0;
  }
  const int skip = status == SWA_JIT_NO_COMPILER || status == SWA_JIT_UNSUPPORTED;
  printf("%s: %s\n", skip ? "skipped" : "failed", swa_jit_message());
  swa_jit_close(lib_out);
  return skip ? SJ_TEST_SKIPPED : 1;
}
