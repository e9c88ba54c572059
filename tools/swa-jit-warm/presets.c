/* SPDX-License-Identifier: Apache-2.0 */
#include "presets.h"

#include <stddef.h>

/* Shapes as the models' configuration files and code have them; docs/presets.md names the layers. Those with many
 * positions also in splits, for launches of few tokens. */
static const warm_shape shapes[] = {
    {"deepseek-v4", 0, 1, "e4m3_slot", "head_dim=512 window_size=128"},
    {"deepseek-v4", 128, 1, "e4m3_slot", "head_dim=512 window_size=128"},

    {"deepseek-v4-pro", 128, 1, "footer_584", "head_dim=512 window_size=128 sinks=1"},
    {"deepseek-v4-pro", 128, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=1024"},
    {"deepseek-v4-pro", 128, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=1024 splits=1"},
    {"deepseek-v4-pro", 128, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=8192"},
    {"deepseek-v4-pro", 128, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=8192 splits=1"},

    {"deepseek-v4-flash", 64, 1, "footer_584", "head_dim=512 window_size=128 sinks=1"},
    {"deepseek-v4-flash", 64, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=512"},
    {"deepseek-v4-flash", 64, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=512 splits=1"},
    {"deepseek-v4-flash", 64, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=8192"},
    {"deepseek-v4-flash", 64, 1, "footer_584", "head_dim=512 window_size=128 sinks=1 extra_size=8192 splits=1"},

    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=128 sinks=1"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=192 sinks=1"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=256 sinks=1"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=128 sinks=1 extra_size=512"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=128 sinks=1 extra_size=512 splits=1"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=192 sinks=1 extra_size=512"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=192 sinks=1 extra_size=512 splits=1"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=256 sinks=1 extra_size=512"},
    {"deepseek-v4.1", 64, 1, "footer_528", "head_dim=512 window_size=256 sinks=1 extra_size=512 splits=1"},

    {"gpt-oss", 64, 8, "bf16", "head_dim=64 head_dim_v=64 window_size=128 sinks=1"},

    {"mimo-v2", 64, 8, "bf16", "head_dim=192 head_dim_v=128 window_size=128 sinks=1"},

    {"gemma2", 8, 4, "bf16", "head_dim=256 head_dim_v=256 window_size=4096 soft_cap=1"},
    {"gemma2", 8, 4, "bf16", "head_dim=256 head_dim_v=256 window_size=4096 soft_cap=1 splits=1"},
    {"gemma2", 16, 8, "bf16", "head_dim=256 head_dim_v=256 window_size=4096 soft_cap=1"},
    {"gemma2", 16, 8, "bf16", "head_dim=256 head_dim_v=256 window_size=4096 soft_cap=1 splits=1"},
    {"gemma2", 32, 16, "bf16", "head_dim=128 head_dim_v=128 window_size=4096 soft_cap=1"},
    {"gemma2", 32, 16, "bf16", "head_dim=128 head_dim_v=128 window_size=4096 soft_cap=1 splits=1"},

    {"gemma3", 8, 4, "bf16", "head_dim=256 head_dim_v=256 window_size=1024"},
    {"gemma3", 8, 4, "bf16", "head_dim=256 head_dim_v=256 window_size=1024 splits=1"},

    {"gemma4", 8, 4, "bf16", "head_dim=256 head_dim_v=256 window_size=512"},
    {"gemma4", 8, 4, "bf16", "head_dim=256 head_dim_v=256 window_size=512 splits=1"},
    {"gemma4", 32, 16, "bf16", "head_dim=256 head_dim_v=256 window_size=1024"},
    {"gemma4", 32, 16, "bf16", "head_dim=256 head_dim_v=256 window_size=1024 splits=1"},

    {"mistral", 32, 8, "bf16", "head_dim=128 head_dim_v=128 window_size=4096"},
    {"mistral", 32, 8, "bf16", "head_dim=128 head_dim_v=128 window_size=4096 splits=1"},

    {"phi3", 32, 32, "bf16", "head_dim=96 head_dim_v=96 window_size=2047"},
    {"phi3", 32, 32, "bf16", "head_dim=96 head_dim_v=96 window_size=2047 splits=1"},

    {"step3", 96, 8, "bf16", "head_dim=128 head_dim_v=128 window_size=512"},
    {"step3", 96, 8, "bf16", "head_dim=128 head_dim_v=128 window_size=512 splits=1"},
};

const warm_shape *warm_shape_at(unsigned index)
{
  return index < sizeof shapes / sizeof shapes[0] ? &shapes[index] : NULL;
}

void warm_shape_heads(const warm_shape *shape, uint32_t heads_out[WARM_NUM_PARALLEL])
{
  for (uint32_t i = 0; i < WARM_NUM_PARALLEL; i++) {
    uint32_t devices = UINT32_C(1) << i;
    uint32_t kv_heads = shape->num_kv_heads > devices ? shape->num_kv_heads / devices : 1;
    uint32_t heads = shape->num_heads / devices;
    heads_out[i] = shape->num_heads % devices == 0 && heads % kv_heads == 0 ? heads / kv_heads : 0;
  }
}
