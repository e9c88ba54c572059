/* SPDX-License-Identifier: Apache-2.0 */
#include "write_pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv_formats.h"
#include "memory.h"
#include "number.h"
#include "reference.h"
#include "write_row.h"

enum { MESSAGE_SIZE = 1024 };

typedef struct writer {
  const run_options *options;
  sj_npy from;
  run_pool pool;
  uint32_t scale_type;
  run_tensor rows, scales;
} writer;

static bool complain(const char *message)
{
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return false;
}

static uint64_t num_rows(const run_pool *pool)
{
  return pool->num_blocks * pool->block_size * pool->num_kv_heads;
}

/* ---- what is asked for ------------------------------------------------------------------------------------ */

/* The library reads the names, and says which head_dim a format has. */
static bool find_format(writer *w, uint64_t head_dim)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  char text[256];
  snprintf(text, sizeof text, "head_dim=%llu kv_format=%.64s scale_type=%.64s", (unsigned long long)head_dim,
           w->options->kv_format, w->options->scale_type);
  if (swa_jit_config_from_text(text, &config) != SWA_JIT_OK || swa_jit_config_check(&config, NULL) == SWA_JIT_INVALID) {
    return complain(swa_jit_message());
  }
  w->pool.kv_format = config.kv_format;
  w->pool.head_dim = config.head_dim;
  w->scale_type = config.scale_type;
  return true;
}

/* Blocks and KV heads by the file's shape; of two dimensions by --block-size. */
static bool find_shape(writer *w)
{
  const uint64_t *shape = w->from.shape;
  uint64_t block_size = w->from.num_dims == 2 ? w->options->block_size : shape[1];
  uint64_t num_blocks = w->from.num_dims == 2 ? shape[0] / block_size : shape[0];
  uint64_t num_kv_heads = w->from.num_dims == 4 ? shape[2] : 1;
  if (w->from.num_elements == 0 || (w->from.num_dims == 2 && shape[0] % block_size != 0)) {
    fprintf(stderr, "%s: %s: %llu rows make no whole blocks of %llu slots: add rows, or use another --block-size\n",
            run_cli.name, w->options->from, (unsigned long long)shape[0], (unsigned long long)block_size);
    return false;
  }
  if (num_blocks > INT32_MAX || block_size > INT32_MAX || num_blocks * block_size > INT32_MAX || num_kv_heads > 65535) {
    fprintf(stderr, "%s: %s: a pool has at most %d slots and 65535 KV heads: split the file\n", run_cli.name,
            w->options->from, INT32_MAX);
    return false;
  }
  w->pool.num_blocks = num_blocks;
  w->pool.block_size = (uint32_t)block_size;
  w->pool.num_kv_heads = (uint32_t)num_kv_heads;
  if (num_kv_heads > 1 && sj_reference_find_footer(w->pool.kv_format) != NULL) {
    fprintf(stderr, "%s: %s: it has %llu KV heads: a footer format has 1; write a pool for each\n", run_cli.name,
            w->options->from, (unsigned long long)num_kv_heads);
    return false;
  }
  return true;
}

static bool open_rows(writer *w)
{
  char message[MESSAGE_SIZE];
  const char *path = w->options->from;
  if (!sj_npy_read(path, &w->from, message, sizeof message)) {
    return complain(message);
  }
  unsigned num_dims = w->from.num_dims < 2 ? 2 : w->from.num_dims > 4 ? 4 : w->from.num_dims;
  if (!sj_npy_expect(&w->from, path, "f4,u2,V2", num_dims, message, sizeof message)) {
    return complain(message);
  }
  return find_format(w, w->from.shape[num_dims - 1]) && find_shape(w);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

/* False: an element is not finite, which has no place in a cache. */
static bool read_row(const writer *w, uint64_t number, double *row)
{
  uint64_t first = number * w->pool.head_dim;
  bool is_float = w->from.type[0] == 'f';
  for (uint32_t d = 0; d < w->pool.head_dim; d++) {
    row[d] = is_float ? (double)((const float *)w->from.data)[first + d]
                      : sj_reference_bf16(((const uint16_t *)w->from.data)[first + d]);
    if (!isfinite(row[d])) {
      fprintf(stderr, "%s: %s: element %u of row %llu is %g: give finite numbers\n", run_cli.name, w->options->from, d,
              (unsigned long long)number, row[d]);
      return false;
    }
  }
  return true;
}

static bool choose_scale(writer *w, double *row)
{
  double largest = 0.0;
  for (uint64_t i = 0; i < num_rows(&w->pool); i++) {
    if (!read_row(w, i, row)) {
      return false;
    }
    largest = fmax(largest, sj_reference_largest(row, w->pool.head_dim));
  }
  w->pool.scale = (float)sj_reference_e4m3_scale(largest);
  return true;
}

static bool quantise(writer *w)
{
  double *row = sj_memory_get(w->pool.head_dim, sizeof *row);
  bool read = w->pool.kv_format != SWA_JIT_KV_E4M3 || choose_scale(w, row);
  w->rows.bytes = w->pool.num_blocks * run_pool_block_bytes(&w->pool);
  w->rows.data = sj_memory_get(w->rows.bytes, 1);
  if (w->options->write_inv_scale != NULL) {
    w->scales.bytes = num_rows(&w->pool) * (w->scale_type == SWA_JIT_BFLOAT16 ? 2 : 4);
    w->scales.data = sj_memory_get(w->scales.bytes, 1);
  }
  for (uint64_t i = 0; i < num_rows(&w->pool) && read; i++) {
    read = read_row(w, i, row);
    if (read) {
      run_write_row(&w->pool, w->rows.data, w->scales.data, w->scale_type, i / w->pool.num_kv_heads,
                    (uint32_t)(i % w->pool.num_kv_heads), row);
    }
  }
  free(row);
  return read;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* The shape as --kv and --inv-scale read it: without KV heads where the rows' file has none. */
static bool write_file(const writer *w, const char *path, const char *type, uint64_t last, run_tensor tensor)
{
  char message[MESSAGE_SIZE];
  uint64_t shape[4] = {w->pool.num_blocks, w->pool.block_size};
  unsigned num_dims = 2;
  if (w->from.num_dims == 4) {
    shape[num_dims++] = w->pool.num_kv_heads;
  }
  if (last != 0) {
    shape[num_dims++] = last;
  }
  return sj_npy_write(path, type, shape, num_dims, tensor.data, tensor.bytes, message, sizeof message)
         || complain(message);
}

static bool write_files(const writer *w)
{
  bool is_bf16 = w->pool.kv_format == SWA_JIT_KV_BF16;
  uint64_t last =
      is_bf16 ? w->pool.head_dim : run_pool_block_bytes(&w->pool) / w->pool.block_size / w->pool.num_kv_heads;
  return write_file(w, w->options->write_pool, is_bf16 ? "<u2" : "|u1", last, w->rows)
         && (w->options->write_inv_scale == NULL
             || write_file(w, w->options->write_inv_scale, w->scale_type == SWA_JIT_BFLOAT16 ? "<u2" : "<f4", 0,
                           w->scales));
}

static void print_written(const writer *w)
{
  printf("%s: %llu block%s of %u slot%s, %s\n", w->options->write_pool, (unsigned long long)w->pool.num_blocks,
         sj_number_ending(w->pool.num_blocks), w->pool.block_size, sj_number_ending(w->pool.block_size),
         w->options->kv_format);
  if (w->pool.kv_format == SWA_JIT_KV_E4M3) {
    printf("scale %.9g\n", (double)w->pool.scale);
  }
}

run_outcome run_write_pool(const run_options *options)
{
  writer w = {.options = options};
  bool written = open_rows(&w) && quantise(&w) && write_files(&w);
  if (written) {
    print_written(&w);
  }
  free(w.rows.data);
  free(w.scales.data);
  sj_npy_finish(&w.from);
  return written ? RUN_GOOD : RUN_BAD;
}
