/* SPDX-License-Identifier: Apache-2.0 */
/* One decode step as a test asks for it: dimensions, types, strides, patterns of the data, and a seed. All that decides
 * the data is in here, so that the text of a case repeats it. */
#ifndef DECODE_CASE_H
#define DECODE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "swa_jit/swa_jit.h"

enum decode_lse { DECODE_LSE_WRITTEN, DECODE_LSE_NULL /* no pointer */, DECODE_LSE_NONE /* a kernel without LSE */ };

enum decode_layout {
  DECODE_CONTIGUOUS, /* strides of 0: the default */
  DECODE_SLICE,      /* a third of each token's packed row */
  DECODE_PADDED,     /* gaps between heads and tokens */
  DECODE_HEADS_OUTSIDE
};

enum decode_lens {
  DECODE_LENS_FULL, /* window_size */
  DECODE_LENS_UNIFORM,
  DECODE_LENS_ONE,
  DECODE_LENS_ZERO,
  DECODE_LENS_EDGES, /* tile edges, window_size - 1 to + 1, negative ones and the type's extremes, in turn */
  DECODE_LENS_GAPS,  /* 0 and window_size in turn; of the extra scope in turn of two, so that either may be empty */
  DECODE_LENS_NULL   /* of the extra scope only: no pointer */
};

enum decode_slots {
  DECODE_SLOTS_RANDOM,
  DECODE_SLOTS_MASKED_SOME, /* a quarter out of range: -1, -2, the extremes, num_slots, ... */
  DECODE_SLOTS_MASKED_HALF, /* -1 in the first half */
  DECODE_SLOTS_MASKED_ODD,
  DECODE_SLOTS_MASKED_ALL,
  DECODE_SLOTS_SAME, /* one slot for all positions of a token */
  DECODE_SLOTS_ENDS  /* the pool's first and last slot in turn */
};

enum decode_scores {
  DECODE_SCORES_ZERO, /* mean 0, deviation 1 */
  DECODE_SCORES_M5,   /* mean -5 */
  DECODE_SCORES_M20,
  DECODE_SCORES_P20,
  DECODE_SCORES_SHARP /* mean 0, deviation 8 */
};

enum decode_scales { /* of slots, inv_scale, or of an e4m3 pool */
                     DECODE_SCALES_ONE,
                     DECODE_SCALES_RANDOM, /* 1/4 to 4 */
                     DECODE_SCALES_SIGNED,
                     DECODE_SCALES_REAL,    /* about 1/100, as quantised caches have */
                     DECODE_SCALES_SPECIAL, /* 1.5, 2^-126, 0, negative, ... in turn */
                     DECODE_SCALES_LARGE,   /* about 50,000 */
                     DECODE_SCALES_INF,     /* one position of each odd token */
                     DECODE_SCALES_NAN      /* one position of each odd token */
};

enum decode_codes {
  DECODE_CODES_NORMAL,
  DECODE_CODES_ALL, /* a row runs through the 254 finite codes; bf16 through signs, fractions and 2^-63 to 2^63, beside
                       codes 2^-9 to 2^7 */
  DECODE_CODES_NAN, /* normal, and one NaN element in one position of each odd token */
  DECODE_CODES_NULL /* normal, and one row of zeros in one position of each odd token */
};

enum decode_scale_bytes {                            /* of footers */
                          DECODE_SCALE_BYTES_REAL,   /* the least power of two that makes a group's codes fit */
                          DECODE_SCALE_BYTES_ONE,    /* 127 */
                          DECODE_SCALE_BYTES_NEAR,   /* 123 to 131 */
                          DECODE_SCALE_BYTES_RANDOM, /* 0 to 240 */
                          DECODE_SCALE_BYTES_ALL,    /* 0 to 254, for one position a token: sums would overflow */
                          DECODE_SCALE_BYTES_NAN,    /* real, and a 255 in one position of each odd token */
                          DECODE_SCALE_BYTES_HOLLOW  /* real, and the largest by far that of a group of zeros */
};

enum decode_bf16 { DECODE_BF16_NORMAL, DECODE_BF16_LARGE /* times 2^20 */, DECODE_BF16_TINY /* times 2^-30 */ };

enum decode_kv_layout { /* of num_kv_heads rows of a slot */
                        DECODE_KV_CONTIGUOUS,
                        DECODE_KV_PADDED,       /* gaps between heads, in V's pool larger ones */
                        DECODE_KV_HEADS_OUTSIDE /* slots within heads within blocks */
};

enum decode_sinks {
  DECODE_SINKS_NONE,   /* a kernel without sinks */
  DECODE_SINKS_NULL,   /* no pointer */
  DECODE_SINKS_NORMAL, /* about where LSE is */
  DECODE_SINKS_SPECIAL /* normal, infinity, -infinity, 3e38, -3e38, NaN, by heads in turn */
};

enum decode_soft_cap { /* of a kernel with a cap, but for OFF */
                       DECODE_CAP_OFF,
                       DECODE_CAP_NONE, /* 0 */
                       DECODE_CAP_2,
                       DECODE_CAP_30,
                       DECODE_CAP_50
};

enum decode_lse_layout {
  DECODE_LSE_CONTIGUOUS,
  DECODE_LSE_STRIDED,      /* two elements between heads */
  DECODE_LSE_HEADS_OUTSIDE /* [num_heads, num_tokens] */
};

enum decode_v_indices { DECODE_V_INDICES_SAME /* no pointer */, DECODE_V_INDICES_OWN };

enum decode_softmax { DECODE_SOFTMAX_USUAL /* 1 / sqrt(head_dim) */, DECODE_SOFTMAX_ZERO, DECODE_SOFTMAX_NEGATIVE };

typedef struct decode_case {
  uint32_t head_dim;
  uint32_t head_group;
  uint32_t kv_tile;
  uint32_t window_size;
  uint32_t index_type; /* swa_jit_int_type */
  uint32_t lens_type;  /* swa_jit_int_type */
  uint32_t scale_type; /* swa_jit_scale_type */
  uint32_t lse;
  uint32_t num_tokens;
  uint32_t num_heads;
  uint32_t block_size;
  uint32_t num_blocks;
  uint32_t q_layout;
  uint32_t out_layout;
  uint32_t slot_gap;  /* bytes between slots */
  uint32_t block_gap; /* bytes between blocks */
  uint32_t index_gap; /* elements between the rows of indices */
  uint32_t lse_gap;   /* elements between the rows of LSE */
  uint32_t lens;
  uint32_t slots;
  uint32_t scores;
  uint32_t scales;
  uint32_t codes;
  uint32_t softmax;
  uint32_t q_exponent; /* odd heads of q are times 2^q_exponent, the softmax scale over it */
  uint32_t exact;      /* 1: out is the rounded reference, not merely near it */
  uint32_t kv_format;  /* swa_jit_kv_format */
  uint32_t scale_bytes;
  uint32_t bf16; /* bf16 elements, of the bf16 format and of footer_584 */
  uint32_t sinks;
  uint32_t soft_cap;
  uint32_t lse_form;   /* SWA_JIT_LSE_... */
  uint32_t num_splits; /* 0: a kernel without splits */
  uint32_t cluster_size;
  uint32_t lse_layout;
  uint32_t num_kv_heads;
  uint32_t kv_layout;
  uint32_t head_dim_v;
  uint32_t v_indices;
  uint32_t v_slot_gap;  /* bytes */
  uint32_t v_block_gap; /* bytes */
  uint32_t extra_size;
  uint32_t extra_format; /* swa_jit_kv_format */
  uint32_t extra_lens;
  uint32_t extra_block_size;
  uint32_t extra_num_blocks;
  uint32_t extra_slot_gap;  /* bytes */
  uint32_t extra_block_gap; /* bytes */
  uint32_t seed;
} decode_case;

/* Long enough for the text of any case. */
#define DECODE_CASE_TEXT_SIZE 1200

void decode_case_init(decode_case *which);

/* "name=value ..." of the fields that differ from decode_case_init's. */
void decode_case_to_text(const decode_case *which, char text[DECODE_CASE_TEXT_SIZE]);

/* The reverse. False: *fault_out points at the word that is wrong. */
bool decode_case_from_text(const char *text, decode_case *which_out, const char **fault_out);

/* The configuration of a case; arch is left at the default. */
void decode_case_config(const decode_case *which, swa_jit_config *config_out);

#endif
