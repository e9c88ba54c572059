/* SPDX-License-Identifier: Apache-2.0 */
/* Global memory as the machine's own instructions see it. Every byte has a byte that says what it is, so that one
 * look tells both bounds and whether it was ever written. */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* The windows of the generic address space. A shared address is the block's rank in its cluster << 24 and an offset;
 * a local address is an offset into the thread's own bytes. */
#define EMU_SHARED_WINDOW 0x010000000000ull
#define EMU_LOCAL_WINDOW 0x020000000000ull
#define EMU_PARAM_WINDOW 0x030000000000ull
#define EMU_WINDOW_BYTES 0x000100000000ull
#define EMU_GLOBAL_WINDOW 0x040000000000ull

enum { EMU_BYTE_NONE = 0, EMU_BYTE_UNWRITTEN = 1, EMU_BYTE_WRITTEN = 2, EMU_BYTE_BARRIER = 3, EMU_BYTE_STATE = 3 };
/* Beside it, of global memory, what launches of a chain have done with the byte: those of an odd number, and shifted by
 * two those of an even one. */
enum { EMU_MARK_WRITTEN = 4, EMU_MARK_READ = 8, EMU_MARKS = EMU_MARK_WRITTEN | EMU_MARK_READ };

typedef struct emu_global {
  uint8_t *data;   /* of EMU_GLOBAL_WINDOW + i at data[i] */
  uint8_t *states; /* EMU_BYTE_... */
  uint64_t size;
} emu_global;

/* The whole window, made at first use; size 0 when the host gives no room. */
const emu_global *emu_global_memory(void);

/* Takes marks off all memory. */
void emu_marks_clear(uint8_t marks);

/* Whether size bytes all have that state. */
static inline int emu_all_state(const uint8_t *states, size_t size, uint8_t state)
{
  for (size_t i = 0; i < size; i++) {
    if (states[i] != state) {
      return 0;
    }
  }
  return 1;
}

#endif
