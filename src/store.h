/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cubin store: one folder of entries (cubin_file.h) named by their keys (key.h). The folder is held by descriptor;
 * no path is used after open. Readers never lock. Writers publish by rename. What fails verification is renamed to
 * "<name>.bad-<random>" and rebuilt. Concurrency and failure: docs/cubin-store.md.
 */
#ifndef SJ_STORE_H
#define SJ_STORE_H

#include <stdbool.h>

#include "cubin_file.h"
#include "key.h"
#include "log.h"
#include "os.h"
#include "stats.h"

typedef struct sj_store {
  const sj_os *os;
  const sj_log *log;
  sj_stats *stats;
  int dir_fd; /* -1: no store, memory only */
  bool read_only;
  char *path; /* for messages */
} sj_store;

/* path: absolute or relative folder, created (0700, parents too) unless read_only. STORE_ERROR: it is a file, a
 * symbolic link, not creatable, or writable by another unprivileged user (owner not us or root, or group/other write
 * bits). */
swa_jit_status sj_store_open(const char *path, bool read_only, const sj_os *os, const sj_log *log, sj_stats *stats,
                             sj_store *store_out);
void sj_store_close(sj_store *store);

typedef struct sj_entry {
  void *bytes; /* malloc'd whole file */
  size_t count;
  sj_cubin_view view;
} sj_entry;

/* Looks the key up. *found_out false: a miss (absent, set aside, refused, or made by another compiler when
 * nvrtc_version is non-zero), and miss_reason (of reason_size) says why: which field of the nearest entry differs.
 * Fails only for OUT_OF_MEMORY: any other trouble is a miss and a warning. */
swa_jit_status sj_store_find(sj_store *store, const sj_key *key, uint32_t nvrtc_version, bool *found_out,
                             sj_entry *entry_out, char *miss_reason, size_t reason_size);
void sj_entry_finish(sj_entry *entry);

/* Sets a valid entry aside that turned out to be of no use (the driver refuses it), as find does with one that fails
 * verification. Nothing when there is no store. Trouble is a warning in the log. */
void sj_store_set_aside(sj_store *store, const sj_key *key, const char *reason);

/* Whether a valid entry is there; counts nothing and sets nothing aside. */
bool sj_store_has(sj_store *store, const sj_key *key, uint32_t nvrtc_version);

/* Writes the entry: temporary file, fsync, rename, fsync of the folder. STORE_ERROR with the reason (ENOSPC, EROFS,
 * EACCES, ...); the temporary file is gone then. What sj_cubin_file_encode refuses is INVALID. OK, and nothing done,
 * when there is no store or it is read-only. Also removes what crashed writers left (docs/cubin-store.md,
 * "Leftovers"). */
swa_jit_status sj_store_publish(sj_store *store, const sj_key *key, const sj_cubin_view *view);

/* A file of the folder that is an entry, or was or will be one; locks and foreign files are none of them. */
typedef struct sj_store_file {
  const char *name;
  uint32_t state; /* swa_jit_entry_state */
  struct stat status;
  const char *reason; /* of an entry that is bad or unreadable; else "" */
  bool has_view;      /* view is read: always of a usable one */
  sj_cubin_view view; /* cubin: only of a verified one */
  const void *bytes;  /* the whole file, of a verified one; else NULL */
} sj_store_file;

/* Called with each file, whose pointers are valid during the call. It may use the store. False ends the walk. */
typedef bool (*sj_store_file_fn)(void *data, const sj_store_file *file);

/* Every such file in the order of names. flags: SWA_JIT_EACH_...; without VERIFY only the ends of files are read.
 * Counts nothing but what is set aside. The store is there. OK; STORE_ERROR (the folder cannot be listed);
 * OUT_OF_MEMORY. */
swa_jit_status sj_store_walk(sj_store *store, uint32_t flags, sj_store_file_fn call, void *data);

/* Removes such a file; OK also when it is gone. INVALID (name is not of one); STORE_ERROR (read-only, or not allowed).
 * The store is there. */
swa_jit_status sj_store_remove(sj_store *store, const char *name);

/* Whether publish can write: writes, syncs and removes a temporary file as large as a usual entry. STORE_ERROR with
 * folder, reason and remedy, also for a read-only store. The store is there. */
swa_jit_status sj_store_check(sj_store *store);

#endif
