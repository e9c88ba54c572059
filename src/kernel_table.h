/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that a library object holds, by configuration. Lookup takes no lock; one thread at a time makes a given
 * entry; a failure is remembered. Entries live until the table is destroyed. */
#ifndef SJ_KERNEL_TABLE_H
#define SJ_KERNEL_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "config.h"
#include "cuda_api.h"
#include "key.h"
#include "launch_constants.h"
#include "load.h"
#include "store.h"
#include "tile_plan.h"

/* Everything known of one configuration. The caller's handle is a pointer to it. Fields other than the atomics are
 * written under mutex before the atomic that announces them, and never after. */
struct swa_jit_kernel {
  /* hot: read by launch; in one cache line as far as a launch in the first context needs it */
  _Alignas(SJ_CACHE_LINE_BYTES) sj_launch_constants constants;
  sj_loaded loaded;
  /* hot: read by lookup */
  swa_jit_config config; /* concrete */
  _Atomic int is_loaded; /* acquire: loaded and constants are set */
  const sj_cuda_api *cuda;
  sj_tile_plan plan;
  const sj_arch *arch;
  /* found once */
  sj_key key;
  char *source;
  char *log_text;       /* NULL when it came from the store */
  char *ptx;            /* NULL until asked for */
  sj_entry entry;       /* when from the store */
  sj_entry replacement; /* from the store, when the driver refused entry */
  sj_store_use use;     /* of the entry in the store */
  void *compiled_cubin; /* when compiled */
  const void *cubin;
  size_t cubin_bytes;
  swa_jit_kernel_info info;
  char *miss_reason;
  /* progress */
  pthread_mutex_t mutex;        /* one flight */
  _Atomic int has_cubin;        /* acquire: cubin, info are set */
  swa_jit_status failed_status; /* under mutex: a remembered compile failure, with its message */
  char *failed_message;
  char *failed_log; /* of that compile; NULL: not known */
  bool is_recorded; /* under mutex: the record file was given its line */
};

_Static_assert(offsetof(struct swa_jit_kernel, loaded) + offsetof(sj_loaded, contexts) + sizeof(sj_loaded_context)
                   <= SJ_CACHE_LINE_BYTES,
               "a launch in the first context reads one line");

typedef struct sj_kernel_table sj_kernel_table;

swa_jit_status sj_kernel_table_create(sj_kernel_table **table_out);
/* Destroys every entry too (unloads with its cuda table when loaded). NULL is fine. */
void sj_kernel_table_destroy(sj_kernel_table *table);

/* Lock-free. config: of this library's size. NULL if it was never asked for: so if it is not concrete or not legal. */
struct swa_jit_kernel *sj_kernel_table_find(const sj_kernel_table *table, const swa_jit_config *config);

/* Finds or adds an empty entry (config, mutex set; nothing else). Takes the table's mutex to add. */
swa_jit_status sj_kernel_table_add(sj_kernel_table *table, const swa_jit_config *config,
                                   struct swa_jit_kernel **kernel_out);

#endif
