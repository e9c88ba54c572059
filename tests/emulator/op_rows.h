/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions one by one: a text, up to three operands, and the result it must give, to the bit. */
#ifndef EMU_OP_ROWS_H
#define EMU_OP_ROWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct op_row {
  const char *text; /* from %a0, %a1, %a2 or %la0, ... to %d0 or, where the text has it, %ld0 */
  uint64_t a, b, c;
  uint64_t result;
} op_row;

/* Each in every eighth lane alone and in all at once. Prints and counts what is wrong. */
unsigned op_rows_run(const op_row *rows, size_t count);
/* The same on an architecture. */
unsigned op_rows_run_on(const char *arch, const op_row *rows, size_t count);

#endif
