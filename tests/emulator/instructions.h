/* SPDX-License-Identifier: Apache-2.0 */
/* What the decoder makes of a kernel: steps, each with the function that runs it for a warp; and the table of all
 * instructions. */
#ifndef EMU_INSTRUCTIONS_H
#define EMU_INSTRUCTIONS_H

#include "ptx_module.h"

typedef struct emu_warp emu_warp;
typedef struct emu_step emu_step;

/* What an instruction's function says of how the warp goes on. */
typedef enum emu_next {
  EMU_NEXT,  /* to the step after this one */
  EMU_AWAY,  /* the function has moved the lanes itself: a branch, an exit */
  EMU_BLOCK, /* the group waits: the same step is run again, with group->is_resumed, when somebody wakes it */
  EMU_YIELD, /* as EMU_NEXT, but others should run now: a look at something that is not there yet */
  EMU_FAULT  /* emu_fault was called */
} emu_next;

typedef emu_next (*emu_exec)(emu_warp *warp, const emu_step *step, uint32_t active);

/* Where an operand's 32 values are: an array [lane] of uint32_t (also for 8 and 16 bits, the upper bits zero) or
 * uint64_t; of a predicate one uint32_t, a bit a lane. */
enum { EMU_BANK_REGISTERS, EMU_BANK_CONSTANTS, EMU_BANK_SPECIALS, EMU_NUM_BANKS };
typedef struct emu_slot {
  uint32_t offset;
  uint32_t reg; /* its index among the written masks; 0: always written */
  uint8_t bank;
  uint8_t size;    /* bytes as declared: 2, 4, 8, 16; 0: predicate */
  uint8_t negated; /* of a predicate: !p */
} emu_slot;

enum { EMU_MAX_MODIFIERS = 16 };

struct emu_step {
  emu_exec exec;
  const emu_slot *dst, *src; /* operands in order, vectors and addresses spread out */
  uint16_t num_dst, num_src;
  uint16_t flags;                  /* EMU_ROW_... */
  uint8_t arg;                     /* of the row */
  uint8_t mods[EMU_MAX_MODIFIERS]; /* of each choice in the row's pattern: 1 + its number, 0 where it is left out */
  uint8_t has_guard, is_target, reads_clock;
  emu_slot guard;
  int64_t offset, offset2, offset3; /* of the first, the second and the last address */
  uint8_t num_addresses;
  uint32_t target; /* of the label */
  const ptx_instruction *from;
};

enum {
  EMU_ROW_LAX = 1,       /* an unwritten source makes the result unwritten; otherwise it is a fault */
  EMU_ROW_OWN = 2,       /* the function looks at the written masks of its operands itself, and sets its results' */
  EMU_ROW_ALIGNED = 4,   /* all live lanes of the warp must come here before it runs */
  EMU_ROW_MEMBERS = 8,   /* all lanes of the member mask, the last source, must come here before it runs */
  EMU_ROW_ASYNC = 32,    /* its accesses are in the async proxy: the kernel's races are followed for that too */
  EMU_ROW_ANYWHERE = 64, /* with MEMBERS: lanes may stand at any instruction of this kind with the same mask */
  EMU_ROW_TENSOR = 128,  /* it works on tensor memory: the kernel's blocks have one */
  EMU_ROW_PRODUCT = 256, /* looks after its registers as accumulators of products (warpgroup.h) itself */
  EMU_ROW_ALWAYS = 16    /* also run when the guard leaves no lane: a branch */
};

/*
 * A row: pattern, operands, function.
 *   pattern   the words of the opcode, parted by dots; "a|b" is a choice, a '?' at the end lets the word be left out.
 *   operands  one word an operand: '=' in front marks a result; then
 *             p predicate, h 16 bits, w 32 bits, l 64 bits, q 128 bits, x any width (loads, stores, conversions);
 *             registers, special registers and constants alike; c: a constant number, kept as a source;
 *             a an address, one source with step->offset; A one with coordinates and more behind it, each a source;
 *             v before a letter: a vector of any length, v4 of four; a plain operand is a vector of one for v alone;
 *             "w|p": one operand, or two parted by |; the second is a sink where it is missing;
 *             L a label; a '?' at the end: may be missing, with all behind it.
 */
typedef struct emu_row {
  const char *pattern;
  const char *operands;
  emu_exec exec;
  uint16_t flags;
  uint8_t arg;  /* handed to the function */
  uint8_t arch; /* the least compute capability, major * 10 + minor; + 128: of that alone ("a" features) */
} emu_row;

typedef struct emu_family {
  const emu_row *rows;
  unsigned count;
} emu_family;

/* All families, ended by a NULL; in instructions.c. */
extern const emu_family *const emu_families[];

/* Each family's file ends with EMU_FAMILY(name, rows), and instructions.c lists it. */
#define EMU_FAMILY(name, list) const emu_family name = {list, sizeof(list) / sizeof((list)[0])}

/* Where the search for an opcode's row goes on: rows of one pattern may differ in their operands. */
typedef struct emu_row_search {
  unsigned family, index;
  bool found_for_others; /* a row of the pattern is for another arch */
} emu_row_search;

/* The next row that an opcode and its modifiers match, its modifiers in mods; NULL. */
const emu_row *emu_row_next(emu_row_search *search, ptx_name opcode, int arch, uint8_t mods[EMU_MAX_MODIFIERS]);

typedef struct emu_used_special {
  uint16_t special;
  uint8_t component;
  uint8_t
      is_address; /* not a special register: a shared address, to which the block's rank is added; component: bytes */
  uint32_t offset;
  uint32_t address;
} emu_used_special;

struct emu_kernel {
  emu_kernel_info info;
  const emu_module *module;
  const ptx_kernel *from;
  emu_step *steps;
  uint32_t num_steps;
  uint32_t register_bytes, num_written; /* the register file of a warp; its written masks */
  uint8_t *constants;
  uint32_t constant_bytes;
  uint32_t special_bytes;
  emu_used_special *specials;
  uint32_t num_specials;
  uint32_t dynamic_alignment; /* of the extern shared variable */
  uint32_t barriers;          /* hardware barriers named; 16 when one is named by a register */
  bool uses_async_proxy, uses_tensor_memory;
};

struct emu_module {
  ptx_module *ptx;
  const emu_device *device;
  emu_kernel *kernels;
  uint32_t num_kernels;
  uint64_t globals; /* one allocation for all variables */
};

/* Shared variables begin here: what is below belongs to the system, and an address of 0 is a fault. */
enum { EMU_SHARED_BASE = 1024, EMU_LOCAL_BASE = 16 };

/* Gives every variable its place, and makes the steps of each kernel. */
int emu_layout(emu_module *module, emu_message *message);
int emu_decode(emu_module *module, emu_kernel *kernel, const ptx_kernel *from, emu_message *message);

#endif
