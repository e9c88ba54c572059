/* SPDX-License-Identifier: Apache-2.0 */
#include "grid.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const uint32_t head_dims[] = {64, 96, 128, 192, 256, 512};
static const uint32_t head_groups[] = {8, 16, 32, 64, 128};
static const uint32_t kv_tiles[] = {16, 32, 64, 128};

size_t decode_grid_num_tilings(void)
{
  return COUNT(head_dims) * COUNT(head_groups) * COUNT(kv_tiles);
}

/* Report 49: one configuration of many never ends, since a barrier waits for more than arrive. */
void decode_grid_tiling(size_t at, decode_case *which_out)
{
  static const uint32_t windows[] = {128, 100, 129, 7, 256, 16, 500};
  static const uint32_t lens[] = {DECODE_LENS_UNIFORM, DECODE_LENS_FULL, DECODE_LENS_GAPS};
  static const uint32_t slots[] = {DECODE_SLOTS_RANDOM, DECODE_SLOTS_MASKED_SOME};

  decode_case_init(which_out);
  which_out->kv_tile = kv_tiles[at % COUNT(kv_tiles)];
  which_out->head_group = head_groups[at / COUNT(kv_tiles) % COUNT(head_groups)];
  which_out->head_dim = head_dims[at / COUNT(kv_tiles) / COUNT(head_groups)];
  which_out->num_tokens = 3;
  which_out->num_heads = which_out->head_group + 1; /* a full group and a nearly empty one */
  which_out->window_size = windows[at % COUNT(windows)];
  which_out->lens = lens[at / 2 % COUNT(lens)];
  which_out->slots = slots[at % COUNT(slots)];
  which_out->scores = (uint32_t)(at % 5);
  which_out->scales = (uint32_t)(at % 3);
  which_out->index_type = (uint32_t)(at % 2);
  which_out->lens_type = (uint32_t)(at / 2 % 2);
  which_out->scale_type = (uint32_t)(at / 3 % 2);
  which_out->seed = (uint32_t)at + 2000;
}
