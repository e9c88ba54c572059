/* SPDX-License-Identifier: Apache-2.0 */
/* The presets: what the attention layers of known models ask for. */
#ifndef WARM_PRESETS_H
#define WARM_PRESETS_H

#include <stdint.h>

/* One shape of a preset; a preset is all rows of its name, which stand together. */
typedef struct warm_shape {
  const char *preset;
  uint32_t num_heads; /* of a layer; 0: the configuration as it is, with the default head_group and kv_tile */
  uint32_t num_kv_heads;
  const char *kv_format; /* of both scopes, unless --kv-format names others */
  const char *fields;    /* the rest that differs from the defaults, as the text of a configuration */
} warm_shape;

/* NULL behind the last one. */
const warm_shape *warm_shape_at(unsigned index);

enum { WARM_NUM_PARALLEL = 5 };

/* Query heads of a KV head when a layer's heads are divided among 1, 2, 4, 8 and 16 devices, each with a KV head at
 * least; 0 where they cannot be. */
void warm_shape_heads(const warm_shape *shape, uint32_t heads_out[WARM_NUM_PARALLEL]);

#endif
