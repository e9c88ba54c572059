/* SPDX-License-Identifier: Apache-2.0 */
/* A device of host memory whose every kernel is the reference with a planted fault: what the judge must find. */
#ifndef DECODE_PLANTED_H
#define DECODE_PLANTED_H

#include "check.h"

typedef enum fault {
  FAULT_NONE,
  FAULT_COUNTS_EMPTY_POSITIONS, /* positions beyond len enter the sum with score 0 */
  FAULT_CLAMPS_MASKED_SLOTS,    /* -1 reads slot 0 */
  FAULT_IGNORES_LEN,
  FAULT_IGNORES_BLOCK_STRIDE,
  FAULT_IGNORES_Q_STRIDES,
  FAULT_CUTS_INDICES_TO_32_BITS,
  FAULT_LEAVES_EMPTY_ROWS,
  FAULT_LEAVES_LAST_HEAD,
  FAULT_NAN_FOR_EMPTY_ROWS,
  FAULT_SWALLOWS_NAN,
  FAULT_SPREADS_NAN,
  FAULT_LSE_TO_BASE_2,
  FAULT_LSE_POSITIVE_INFINITY,
  FAULT_SLIGHTLY_TOO_LARGE,
  FAULT_ONE_ELEMENT,
  FAULT_ONE_BIT,
  FAULT_WRITES_BEHIND_A_ROW,
  FAULT_WRITES_BEFORE_OUT,
  FAULT_WRITES_LSE_GAP,
  FAULT_IGNORES_POOL_SCALE,
  FAULT_READS_FIRST_SCALE_ROW, /* of a footer, for all of the block's slots */
  FAULT_TAKES_255_AS_A_POWER,  /* of two */
  FAULT_IGNORES_SINKS,
  FAULT_SINK_IN_LSE,
  FAULT_DIVIDES_BY_THE_SINK_ALONE, /* of rows with no position: NaN where it is infinite */
  FAULT_IGNORES_SOFT_CAP,
  FAULT_IGNORES_LSE_FORM,
  FAULT_IGNORES_LSE_STRIDES,
  FAULT_READS_KV_HEAD_0,
  FAULT_V_BY_STRIDES_OF_K,
  FAULT_V_BY_INDICES_OF_K,
  FAULT_IGNORES_EXTRA,
  FAULT_IGNORES_EXTRA_LENS,
  FAULT_EXTRA_BY_STRIDES_OF_WINDOW
} fault;

/* The case of a text on a device with that fault. It knows no rows of 192 elements. */
decode_result planted_run(fault planted, const char *text, decode_verdict *verdict);

/* Without the fault the case passes; with it, it fails and the first fault's description has these words. */
void assert_found(fault planted, const char *text, const char *words);

#endif
