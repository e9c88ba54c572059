/* SPDX-License-Identifier: Apache-2.0 */
/* A few instructions as a kernel of one warp, for the tests of instructions: each lane loads its words, the text
 * works on them, and each lane stores its results. */
#ifndef EMU_SNIPPET_H
#define EMU_SNIPPET_H

#include "machine.h"

enum { SNIPPET_LANES = 32, SNIPPET_WORDS = 8 };

typedef struct emu_snippet {
  const char *arch; /* NULL: sm_90a */
  const char *text; /* with %a0 ... %a7 and %d0 ... %d3 of 32 bits, %la0 ... %la3 and %ld0 ... %ld3 of 64 */
  unsigned threads; /* of a block; 0: 32 */
  unsigned blocks;  /* all of one cluster; 0: 1 */
  unsigned apart;   /* when not 0: each block is a cluster of its own */
  unsigned shared;  /* dynamic shared memory at the symbol shared */
  uint64_t in[128][SNIPPET_WORDS];  /* [thread]: %a is the lower half of its word, %la the word */
  uint64_t out[128][SNIPPET_WORDS]; /* %d0 to %d3, then %ld0 to %ld3 */
  int result;
  emu_message message;
} emu_snippet;

/* %thread counts through all blocks, %rank is the block's. Loads all eight
 * words; %d and %ld begin as 0x55555555... and are stored behind the text. */
void snippet_run(emu_snippet *snippet);

/* Runs a whole module's first kernel with one pointer to size bytes, in and out. Returns emu_run's result. */
int snippet_run_kernel(const char *arch, const char *ptx, void *data, size_t size, unsigned blocks, unsigned threads,
                       unsigned shared, emu_message *message);

#endif
