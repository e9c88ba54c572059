/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of tcgen05 instructions as texts, for sm_100a. */
#ifndef EMU_TENSOR_SNIPPET_H
#define EMU_TENSOR_SNIPPET_H

#include <stddef.h>

#include "machine.h"

/*
 * Registers of a text: %base the data's address, %thread, %warp, %lane, %smem the dynamic shared memory's address,
 * %tm an address of tensor memory, %mbar one of an mbarrier; %r0 ... %r199, %rd0 ... %rd31 (64 bits), %p0 ... %p15,
 * %first: the first warp's, %leader: thread 0's.
 * A text that says nothing of alloc and dealloc uses these two: columns of all warps, the address in %tm. The first 16
 * bytes of shared memory are theirs.
 */
#define TENSOR_ALLOC(count)                                                                                            \
  "@!%first bra ALLOCATED;\n"                                                                                          \
  "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%smem], " count ";\n"                                      \
  "ALLOCATED:\nbar.sync 0;\nld.shared.u32 %tm, [%smem];\n"                                                             \
  "tcgen05.fence::after_thread_sync;\n"
#define TENSOR_FREE(count)                                                                                             \
  "bar.sync 0;\n@!%first bra FREED;\n"                                                                                 \
  "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, " count ";\nFREED:\n"
/* Between what warps do to tensor memory and what others do. */
#define TENSOR_SYNC "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n"

typedef struct tensor_snippet {
  const char *text;
  void *data; /* in and out */
  size_t size;
  unsigned threads; /* 0: 128 */
  unsigned blocks;  /* 0: one, else that many in one cluster */
  unsigned shared;  /* 0: 64 KiB */
  int result;
  emu_message message;
} tensor_snippet;

void tensor_run(tensor_snippet *snippet);
/* Loads a text as a kernel without running it; its first line is the 18th. */
int tensor_load(const char *text, emu_message *message);

/* A text that grows. */
typedef struct tensor_text {
  char at[262144];
  size_t length;
} tensor_text;
void tensor_add(tensor_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text alone: what must be said of it. */
typedef struct tensor_row {
  const char *what;
  const char *text;
  int result;       /* -1: any fault */
  const char *says; /* NULL: no fault */
  unsigned threads, blocks;
} tensor_row;
/* Each with several seeds; how many were wrong, which are printed. */
unsigned tensor_rows_run(const tensor_row *rows, size_t count);

#endif
