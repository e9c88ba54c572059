/* SPDX-License-Identifier: Apache-2.0 */
/* A tcgen05.mma as a case: its matrices are laid out in shared and tensor memory by the documentation's canonical
 * layouts (PTX ISA 9.7.16.3.3) and layouts A to G (9.7.16.10.5), it runs, and all of tensor memory is compared with a
 * plain reference in doubles. */
#ifndef EMU_PRODUCT_CASE_H
#define EMU_PRODUCT_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

enum { CASE_F16, CASE_TF32, CASE_F8F6F4, CASE_I8 };

typedef struct product_case {
  const char *what;
  unsigned kind;
  unsigned m, n, blocks; /* blocks 0: 1 */
  bool is_ws, a_in_tensor;
  unsigned a_type, b_type, d_type; /* as in the instruction descriptor */
  bool transposes_a, transposes_b, negates_a, negates_b, saturates;
  unsigned a_swizzle, b_swizzle; /* as in the matrix descriptor */
  unsigned pattern_offset;       /* 128-byte rows by which the matrices' patterns miss their boundary */
  bool far_apart;                /* strides larger than they need be */
  unsigned steps;                /* along K; 0: 1 */
  bool overwrites;               /* enable-input-d is false */
  int scale;                     /* of D: divided by 2 to it; 0: none */
  bool has_lanes_off;
  bool has_zero_columns;
  uint64_t zero_columns;
  unsigned d_lane, d_column;
  unsigned issuer;     /* the block of the pair that issues */
  const char *between; /* .collector... */
  bool is_wild;        /* subnormals, infinities, NaN */
  /* Faults: what is flipped in the descriptors, and instructions to leave out. */
  uint32_t idesc_flip;
  uint64_t a_flip, b_flip;
  bool no_proxy_fence, no_commit_wait, no_after_fence;
} product_case;

/* Runs it with a seed: EMU_OK, and how many values were wrong (which are printed), or the fault in the message. */
int product_case_run(const product_case *how, uint64_t seed, unsigned *wrong_out, emu_message *message);

#endif
