/* SPDX-License-Identifier: Apache-2.0 */
/* A PTX text as data: what the parser makes and the decoder reads. Names are spans of the own copy of the text that
 * the module keeps, which ends in a zero. */
#ifndef EMU_PTX_MODULE_H
#define EMU_PTX_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

typedef struct ptx_name {
  const char *at;
  uint32_t length;
} ptx_name;

typedef struct ptx_place {
  uint32_t line, column; /* from 1; 0: nowhere */
} ptx_place;

typedef enum ptx_space {
  PTX_REG,
  PTX_GLOBAL,
  PTX_CONST,
  PTX_SHARED,
  PTX_LOCAL,
  PTX_PARAM /* of a kernel */
} ptx_space;

/* A register or a variable. */
typedef struct ptx_symbol {
  ptx_name name;
  ptx_place place;
  ptx_space space;
  bool is_predicate;
  bool is_extern;     /* extern .shared: the dynamic part */
  uint32_t elem_size; /* bytes; of a predicate 0 */
  uint32_t alignment;
  uint64_t size;    /* bytes of all elements */
  uint8_t *initial; /* size bytes or NULL: zeros */
  uint32_t index;   /* of a register: among the kernel's; of a parameter: its number */
  uint64_t address; /* of a variable: offset in its space, or its address; set by the layout */
} ptx_symbol;

typedef enum ptx_operand_kind {
  PTX_OP_REG,      /* symbol, is_negated for !p */
  PTX_OP_VARIABLE, /* symbol + offset: its address */
  PTX_OP_SPECIAL,  /* special, component */
  PTX_OP_INTEGER,  /* bits */
  PTX_OP_F32,      /* bits, 0f... */
  PTX_OP_F64,      /* bits, 0d... or a decimal number */
  PTX_OP_LABEL,    /* target: index of an instruction */
  PTX_OP_ADDRESS,  /* [base + offset]: parts[0] is the base, or none for an absolute address; more parts: [a, {..}] */
  PTX_OP_VECTOR,   /* {parts} */
  PTX_OP_PAIR,     /* parts[0] | parts[1] */
  PTX_OP_SINK      /* _ */
} ptx_operand_kind;

typedef struct ptx_operand ptx_operand;
struct ptx_operand {
  ptx_operand_kind kind;
  ptx_place place;
  bool is_negated;
  bool is_minus; /* of a register: -a, where the text may write it */
  uint8_t component;
  uint16_t special; /* ptx_special */
  uint32_t num_parts;
  uint32_t target;
  const ptx_symbol *symbol;
  int64_t offset;
  uint64_t bits;
  ptx_operand *parts;
};

typedef enum ptx_special {
  PTX_TID,
  PTX_NTID,
  PTX_CTAID,
  PTX_NCTAID,
  PTX_CLUSTERID,
  PTX_NCLUSTERID,
  PTX_CLUSTER_CTAID,
  PTX_CLUSTER_NCTAID, /* up to here: three components */
  PTX_CLUSTER_CTARANK,
  PTX_CLUSTER_NCTARANK,
  PTX_IS_EXPLICIT_CLUSTER,
  PTX_LANEID,
  PTX_WARPID,
  PTX_NWARPID,
  PTX_SMID,
  PTX_NSMID,
  PTX_GRIDID,
  PTX_LANEMASK_EQ,
  PTX_LANEMASK_LE,
  PTX_LANEMASK_LT,
  PTX_LANEMASK_GE,
  PTX_LANEMASK_GT,
  PTX_DYNAMIC_SMEM_SIZE,
  PTX_TOTAL_SMEM_SIZE,
  PTX_CLOCK,
  PTX_CLOCK_HI,
  PTX_CLOCK64,
  PTX_GLOBALTIMER,
  PTX_GLOBALTIMER_LO,
  PTX_GLOBALTIMER_HI,
  PTX_NUM_SPECIALS
} ptx_special;

typedef struct ptx_instruction {
  ptx_name opcode; /* with its modifiers: "ld.global.v4.u32" */
  ptx_place place;
  uint32_t source_file, source_line; /* of the last .loc; 0: none */
  const ptx_symbol *guard;           /* NULL: always */
  bool guard_negated;
  bool is_target; /* a label stands before it */
  uint32_t num_operands;
  ptx_operand *operands;
} ptx_instruction;

typedef struct ptx_kernel {
  ptx_name name;
  ptx_place place;
  uint32_t num_params;
  ptx_symbol **params;
  uint32_t num_symbols; /* registers and variables of all scopes inside */
  ptx_symbol **symbols;
  uint32_t num_registers;
  uint32_t num_instructions;
  ptx_instruction *instructions;
  uint32_t max_threads[3]; /* .maxntid or .reqntid; 0: not said */
  uint32_t required_cluster[3];
  bool is_exact;                      /* .reqntid */
  uint32_t max_registers, min_blocks; /* .maxnreg, .minnctapersm; 0: not said */
} ptx_kernel;

typedef struct ptx_arena ptx_arena;

typedef struct ptx_module {
  ptx_arena *arena; /* everything below lives here */
  int version_major, version_minor;
  ptx_name target;
  uint32_t num_symbols; /* of module scope */
  ptx_symbol **symbols;
  uint32_t num_kernels;
  ptx_kernel **kernels;
  uint32_t num_files; /* of .file: the name of number i, or an empty one */
  ptx_name *files;
} ptx_module;

/* EMU_OK, EMU_INVALID_PTX with "line:column: ...", EMU_OUT_OF_MEMORY. On failure nothing is left. */
int ptx_parse(const char *text, size_t size, ptx_module **module_out, emu_message *message);
void ptx_free(ptx_module *module);

#endif
