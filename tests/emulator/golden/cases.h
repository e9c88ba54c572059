/* SPDX-License-Identifier: Apache-2.0 */
/* What is captured: rows, each a pattern of opcodes, and the cases that a row stands for, one an opcode. */
#ifndef GOLDEN_CASES_H
#define GOLDEN_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far a result may lie from the hardware's. All zero: not a bit. */
typedef struct golden_bound {
  uint8_t steps;   /* units in the last place of the result's format */
  int8_t absolute; /* or 2^absolute, 0: none */
  const char *why; /* for the report and for whoever reads the table */
} golden_bound;

/*
 *   pattern   as in ../instructions.h: words parted by dots, "a|b" a choice, '?' at the end: may be left out.
 *   operands  a letter an operand (values.h), '=' before results.
 *   text      NULL: the opcode with its operands in order, the result's predicate behind '|' where there is a second
 *             result "=p". Otherwise instructions with $ for the opcode, r0 ... results, a0 ... sources, and
 *             q0 ..., s0 ..., t0 ..., u0 ...  registers for predicates, 16, 32, 64 bits
 *             lane, thread     of the warp, of the block
 *             spot, row        shared addresses of 48 and of 16 bytes of the thread's own in pool, free from 8064 on;
 *                              beside, across: the rows of a thread of the same warp and of another warp
 *             memory           the global address of 64 bytes of its own, all zero
 *             own              64 local bytes
 *             words, table     eight words in the parameters, and as constants
 *             input, result    where the thread's first one is
 */
typedef struct golden_row {
  const char *pattern;
  const char *operands;
  const char *text;
  golden_bound bound;
} golden_row;

typedef struct golden_table {
  const golden_row *rows;
  size_t count;
} golden_table;

extern const golden_table golden_integer, golden_float, golden_packed, golden_convert, golden_comparison, golden_move,
    golden_warp, golden_matrix, golden_memory, golden_atomic;

enum { GOLDEN_OPCODE_SIZE = 120, GOLDEN_MAX_SOURCES = 10, GOLDEN_MAX_RESULTS = 4 };

typedef struct golden_case {
  const golden_row *row;
  char opcode[GOLDEN_OPCODE_SIZE];
  char results[GOLDEN_MAX_RESULTS + 1], sources[GOLDEN_MAX_SOURCES + 1]; /* letters */
  unsigned num_results, num_sources;
  uint64_t digest; /* of the opcode, the operands and the text: what a record is found by */
} golden_case;

/* All cases of all tables, in order; NULL: no memory. */
golden_case *golden_cases(size_t *count_out);
bool golden_is_exact(const golden_case *one);

#endif
