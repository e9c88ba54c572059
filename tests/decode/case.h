/* SPDX-License-Identifier: Apache-2.0 */
/* One decode step as a test asks for it: dimensions, types, strides, patterns of the data, and a seed. All that decides
 * the data is in here, so that the text of a case repeats it. */
#ifndef DECODE_CASE_H
#define DECODE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
  DECODE_LENS_GAPS   /* 0 and window_size in turn */
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

enum decode_scales { /* inv_scale */
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
  DECODE_CODES_ALL, /* a row runs through the 254 finite codes */
  DECODE_CODES_NAN, /* normal, and one NaN code in one position of each odd token */
  DECODE_CODES_NULL /* normal, and one row of zeros in one position of each odd token */
};

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
  uint32_t slot_gap;  /* bytes between rows, a multiple of 16 */
  uint32_t block_gap; /* bytes between blocks, a multiple of 16 */
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
  uint32_t seed;
} decode_case;

/* Long enough for the text of any case. */
#define DECODE_CASE_TEXT_SIZE 640

void decode_case_init(decode_case *which);

/* "name=value ..." of the fields that differ from decode_case_init's. */
void decode_case_to_text(const decode_case *which, char text[DECODE_CASE_TEXT_SIZE]);

/* The reverse. False: *fault_out points at the word that is wrong. */
bool decode_case_from_text(const char *text, decode_case *which_out, const char **fault_out);

#endif
