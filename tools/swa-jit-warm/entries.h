/* SPDX-License-Identifier: Apache-2.0 */
/* What the store holds, copied so that it can be sorted, compared and printed after the walk. */
#ifndef WARM_ENTRIES_H
#define WARM_ENTRIES_H

#include <stdbool.h>

#include "progress.h"
#include "swa_jit/swa_jit.h"

enum { WARM_NUM_STATES = 6 }; /* of swa_jit_entry_state */

typedef struct warm_entries {
  swa_jit_entry *entries; /* their texts are malloc'd, bytes is NULL; in the order of names */
  size_t count, capacity;
} warm_entries;

/* The folder that is written, as the library chose it. */
swa_jit_store_info warm_store_info(swa_jit_lib *lib);

/* flags: SWA_JIT_EACH_... progress: NULL, or told of each file. False with the reason printed. */
bool warm_entries_read(swa_jit_lib *lib, uint32_t flags, sj_progress *progress, warm_entries *entries_out);

/* Tells how far a walk is. what: "verified", say. */
void warm_entries_tell(sj_progress *progress, const swa_jit_entry *entry, const char *what);
/* One more, copied. */
void warm_entries_add(warm_entries *entries, const swa_jit_entry *entry);
void warm_entries_finish(warm_entries *entries);

/* Keeps those of the folder that is written. */
void warm_entries_drop_layers(warm_entries *entries);

/* "usable", "bad", "unreadable", "set-aside", "temporary" or "failed"; "?" for a later library's. */
const char *warm_entry_state_name(uint32_t state);

/* When it was last used, or made where that is not known; seconds since 1970. */
int64_t warm_entry_last_use(const swa_jit_entry *entry);

/* The digest in a name, of 32 digits, or "" where there is none. */
const char *warm_entry_digest(const swa_jit_entry *entry);

/* The remembered failure of the compile whose entry would have that name, where compiles of this store look for it;
 * NULL: there is none. */
const swa_jit_entry *warm_entries_find_failure(const warm_entries *entries, const char *name);

/* How many are in a state, and how many bytes their files have; of all with WARM_NUM_STATES. */
size_t warm_entries_count(const warm_entries *entries, uint32_t state, uint64_t *bytes_out);

#endif
