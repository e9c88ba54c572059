/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor copies as CUDA C++ has them, compiled by NVRTC where there is one: a tile of bf16 is loaded with the swizzle
 * of 128 bytes into both blocks of a cluster at once, read through the swizzle, and stored back by another map.
 * Argument: an architecture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "machine.h"
#include "tensor_map.h"

enum { SKIPPED = 77, ROWS = 32, COLUMNS = 64, TILE = ROWS * COLUMNS, WIDTH = 192, HEIGHT = 100, SEEDS = 6 };

static const char source[] =
    "typedef unsigned u32; typedef unsigned long long u64; typedef unsigned short u16;\n"
    "struct __align__(64) tensor_map { char bytes[128]; };\n"
    "__device__ u32 shared_address(const void *at) { return (u32)__cvta_generic_to_shared(at); }\n"
    "__device__ void cluster_meet() {\n"
    "  asm volatile(\"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\" ::: "
    "\"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) move(const __grid_constant__ tensor_map from,\n"
    "                                                          const __grid_constant__ tensor_map to, int column,\n"
    "                                                          int row) {\n"
    "  __shared__ alignas(1024) u16 tile[32 * 64];\n"
    "  __shared__ alignas(1024) u16 plain[32 * 64];\n"
    "  __shared__ u64 full;\n"
    "  u32 rank;\n"
    "  asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(rank));\n"
    "  const u32 bar = shared_address(&full);\n"
    "  if (threadIdx.x == 0) {\n"
    "    asm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" ::\"r\"(bar) : \"memory\");\n"
    "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4096;\" ::\"r\"(bar) : \"memory\");\n"
    "  }\n"
    "  cluster_meet();\n"
    "  if (threadIdx.x == 0) {\n"
    "    asm volatile(\n"
    "        \"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster\"\n"
    "        \" [%0], [%1, {%2, %3}], [%4], %5;\" ::\"r\"(shared_address(tile) + rank * 2048u),\n"
    "        \"l\"(&from), \"r\"(column), \"r\"(row + (int)rank * 16), \"r\"(bar), \"h\"((u16)3)\n"
    "        : \"memory\");\n"
    "  }\n"
    "  u32 done = 0;\n"
    "  while (!done) {\n"
    "    asm volatile(\"{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }\"\n"
    "                 : \"=r\"(done) : \"r\"(bar) : \"memory\");\n"
    "  }\n"
    "  for (u32 i = threadIdx.x; i < 32 * 64; i += blockDim.x) {\n"
    "    const u32 r = i / 64, chunk = i % 64 / 8 ^ r % 8;\n"
    "    plain[i] = tile[r * 64 + chunk * 8 + i % 8] ^ (u16)rank;\n"
    "  }\n"
    "  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x == 0) {\n"
    "    asm volatile(\"cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];\" "
    "::\"l\"(&to),\n"
    "                 \"r\"(0), \"r\"(0), \"r\"((int)rank), \"r\"(shared_address(plain))\n"
    "                 : \"memory\");\n"
    "    asm volatile(\"cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "  }\n"
    "  cluster_meet();\n"
    "}\n";

typedef struct parameters {
  uint8_t from[EMU_MAP_BYTES], to[EMU_MAP_BYTES];
  int32_t column, row;
} parameters;

static uint16_t tensor[HEIGHT][WIDTH], tiles[2][ROWS][COLUMNS];

static void make_maps(parameters *of, uint64_t from, uint64_t to)
{
  const emu_tensor_map source_map = {.type = EMU_MAP_BF16,
                                     .rank = 2,
                                     .address = from,
                                     .dims = {WIDTH, HEIGHT},
                                     .strides = {WIDTH * 2},
                                     .box = {COLUMNS, ROWS / 2},
                                     .steps = {1, 1},
                                     .swizzle = EMU_MAP_SWIZZLE_128};
  const emu_tensor_map target_map = {.type = EMU_MAP_U16,
                                     .rank = 3,
                                     .address = to,
                                     .dims = {COLUMNS, ROWS, 2},
                                     .strides = {COLUMNS * 2, TILE * 2},
                                     .box = {COLUMNS, ROWS, 1},
                                     .steps = {1, 1, 1}};
  emu_tensor_map_encode(&source_map, of->from);
  emu_tensor_map_encode(&target_map, of->to);
}

static unsigned count_wrong(const parameters *of)
{
  unsigned wrong = 0;
  for (int i = 0; i < 2 * TILE; i++) {
    const int rank = i / TILE, r = of->row + i / COLUMNS % ROWS, c = of->column + i % COLUMNS;
    const bool is_inside = r >= 0 && r < HEIGHT && c >= 0 && c < WIDTH;
    const uint16_t wanted = (uint16_t)((is_inside ? tensor[r][c] : 0) ^ rank);
    wrong += tiles[rank][i / COLUMNS % ROWS][i % COLUMNS] != wanted;
  }
  return wrong;
}

static int run_at(const emu_device *device, const emu_module *module, int32_t column, int32_t row, uint64_t seed)
{
  parameters of = {.column = column, .row = row};
  emu_message report = {""};
  const uint64_t from = emu_alloc(sizeof tensor), to = emu_alloc(sizeof tiles);
  emu_copy_in(from, tensor, sizeof tensor);
  make_maps(&of, from, to);
  const emu_launch how = {.kernel = emu_module_kernel(module, "move"),
                          .grid = {2, 1, 1},
                          .block = {128, 1, 1},
                          .params = &of,
                          .params_size = sizeof of};
  emu_configure(&(emu_settings){seed, 1});
  const int result = emu_run(device, &how, NULL, &report);
  emu_copy_out(tiles, to, sizeof tiles);
  emu_free(from);
  emu_free(to);
  const unsigned wrong = result == EMU_OK ? count_wrong(&of) : 0;
  if (result != EMU_OK || wrong != 0) {
    printf("failed at (%d, %d), seed %llu: result %d, %u elements wrong\n%s\n", column, row, (unsigned long long)seed,
           result, wrong, report.text);
  }
  return result != EMU_OK || wrong != 0;
}

static int run_all(const emu_device *device, const char *ptx)
{
  static const int32_t places[][2] = {{0, 0}, {64, 32}, {100, 80}, {-5, -9}, {191, 99}};
  emu_module *module = NULL;
  emu_message message;
  if (emu_module_load(ptx, strlen(ptx), device, &module, &message) != EMU_OK) {
    printf("failed: %s\n", message.text);
    return 1;
  }
  int failures = 0;
  for (unsigned i = 0; i < SEEDS * sizeof places / sizeof places[0]; i++) {
    failures += run_at(device, module, places[i / SEEDS][0], places[i / SEEDS][1], i % SEEDS + 1);
  }
  emu_module_free(module);
  return failures;
}

int main(int argc, char **argv)
{
  const sj_arch *arch = argc == 2 ? sj_arch_find_name(argv[1]) : NULL;
  const emu_device *device = argc == 2 ? emu_device_find(argv[1]) : NULL;
  const sj_log silence = {0};
  sj_nvrtc_api nvrtc;
  sj_compiled compiled;
  if (arch == NULL || device == NULL) {
    printf("failed: wants an architecture\n");
    return 1;
  }
  if (sj_nvrtc_api_open(NULL, NULL, arch->min_nvrtc, &silence, &nvrtc) != SWA_JIT_OK) {
    printf("skipped: %s\n", swa_jit_message());
    return SKIPPED;
  }
  for (unsigned i = 0; i < HEIGHT * WIDTH; i++) {
    tensor[i / WIDTH][i % WIDTH] = (uint16_t)(i * 40503u >> 3);
  }
  const swa_jit_status status = sj_compile_run(&nvrtc, arch, "move", source, SJ_COMPILE_PTX_ALONE, &silence, &compiled);
  if (status != SWA_JIT_OK) {
    printf("failed: %s\n%s\n", swa_jit_message(), compiled.log == NULL ? "" : compiled.log);
  }
  const int failures = status == SWA_JIT_OK ? run_all(device, compiled.ptx) : 1;
  sj_compiled_finish(&compiled);
  sj_nvrtc_api_close(&nvrtc);
  return failures == 0 ? 0 : 1;
}
