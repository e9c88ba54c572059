/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of atom and red, for others that reduce into memory. */
#ifndef EMU_ATOMIC_H
#define EMU_ATOMIC_H

#include <stdint.h>

typedef enum emu_atomic_operation {
  EMU_ATOMIC_ADD,
  EMU_ATOMIC_MIN,
  EMU_ATOMIC_MAX,
  EMU_ATOMIC_INC,
  EMU_ATOMIC_DEC,
  EMU_ATOMIC_AND,
  EMU_ATOMIC_OR,
  EMU_ATOMIC_XOR,
  EMU_ATOMIC_EXCH,
  EMU_ATOMIC_CAS
} emu_atomic_operation;

typedef enum emu_atomic_type {
  EMU_ATOMIC_B32 = 1,
  EMU_ATOMIC_U32,
  EMU_ATOMIC_S32,
  EMU_ATOMIC_B64,
  EMU_ATOMIC_U64,
  EMU_ATOMIC_S64,
  EMU_ATOMIC_F32,
  EMU_ATOMIC_F64,
  EMU_ATOMIC_F16,
  EMU_ATOMIC_BF16,
  EMU_ATOMIC_F16X2,
  EMU_ATOMIC_BF16X2,
  EMU_ATOMIC_B16
} emu_atomic_type;

/* Bytes of a type. */
uint32_t emu_atomic_size(unsigned type);
/* What is at that place becomes the operation's result of it and value; whole for others. As bulk reductions do it: of
 * 32-bit floats subnormal numbers count as zeros. */
void emu_atomic_reduce(uint8_t *at, unsigned operation, unsigned type, uint64_t value);

#endif
