/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor_source.h"
#include "nvrtc.h"

enum {
  CHUNK_BYTES = 16,
  COPY_CHUNKS_PER_THREAD = 4,
  NUM_WARPS = BENCH_THREADS / 32,
  STAGE_ROWS = 8,             /* of a warp, as in floor.cu */
  SYSTEM_SHARED_BYTES = 1024, /* that CUDA keeps of each CTA's share */
  LEAST_SHARE = 256           /* positions of a CTA from which on sharing them out is tried */
};

const uint32_t bench_floor_groups[BENCH_NUM_GROUPS] = {8, 16, 32, 64, 128};

/* ---- what floor.cu computes from its macros too ---- */

static uint32_t count_stages(uint32_t positions)
{
  uint32_t rows = (positions + NUM_WARPS - 1) / NUM_WARPS;
  return (rows + STAGE_ROWS - 1) / STAGE_ROWS;
}

static uint32_t all_stages(const bench_tensors *t, uint32_t num_splits)
{
  uint32_t window = (t->window_size + num_splits - 1) / num_splits;
  uint32_t extra = (t->extra_size + num_splits - 1) / num_splits;
  return count_stages(window) * (t->v.num_slots != 0 ? 2 : 1) + count_stages(extra);
}

static uint32_t pool_stage_bytes(const bench_pool *pool)
{
  return NUM_WARPS * STAGE_ROWS * (pool->row_bytes + pool->scale_row_bytes);
}

static uint32_t find_stage_bytes(const bench_tensors *t)
{
  const bench_pool *pools[] = {&t->k, &t->v, &t->extra};
  uint32_t most = 0;
  for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
    uint32_t bytes = pool_stage_bytes(pools[i]);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static uint32_t ring_stages(const bench_tensors *t, uint32_t shared_bytes, uint32_t ctas, uint32_t group)
{
  uint32_t bytes = ctas == 1 ? shared_bytes : (shared_bytes + SYSTEM_SHARED_BYTES) / 2 - SYSTEM_SHARED_BYTES;
  uint32_t q_bytes = group * t->head_dim * 2;
  uint32_t stages = q_bytes < bytes ? (bytes - q_bytes) / find_stage_bytes(t) : 0;
  return stages < all_stages(t, 1) ? stages : all_stages(t, 1);
}

/* ---- loading ---- */

void bench_kernels_macros(const bench_tensors *t, uint32_t shared_bytes,
                          char macros_out[BENCH_NUM_MACROS][BENCH_MACRO_SIZE])
{
  const struct {
    const char *name;
    uint64_t value;
  } values[] = {
      {"HEAD_DIM", t->head_dim},
      {"OUT_DIM", t->out_dim},
      {"NUM_KV_HEADS", t->k.num_kv_heads},
      {"SHARED_BYTES", shared_bytes},
      {"WINDOW_SIZE", t->window_size},
      {"K_ROW_BYTES", t->k.row_bytes},
      {"K_SCALE_BYTES", t->k.scale_row_bytes},
      {"K_BLOCK_SIZE", t->k.block_size},
      {"K_BLOCK_BYTES", t->k.block_bytes},
      {"V_ROW_BYTES", t->v.row_bytes},
      {"V_BLOCK_BYTES", t->v.block_bytes},
      {"EXTRA_SIZE", t->extra_size},
      {"EXTRA_ROW_BYTES", t->extra.row_bytes},
      {"EXTRA_SCALE_BYTES", t->extra.scale_row_bytes},
      {"EXTRA_BLOCK_SIZE", t->extra_size != 0 ? t->extra.block_size : 1},
      {"EXTRA_BLOCK_BYTES", t->extra.block_bytes},
  };
  _Static_assert(sizeof values / sizeof values[0] == (size_t)BENCH_NUM_MACROS, "every macro has a place");
  for (int i = 0; i < BENCH_NUM_MACROS; i++) {
    snprintf(macros_out[i], BENCH_MACRO_SIZE, "-D%s=%llu", values[i].name, (unsigned long long)values[i].value);
  }
}

static bool compile(sj_device *device, const char *nvrtc_path, const char *arch, const bench_tensors *tensors,
                    char **cubin_out, bench_kernels *kernels)
{
  char macros[BENCH_NUM_MACROS][BENCH_MACRO_SIZE];
  char arch_option[64];
  const char *options[BENCH_NUM_MACROS + 2];
  bench_kernels_macros(tensors, (uint32_t)device->shared_bytes, macros);
  for (int i = 0; i < BENCH_NUM_MACROS; i++) {
    options[i] = macros[i];
  }
  snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s", arch);
  options[BENCH_NUM_MACROS] = arch_option;
  options[BENCH_NUM_MACROS + 1] = "--std=c++17";
  return bench_nvrtc_compile(nvrtc_path, bench_floor_source, "floor.cu", options, BENCH_NUM_MACROS + 2, cubin_out,
                             kernels->message, sizeof kernels->message);
}

static uint32_t shared_bytes_of(const bench_tensors *t, const bench_kernels *kernels, bench_floor floor)
{
  uint32_t stages = kernels->stages[floor.ctas - 1][floor.group];
  uint32_t needed = all_stages(t, floor.num_splits);
  return bench_floor_groups[floor.group] * t->head_dim * 2 + (needed < stages ? needed : stages) * kernels->stage_bytes;
}

static bool find_floors(sj_device *device, const bench_tensors *tensors, bench_kernels *kernels)
{
  unsigned num_found = 0;
  kernels->stage_bytes = find_stage_bytes(tensors);
  for (uint32_t ctas = 1; ctas <= BENCH_MOST_CTAS; ctas++) {
    for (uint32_t group = 0; group < BENCH_NUM_GROUPS; group++) {
      char name[48];
      uint32_t stages = ring_stages(tensors, (uint32_t)device->shared_bytes, ctas, bench_floor_groups[group]);
      kernels->stages[ctas - 1][group] = stages;
      snprintf(name, sizeof name, "bench_floor_%u_%u", bench_floor_groups[group], ctas);
      uint32_t bytes = shared_bytes_of(tensors, kernels, (bench_floor){group, ctas, 1});
      if (stages == 0) {
        continue;
      }
      if (!sj_module_function(device, kernels->module, name, bytes, &kernels->floors[ctas - 1][group])) {
        snprintf(kernels->message, sizeof kernels->message, "%s", device->message);
        return false;
      }
      num_found++;
    }
  }
  if (num_found == 0) {
    snprintf(kernels->message, sizeof kernels->message,
             "no floor: %d rows of %u bytes with 8 heads of q do not fit into %d bytes of shared memory",
             NUM_WARPS * STAGE_ROWS, kernels->stage_bytes / (NUM_WARPS * STAGE_ROWS), device->shared_bytes);
  }
  return num_found > 0;
}

bool bench_kernels_load(sj_device *device, const char *nvrtc_path, const char *arch, const bench_tensors *tensors,
                        bench_kernels *kernels_out)
{
  char *cubin = NULL;
  memset(kernels_out, 0, sizeof *kernels_out);
  if (!compile(device, nvrtc_path, arch, tensors, &cubin, kernels_out)) {
    return false;
  }
  bool loaded = sj_module_load(device, cubin, &kernels_out->module);
  free(cubin);
  if (!loaded) {
    kernels_out->module = NULL;
  } else if (sj_module_function(device, kernels_out->module, "bench_copy", 0, &kernels_out->copy)) {
    loaded = find_floors(device, tensors, kernels_out);
  } else {
    loaded = false;
  }
  if (!loaded) {
    if (kernels_out->message[0] == '\0') {
      snprintf(kernels_out->message, sizeof kernels_out->message, "%s", device->message);
    }
    bench_kernels_unload(device, kernels_out);
  }
  return loaded;
}

void bench_kernels_unload(sj_device *device, bench_kernels *kernels)
{
  if (kernels->module != NULL) {
    sj_module_unload(device, kernels->module);
    kernels->module = NULL;
  }
}

/* ---- launches ---- */

static uint32_t num_groups(const bench_tensors *t, bench_step step, uint32_t group)
{
  uint32_t kv_head_heads = step.num_heads / t->k.num_kv_heads;
  return (kv_head_heads + group - 1) / group * t->k.num_kv_heads;
}

bool bench_kernels_has_floor(const sj_device *device, const bench_kernels *kernels, const bench_tensors *t,
                             bench_step step, bench_floor floor)
{
  uint32_t kv_head_heads = step.num_heads / t->k.num_kv_heads;
  uint32_t group = bench_floor_groups[floor.group];
  uint64_t ctas = (uint64_t)num_groups(t, step, group) * step.num_tokens;
  bool is_wide = floor.group > 0 && bench_floor_groups[floor.group - 1] >= kv_head_heads;
  bool is_narrow = group == 8 && kv_head_heads > 16; /* never the best: each row is loaded for few heads */
  bool is_same = floor.ctas > 1 && kernels->stages[0][floor.group] == kernels->stages[floor.ctas - 1][floor.group];
  bool is_split =
      floor.num_splits > 1
      && (t->window_size + t->extra_size <= LEAST_SHARE || ctas * floor.num_splits / 2 >= (uint64_t)device->num_sms);
  return kernels->floors[floor.ctas - 1][floor.group] != NULL && !is_wide && !is_narrow && !is_same && !is_split;
}

bool bench_kernels_floor(sj_device *device, const bench_kernels *kernels, const bench_tensors *t, bench_step step,
                         uint32_t set, bench_floor floor, sj_stream stream)
{
  bench_set addresses = bench_tensors_set(t, step, set);
  struct { /* as in floor.cu */
    sj_address q, k, v, extra, indices, extra_indices, out;
    uint32_t num_heads, num_splits;
  } tensors = {.q = addresses.q,
               .k = t->k.rows,
               .v = t->v.rows,
               .extra = t->extra.rows,
               .indices = addresses.indices,
               .extra_indices = addresses.extra_indices,
               .out = addresses.out,
               .num_heads = step.num_heads,
               .num_splits = floor.num_splits};
  const unsigned grid[3] = {num_groups(t, step, bench_floor_groups[floor.group]), step.num_tokens, floor.num_splits};
  void *params[] = {&tensors};
  return sj_function_launch(device, kernels->floors[floor.ctas - 1][floor.group], grid, BENCH_THREADS,
                            shared_bytes_of(t, kernels, floor), stream, params);
}

bool bench_kernels_copy(sj_device *device, const bench_kernels *kernels, sj_address from, sj_address to,
                        uint64_t num_bytes, sj_stream stream)
{
  unsigned long long num_chunks = num_bytes / CHUNK_BYTES;
  unsigned long long per_cta = (unsigned long long)BENCH_THREADS * COPY_CHUNKS_PER_THREAD;
  const unsigned grid[3] = {(unsigned)((num_chunks + per_cta - 1) / per_cta), 1, 1};
  void *params[] = {&from, &to, &num_chunks};
  return sj_function_launch(device, kernels->copy, grid, BENCH_THREADS, 0, stream, params);
}
