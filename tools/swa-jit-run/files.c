/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

enum { MESSAGE_SIZE = 1024, SHAPE_SIZE = 200 };

/* What is being read. */
typedef struct reader {
  run_options *options;
  sj_npy *files;
} reader;

static bool complain(const char *message)
{
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return false;
}

/* ---- types and ranks -------------------------------------------------------------------------------------- */

static const char *row_types(const char *format)
{
  return strcmp(format, "bf16") == 0 ? "u2,V2" : "u1,V1";
}

/* Of the last dimension of a pool: of a footer format a row with its part of the footer. */
static uint64_t row_elements(const char *format, uint64_t head_dim)
{
  return strcmp(format, "footer_584") == 0 ? 584 : strcmp(format, "footer_528") == 0 ? 528 : head_dim;
}

static bool read_one(const reader *r, enum run_input which, const char *types, unsigned least_dims, unsigned most_dims)
{
  char message[MESSAGE_SIZE];
  const char *path = r->options->inputs[which];
  sj_npy *file = &r->files[which];
  if (path == NULL) {
    return true;
  }
  if (!sj_npy_read(path, file, message, sizeof message)) {
    return complain(message);
  }
  unsigned num_dims = file->num_dims < least_dims  ? least_dims
                      : file->num_dims > most_dims ? most_dims
                                                   : file->num_dims;
  return sj_npy_expect(file, path, types, num_dims, message, sizeof message) || complain(message);
}

static bool read_all(const reader *r)
{
  static const char scale_types[] = "f4,u2,V2";
  const run_options *options = r->options;
  const char *rows = row_types(options->kv_format);
  const char *extra_rows = row_types(options->extra_format != NULL ? options->extra_format : "");
  return read_one(r, RUN_Q, "u2,V2", 3, 3) && read_one(r, RUN_KV, rows, 3, 4)
         && read_one(r, RUN_INV_SCALE, scale_types, 1, 3) && read_one(r, RUN_INDICES, "i4,i8", 2, 2)
         && read_one(r, RUN_LENS, "i4,i8", 1, 1) && read_one(r, RUN_SINKS, "f4", 1, 1) && read_one(r, RUN_V, rows, 3, 4)
         && read_one(r, RUN_V_INV_SCALE, scale_types, 1, 3)
         && read_one(r, RUN_V_INDICES, r->files[RUN_INDICES].type, 2, 2) && read_one(r, RUN_EXTRA_KV, extra_rows, 3, 3)
         && read_one(r, RUN_EXTRA_INV_SCALE, scale_types, 1, 2)
         && read_one(r, RUN_EXTRA_INDICES, r->files[RUN_INDICES].type, 2, 2)
         && read_one(r, RUN_EXTRA_LENS, r->files[RUN_LENS].type, 1, 1);
}

/* ---- shapes ----------------------------------------------------------------------------------------------- */

/* Whether dimension at of one file is wanted, which is another's or the product of two. */
static bool match(const reader *r, enum run_input which, unsigned at, uint64_t wanted, const char *what)
{
  const sj_npy *file = &r->files[which];
  char shape[SHAPE_SIZE];
  if (r->options->inputs[which] == NULL || file->shape[at] == wanted) {
    return true;
  }
  sj_npy_shape_text(file->shape, file->num_dims, shape, sizeof shape);
  fprintf(stderr, "%s: %s: the shape is %s: its dimension %u must be %llu, %s\n", run_cli.name,
          r->options->inputs[which], shape, at, (unsigned long long)wanted, what);
  return false;
}

static uint64_t num_kv_heads(const sj_npy *pool)
{
  return pool->num_dims == 4 ? pool->shape[2] : 1;
}

/* Scales lie by slot, or by block and slot; then by KV head, where the pool's shape has them. */
static bool match_scales(const reader *r, enum run_input which, const sj_npy *pool)
{
  const sj_npy *file = &r->files[which];
  unsigned head_dims = pool->num_dims == 4 ? 1 : 0;
  bool is_flat = file->num_dims == 1 + head_dims;
  char message[MESSAGE_SIZE];
  if (r->options->inputs[which] == NULL) {
    return true;
  }
  if (!is_flat && !sj_npy_expect(file, r->options->inputs[which], file->type, 2 + head_dims, message, sizeof message)) {
    return complain(message);
  }
  bool matched = is_flat
                     ? match(r, which, 0, pool->shape[0] * pool->shape[1], "the other files' num_blocks * block_size")
                     : match(r, which, 0, pool->shape[0], "the other files' num_blocks")
                           && match(r, which, 1, pool->shape[1], "the other files' block_size");
  return matched
         && (head_dims == 0 || match(r, which, file->num_dims - 1, pool->shape[2], "the other files' num_kv_heads"));
}

/* Scales of all pools are of one type, as their configuration has. */
static bool match_scale_types(const reader *r)
{
  static const enum run_input scales[] = {RUN_INV_SCALE, RUN_V_INV_SCALE, RUN_EXTRA_INV_SCALE};
  const char *first = NULL;
  char message[MESSAGE_SIZE];
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
    const sj_npy *file = &r->files[scales[i]];
    const char *path = r->options->inputs[scales[i]];
    first = first == NULL && path != NULL ? file->type : first;
    if (path != NULL
        && !sj_npy_expect(file, path, first[0] == 'f' ? "f4" : "u2,V2", file->num_dims, message, sizeof message)) {
      return complain(message);
    }
  }
  return true;
}

static const char *last_name(const char *format)
{
  return row_elements(format, 0) != 0 ? "the bytes of a slot in its format" : "the other files' head_dim";
}

static bool match_shapes(const reader *r)
{
  const run_options *options = r->options;
  const sj_npy *q = &r->files[RUN_Q];
  const sj_npy *kv = &r->files[RUN_KV];
  const sj_npy *v = &r->files[RUN_V];
  const sj_npy *extra = &r->files[RUN_EXTRA_KV];
  if (!match(r, RUN_KV, kv->num_dims - 1, row_elements(options->kv_format, q->shape[2]), last_name(options->kv_format))
      || !match(r, RUN_INDICES, 0, q->shape[0], "the other files' num_tokens")
      || !match(r, RUN_LENS, 0, q->shape[0], "the other files' num_tokens")
      || !match(r, RUN_SINKS, 0, q->shape[1], "the other files' num_heads") || !match_scales(r, RUN_INV_SCALE, kv)
      || !match(r, RUN_V, 0, kv->shape[0], "the other files' num_blocks")
      || !match(r, RUN_V, 1, kv->shape[1], "the other files' block_size") || !match_scales(r, RUN_V_INV_SCALE, v)
      || !match(r, RUN_V_INDICES, 0, q->shape[0], "the other files' num_tokens")
      || !match(r, RUN_V_INDICES, 1, r->files[RUN_INDICES].shape[1], "the other files' window_size")
      || !match_scale_types(r)) {
    return false;
  }
  if (options->inputs[RUN_V] != NULL && num_kv_heads(v) != num_kv_heads(kv)) {
    fprintf(stderr, "%s: %s: it has %llu KV head%s, and %s has %llu: give both as many\n", run_cli.name,
            options->inputs[RUN_V], (unsigned long long)num_kv_heads(v), sj_number_ending(num_kv_heads(v)),
            options->inputs[RUN_KV], (unsigned long long)num_kv_heads(kv));
    return false;
  }
  return options->extra_format == NULL
         || (match(r, RUN_EXTRA_KV, 2, row_elements(options->extra_format, q->shape[2]),
                   last_name(options->extra_format))
             && match_scales(r, RUN_EXTRA_INV_SCALE, extra)
             && match(r, RUN_EXTRA_INDICES, 0, q->shape[0], "the other files' num_tokens")
             && match(r, RUN_EXTRA_LENS, 0, q->shape[0], "the other files' num_tokens"));
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static const char *int_type(const sj_npy *file)
{
  return file->type[1] == '8' ? "int64" : "int32";
}

static void describe(const reader *r)
{
  static const enum run_input scales[] = {RUN_INV_SCALE, RUN_V_INV_SCALE, RUN_EXTRA_INV_SCALE};
  run_options *options = r->options;
  const sj_npy *files = r->files;
  options->num_tokens = files[RUN_Q].shape[0];
  options->num_heads = files[RUN_Q].shape[1];
  options->head_dim = files[RUN_Q].shape[2];
  options->num_blocks = files[RUN_KV].shape[0];
  options->block_size = files[RUN_KV].shape[1];
  options->num_kv_heads = num_kv_heads(&files[RUN_KV]);
  options->window_size = files[RUN_INDICES].shape[1];
  options->head_dim_v = options->inputs[RUN_V] != NULL ? files[RUN_V].shape[files[RUN_V].num_dims - 1] : 0;
  options->with_sinks = options->inputs[RUN_SINKS] != NULL;
  options->index_type = int_type(&files[RUN_INDICES]);
  options->lens_type = int_type(&files[RUN_LENS]);
  options->scale_type = "float32";
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
    if (options->inputs[scales[i]] != NULL && files[scales[i]].type[0] != 'f') {
      options->scale_type = "bfloat16";
    }
  }
  options->extra_size = 0;
  if (options->inputs[RUN_EXTRA_KV] != NULL) {
    options->extra_size = files[RUN_EXTRA_INDICES].shape[1];
    options->extra_num_blocks = files[RUN_EXTRA_KV].shape[0];
    options->extra_block_size = files[RUN_EXTRA_KV].shape[1];
  }
}

bool run_files_read(run_options *options, sj_npy files[RUN_NUM_INPUTS])
{
  const reader r = {.options = options, .files = files};
  if (!read_all(&r) || !match_shapes(&r)) {
    return false;
  }
  describe(&r);
  return true;
}
