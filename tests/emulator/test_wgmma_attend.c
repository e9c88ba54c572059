/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma as CUDA C++ uses it, compiled by NVRTC: wgmma_attend.cu against a reference in doubles, and with each of its
 * planted faults. Argument: the source. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "machine.h"
#include "numbers.h"
#include "tensor_map.h"

enum { SKIPPED = 77, ROWS = 64, DIMS = 128, TILES = 5, KEYS = ROWS * TILES, SEEDS = 5, SHARED = 1024 + 10 * 8192 };

typedef struct parameters {
  uint8_t q[EMU_MAP_BYTES], k[EMU_MAP_BYTES], v[EMU_MAP_BYTES];
  uint64_t out;
  int32_t tiles;
  float scale;
} parameters;

static const struct {
  const char *what;
  const char *says[2]; /* one of them; NULL: no fault */
} faults[] = {
    {"none", {NULL, NULL}},
    {"the barrier's phase is the other one", {"race: ", "uninitialised: "}},
    {"no wait for the scores", {"is an accumulator of a product in flight", NULL}},
    {"a stage is given back before its products", {"race: ", NULL}},
    {"no wgmma.fence behind the weights", {"of A was accessed since the last wgmma.fence", NULL}},
    {"no wait for the result", {"is an accumulator of a product in flight", NULL}},
};
enum { NUM_FAULTS = sizeof faults / sizeof faults[0] };

static uint16_t q[ROWS][DIMS], k[KEYS][DIMS], v[KEYS][DIMS];
static float out[ROWS][DIMS];
static const float scale = 0.125f;

static void draw(uint16_t *to, size_t count, uint64_t state)
{
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    to[i] = (uint16_t)emu_to_bf16((float)(int32_t)(state >> 40) * 0x1p-24f - 0.5f);
  }
}

/* The largest error, as a part of what rounding the weights to bf16 may make. */
static double worst_error(void)
{
  double worst = 0;
  for (int m = 0; m < ROWS; m++) {
    double sum[DIMS] = {0}, terms[DIMS] = {0};
    for (int j = 0; j < KEYS; j++) {
      double score = 0;
      for (int d = 0; d < DIMS; d++) {
        score += (double)emu_bf16_value(q[m][d]) * (double)emu_bf16_value(k[j][d]);
      }
      const double weight = (double)emu_bf16_value(emu_to_bf16((float)score * scale));
      for (int d = 0; d < DIMS; d++) {
        sum[d] += weight * (double)emu_bf16_value(v[j][d]);
        terms[d] += fabs(weight * (double)emu_bf16_value(v[j][d]));
      }
    }
    for (int d = 0; d < DIMS; d++) {
      const double error = fabs((double)out[m][d] - sum[d]) / (terms[d] * 0x1p-8);
      worst = error > worst || isnan(error) ? error : worst;
    }
  }
  return worst;
}

static void make_map(uint8_t *to, uint64_t address, uint64_t rows)
{
  const emu_tensor_map map = {.type = EMU_MAP_BF16,
                              .rank = 2,
                              .address = address,
                              .dims = {DIMS, rows},
                              .strides = {DIMS * 2},
                              .box = {64, ROWS},
                              .steps = {1, 1},
                              .swizzle = EMU_MAP_SWIZZLE_128};
  emu_tensor_map_encode(&map, to);
}

static int launch(const emu_device *device, const emu_module *module, uint64_t seed, unsigned blocks,
                  emu_message *report)
{
  const uint64_t memory[4] = {emu_alloc(sizeof q), emu_alloc(sizeof k), emu_alloc(sizeof v), emu_alloc(sizeof out)};
  emu_copy_in(memory[0], q, sizeof q);
  emu_copy_in(memory[1], k, sizeof k);
  emu_copy_in(memory[2], v, sizeof v);
  parameters of = {.out = memory[3], .tiles = TILES, .scale = scale};
  make_map(of.q, memory[0], ROWS);
  make_map(of.k, memory[1], KEYS);
  make_map(of.v, memory[2], KEYS);
  const emu_launch how = {.kernel = emu_module_kernel(module, "attend"),
                          .grid = {blocks, 1, 1},
                          .cluster = {blocks, 1, 1},
                          .block = {256, 1, 1},
                          .dynamic_shared = SHARED,
                          .params = &of,
                          .params_size = sizeof of};
  emu_configure(&(emu_settings){seed, 1});
  report->text[0] = 0;
  const int result = emu_run(device, &how, NULL, report);
  emu_copy_out(out, memory[3], sizeof out);
  for (unsigned i = 0; i < 4; i++) {
    emu_free(memory[i]);
  }
  return result;
}

static int try_fault(const emu_device *device, const emu_module *module, unsigned fault, uint64_t seed)
{
  emu_message report;
  /* In a cluster both blocks make the same result. */
  const int result = launch(device, module, seed, 1 + (unsigned)(seed % 2), &report);
  const char *const *says = faults[fault].says;
  if (fault == 0) {
    const double error = result == EMU_OK ? worst_error() : INFINITY;
    if (!(error < 0.5)) {
      printf("failed, seed %llu: result %d, error %g\n%s\n", (unsigned long long)seed, result, error, report.text);
    }
    return !(error < 0.5);
  }
  const bool is_told =
      result != EMU_OK
      && (strstr(report.text, says[0]) != NULL || (says[1] != NULL && strstr(report.text, says[1]) != NULL));
  if (!is_told) {
    printf("failed: %s, seed %llu: result %d\n%s\n", faults[fault].what, (unsigned long long)seed, result, report.text);
  }
  return !is_told;
}

static int try_all(const emu_device *device, const sj_arch *arch, const sj_nvrtc_api *nvrtc, const char *source,
                   unsigned fault)
{
  static char text[65536];
  const sj_log silence = {0};
  sj_compiled compiled;
  emu_module *module = NULL;
  emu_message message;
  (void)snprintf(text, sizeof text, "#define FAULT %u\n%s", fault, source);
  if (sj_compile_run(nvrtc, arch, "attend", text, SJ_COMPILE_PTX_ALONE, &silence, &compiled) != SWA_JIT_OK) {
    printf("failed: %s\n%s\n", swa_jit_message(), compiled.log == NULL ? "" : compiled.log);
    sj_compiled_finish(&compiled);
    return 1;
  }
  int failures = 0;
  if (emu_module_load(compiled.ptx, strlen(compiled.ptx), device, &module, &message) != EMU_OK) {
    printf("failed: %s\n", message.text);
    failures = 1;
  }
  for (uint64_t seed = 1; seed <= SEEDS && failures == 0; seed++) {
    failures += try_fault(device, module, fault, seed);
  }
  emu_module_free(module);
  sj_compiled_finish(&compiled);
  return failures;
}

static char *read_file(const char *path)
{
  FILE *from = fopen(path, "rb");
  char *text = calloc(1, 60000);
  if (from == NULL || text == NULL || fread(text, 1, 59999, from) == 0) {
    free(text);
    text = NULL;
  }
  if (from != NULL) {
    fclose(from);
  }
  return text;
}

int main(int argc, char **argv)
{
  const sj_arch *arch = sj_arch_find_name("sm_90a");
  const emu_device *device = emu_device_find("sm_90a");
  const sj_log silence = {0};
  sj_nvrtc_api nvrtc;
  char *source = argc == 2 ? read_file(argv[1]) : NULL;
  if (source == NULL) {
    printf("failed: wants the source\n");
    return 1;
  }
  if (sj_nvrtc_api_open(NULL, NULL, arch->min_nvrtc, &silence, &nvrtc) != SWA_JIT_OK) {
    printf("skipped: %s\n", swa_jit_message());
    free(source);
    return SKIPPED;
  }
  draw(&q[0][0], sizeof q / 2, 1);
  draw(&k[0][0], sizeof k / 2, 2);
  draw(&v[0][0], sizeof v / 2, 3);
  int failures = 0;
  for (unsigned fault = 0; fault < NUM_FAULTS; fault++) {
    failures += try_all(device, arch, &nvrtc, source, fault);
  }
  sj_nvrtc_api_close(&nvrtc);
  free(source);
  return failures == 0 ? 0 : 1;
}
