/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor_source.h"
#include "nvrtc.h"

enum { CHUNK_BYTES = 16, COPY_CHUNKS_PER_THREAD = 4 };

const uint32_t bench_floor_groups[BENCH_NUM_FLOORS] = {16, 32, 64, 128};

static bool compile(const char *nvrtc_path, const char *arch, uint32_t head_dim, uint32_t window_size, char **cubin_out,
                    bench_kernels *kernels)
{
  char arch_option[64];
  char dim_option[32];
  char window_option[32];
  snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s", arch);
  snprintf(dim_option, sizeof dim_option, "-DHEAD_DIM=%u", head_dim);
  snprintf(window_option, sizeof window_option, "-DWINDOW_SIZE=%u", window_size);
  const char *const options[] = {arch_option, dim_option, window_option, "--std=c++17"};
  return bench_nvrtc_compile(nvrtc_path, bench_floor_source, "floor.cu", options, sizeof options / sizeof options[0],
                             cubin_out, kernels->message, sizeof kernels->message);
}

/* A floor whose shared memory the device refuses is left out; one at least must fit. */
static bool find_functions(sj_device *device, uint32_t head_dim, uint32_t window_size, bench_kernels *kernels)
{
  unsigned num_found = 0;
  if (!sj_module_function(device, kernels->module, "bench_copy", 0, &kernels->copy)) {
    snprintf(kernels->message, sizeof kernels->message, "%s", device->message);
    return false;
  }
  for (int i = 0; i < BENCH_NUM_FLOORS; i++) {
    bench_floor *floor = &kernels->floors[i];
    char name[32];
    snprintf(name, sizeof name, "bench_floor_%u", bench_floor_groups[i]);
    floor->shared_bytes = bench_floor_groups[i] * head_dim * 2 + window_size * head_dim;
    if (sj_module_function(device, kernels->module, name, floor->shared_bytes, &floor->function)) {
      num_found++;
    } else {
      floor->function = NULL;
    }
  }
  if (num_found == 0) {
    snprintf(kernels->message, sizeof kernels->message,
             "no floor: a window of %u rows of %u bytes does not fit into shared memory (%s)", window_size, head_dim,
             device->message);
  }
  return num_found > 0;
}

bool bench_kernels_load(sj_device *device, const char *nvrtc_path, const char *arch, uint32_t head_dim,
                        uint32_t window_size, bench_kernels *kernels_out)
{
  char *cubin = NULL;
  memset(kernels_out, 0, sizeof *kernels_out);
  if (!compile(nvrtc_path, arch, head_dim, window_size, &cubin, kernels_out)) {
    return false;
  }
  bool loaded = sj_module_load(device, cubin, &kernels_out->module);
  free(cubin);
  if (!loaded) {
    snprintf(kernels_out->message, sizeof kernels_out->message, "%s", device->message);
    kernels_out->module = NULL;
    return false;
  }
  if (!find_functions(device, head_dim, window_size, kernels_out)) {
    bench_kernels_unload(device, kernels_out);
    return false;
  }
  return true;
}

void bench_kernels_unload(sj_device *device, bench_kernels *kernels)
{
  if (kernels->module != NULL) {
    sj_module_unload(device, kernels->module);
    kernels->module = NULL;
  }
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
