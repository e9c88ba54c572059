/* SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct field {
  const char *name;
  size_t offset;
  uint32_t usual;
  const char *values[8]; /* names of the values 0, 1, ...; none: a number */
} field;

#define FIELD(name, usual, ...)                                                                                        \
  {                                                                                                                    \
#name, offsetof(decode_case, name), usual,                                                                         \
    {                                                                                                                  \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  }

static const field fields[] = {
    FIELD(head_dim, 512, NULL),
    FIELD(head_group, 16, NULL),
    FIELD(kv_tile, 16, NULL),
    FIELD(window_size, 128, NULL),
    FIELD(index_type, 0, "int32", "int64"),
    FIELD(lens_type, 0, "int32", "int64"),
    FIELD(scale_type, 0, "float32", "bfloat16"),
    FIELD(lse, DECODE_LSE_WRITTEN, "written", "null", "none"),
    FIELD(num_tokens, 2, NULL),
    FIELD(num_heads, 16, NULL),
    FIELD(block_size, 64, NULL),
    FIELD(num_blocks, 16, NULL),
    FIELD(q_layout, DECODE_CONTIGUOUS, "contiguous", "slice", "padded", "heads_outside"),
    FIELD(out_layout, DECODE_CONTIGUOUS, "contiguous", "slice", "padded", "heads_outside"),
    FIELD(slot_gap, 0, NULL),
    FIELD(block_gap, 0, NULL),
    FIELD(index_gap, 0, NULL),
    FIELD(lse_gap, 0, NULL),
    FIELD(lens, DECODE_LENS_FULL, "full", "uniform", "one", "zero", "edges", "gaps"),
    FIELD(slots, DECODE_SLOTS_RANDOM, "random", "masked_some", "masked_half", "masked_odd", "masked_all", "same",
          "ends"),
    FIELD(scores, DECODE_SCORES_ZERO, "zero", "m5", "m20", "p20", "sharp"),
    FIELD(scales, DECODE_SCALES_ONE, "one", "random", "signed", "real", "special", "large", "inf", "nan"),
    FIELD(codes, DECODE_CODES_NORMAL, "normal", "all", "nan", "null"),
    FIELD(softmax, DECODE_SOFTMAX_USUAL, "usual", "zero", "negative"),
    FIELD(q_exponent, 0, NULL),
    FIELD(exact, 0, NULL),
    FIELD(kv_format, SWA_JIT_KV_E4M3_SLOT, "e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528"),
    FIELD(scale_bytes, DECODE_SCALE_BYTES_REAL, "real", "one", "near", "random", "all", "nan", "hollow"),
    FIELD(bf16, DECODE_BF16_NORMAL, "normal", "large", "tiny"),
    FIELD(sinks, DECODE_SINKS_NONE, "none", "null", "normal", "special"),
    FIELD(soft_cap, DECODE_CAP_OFF, "off", "none", "2", "30", "50"),
    FIELD(lse_form, 0, NULL),
    FIELD(num_splits, 0, NULL),
    FIELD(cluster_size, 0, NULL),
    FIELD(lse_layout, DECODE_LSE_CONTIGUOUS, "contiguous", "strided", "heads_outside"),
    FIELD(num_kv_heads, 1, NULL),
    FIELD(kv_layout, DECODE_KV_CONTIGUOUS, "contiguous", "padded", "heads_outside"),
    FIELD(head_dim_v, 0, NULL),
    FIELD(v_indices, DECODE_V_INDICES_SAME, "same", "own"),
    FIELD(v_slot_gap, 0, NULL),
    FIELD(v_block_gap, 0, NULL),
    FIELD(extra_size, 0, NULL),
    FIELD(extra_format, SWA_JIT_KV_E4M3_SLOT, "e4m3_slot", "e4m3", "bf16", "footer_584", "footer_528"),
    FIELD(extra_lens, DECODE_LENS_FULL, "full", "uniform", "one", "zero", "edges", "gaps", "null"),
    FIELD(extra_block_size, 64, NULL),
    FIELD(extra_num_blocks, 16, NULL),
    FIELD(extra_slot_gap, 0, NULL),
    FIELD(extra_block_gap, 0, NULL),
    FIELD(seed, 1, NULL),
};

enum { NUM_FIELDS = sizeof fields / sizeof fields[0] };

static uint32_t *field_value(decode_case *which, const field *f)
{
  return (uint32_t *)(void *)((char *)which + f->offset);
}

void decode_case_init(decode_case *which)
{
  for (size_t i = 0; i < NUM_FIELDS; i++) {
    *field_value(which, &fields[i]) = fields[i].usual;
  }
}

void decode_case_to_text(const decode_case *which, char text[DECODE_CASE_TEXT_SIZE])
{
  decode_case copy = *which;
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; i < NUM_FIELDS; i++) {
    const field *f = &fields[i];
    uint32_t value = *field_value(&copy, f);
    const char *blank = used == 0 ? "" : " ";

    if (value == f->usual) {
      continue;
    }
    if (f->values[0] != NULL) {
      used += (size_t)snprintf(text + used, DECODE_CASE_TEXT_SIZE - used, "%s%s=%s", blank, f->name, f->values[value]);
    } else {
      used += (size_t)snprintf(text + used, DECODE_CASE_TEXT_SIZE - used, "%s%s=%u", blank, f->name, value);
    }
  }
}

static bool read_value(const field *f, const char *word, size_t length, uint32_t *value_out)
{
  char *end;
  unsigned long number;

  for (uint32_t i = 0; i < 8 && f->values[i] != NULL; i++) {
    if (strlen(f->values[i]) == length && memcmp(f->values[i], word, length) == 0) {
      *value_out = i;
      return true;
    }
  }
  if (f->values[0] != NULL || word[0] < '0' || word[0] > '9') {
    return false;
  }
  number = strtoul(word, &end, 10);
  *value_out = (uint32_t)number;
  return end == word + length && number <= UINT32_MAX;
}

static bool read_word(const char *word, size_t length, decode_case *which)
{
  for (size_t i = 0; i < NUM_FIELDS; i++) {
    size_t name = strlen(fields[i].name);

    if (length > name && word[name] == '=' && memcmp(word, fields[i].name, name) == 0) {
      return read_value(&fields[i], word + name + 1, length - name - 1, field_value(which, &fields[i]));
    }
  }
  return false;
}

void decode_case_config(const decode_case *which, swa_jit_config *config_out)
{
  static const swa_jit_config usual = SWA_JIT_CONFIG_INIT;

  *config_out = usual;
  config_out->head_dim = which->head_dim;
  config_out->head_group = which->head_group;
  config_out->kv_tile = which->kv_tile;
  config_out->window_size = which->window_size;
  config_out->kv_format = which->kv_format;
  config_out->index_type = which->index_type;
  config_out->lens_type = which->lens_type;
  config_out->scale_type = which->scale_type;
  config_out->lse = which->lse != DECODE_LSE_NONE;
  config_out->head_dim_v = which->head_dim_v;
  config_out->sinks = which->sinks != DECODE_SINKS_NONE;
  config_out->soft_cap = which->soft_cap != DECODE_CAP_OFF;
  config_out->extra_size = which->extra_size;
  config_out->extra_format = which->extra_format;
  config_out->splits = which->num_splits != 0;
  config_out->cluster_size = which->cluster_size;
}

bool decode_case_from_text(const char *text, decode_case *which_out, const char **fault_out)
{
  decode_case_init(which_out);
  while (*(text += strspn(text, " ")) != '\0') {
    size_t length = strcspn(text, " ");

    if (!read_word(text, length, which_out)) {
      *fault_out = text;
      return false;
    }
    text += length;
  }
  return true;
}
