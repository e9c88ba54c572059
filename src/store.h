/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cubin store: folders of entries (cubin_file.h) named by their keys (key.h). One is written, any number are
 * read-only layers behind it. Folders are held by descriptor. Writers publish by rename. What fails verification is
 * renamed to "<name>.bad-<random>", or passed over in a layer, and rebuilt. Concurrency and failure: docs/cache.md.
 */
#ifndef SJ_STORE_H
#define SJ_STORE_H

#include <stdbool.h>

#include "cubin_file.h"
#include "failure_file.h"
#include "key.h"
#include "log.h"
#include "os.h"
#include "stats.h"
#include "store_trust.h"

enum { SJ_STORE_TOLD_WORDS = 16 };

typedef struct sj_store {
  const sj_os *os;
  const sj_log *log;
  sj_stats *stats;
  int dir_fd; /* -1: no folder to write to */
  bool read_only;
  bool may_create;     /* the folder, now and when it was removed */
  char *path;          /* as it was named */
  char *shown_path;    /* the same for messages, in which a long one is shortened */
  char *absolute_path; /* where the folder is made again */
  sj_trust trust;
  uint64_t limit_bytes;        /* of all files together; UINT64_MAX: none */
  _Atomic uint64_t looked_ns;  /* when the folder was last listed for the limit; 0: never */
  _Atomic uint64_t room_bytes; /* what may be written before it is listed again */
  struct sj_store *layers;     /* searched after dir_fd, in this order; each read-only, with none of its own */
  unsigned num_layers;
  _Atomic bool has_hung;                      /* a lock service did not answer: no lock is tried any more */
  _Atomic uint64_t told[SJ_STORE_TOLD_WORDS]; /* a bit for each name that was warned of */
} sj_store;

/* path: absolute or relative folder, created (parents too) unless flags have READ_ONLY or NO_CREATE. flags: of
 * SWA_JIT_FLAG_..., those that are about the store. STORE_ERROR: it is a file, a symbolic link, not creatable, or not
 * trusted (store_trust.h). */
swa_jit_status sj_store_open(const char *path, uint32_t flags, const sj_os *os, const sj_log *log, sj_stats *stats,
                             sj_store *store_out);
void sj_store_close(sj_store *store);

/* Opens the folders of paths, parted by colons, as layers of store, whose own folder may be missing (dir_fd -1; os, log
 * and stats set). A folder that cannot be used is STORE_ERROR when must_open, else a warning. */
swa_jit_status sj_store_add_layers(sj_store *store, const char *paths, uint32_t flags, bool must_open);

/* Whether there is any folder to look in. */
bool sj_store_is_there(const sj_store *store);

typedef struct sj_entry {
  void *bytes; /* malloc'd whole file */
  size_t count;
  char *text; /* malloc'd, of PTX: view.cubin with a zero behind it, which view.cubin then points to; else NULL */
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

/* A kernel in use: its entry is touched, and held by a shared lock against eviction. */
typedef struct sj_store_use {
  const sj_os *os; /* NULL: not held */
  int fd;
} sj_store_use;

/* Of an entry in the folder that is written; does nothing where there is none, where use_inout holds one already, and
 * where descriptors run short: then only the time of its last use protects the entry. */
void sj_store_begin_use(sj_store *store, const sj_key *key, sj_store_use *use_inout);
void sj_store_end_use(sj_store_use *use);

/* Whether a valid entry is there; counts nothing and sets nothing aside. */
bool sj_store_has(sj_store *store, const sj_key *key, uint32_t nvrtc_version);

/* The same of the folder that is written alone. */
bool sj_store_has_own(sj_store *store, const sj_key *key, uint32_t nvrtc_version);

/* Writes the entry: temporary file, fsync, rename, fsync of the folder. STORE_ERROR with the reason (ENOSPC, EROFS,
 * EACCES, ...); the temporary file is gone then. What sj_cubin_file_encode refuses is INVALID. OK, and nothing done,
 * when there is no store or it is read-only. Also removes what crashed writers left (docs/cache.md,
 * "Leftovers"). */
swa_jit_status sj_store_publish(sj_store *store, const sj_key *key, const sj_cubin_view *view);

/* A file of the folder that is an entry, or was or will be one; locks and foreign files are none of them. */
typedef struct sj_store_file {
  const char *name;
  uint32_t state; /* swa_jit_entry_state */
  struct stat status;
  const char *reason; /* of what is bad or unreadable; else "" */
  bool has_view;      /* view is read: always of a usable one */
  sj_cubin_view view; /* cubin: only of a verified one */
  const void *bytes;  /* the whole file, of a verified one; else NULL */
  bool has_failure;   /* failure is read: of a remembered one that is whole */
  sj_failure_view failure;
  int64_t expires_s;       /* when it counts no more; 0: it does not count */
  uint32_t idx, num_files; /* which of how many */
} sj_store_file;

/* Called with each file, whose pointers are valid during the call. It may use the store. False ends the walk. */
typedef bool (*sj_store_file_fn)(void *data, const sj_store_file *file);

/* Every such file in the order of names. flags: SWA_JIT_EACH_...; without VERIFY only the ends of files are read.
 * Counts nothing but what is set aside. The store is there. OK; STORE_ERROR (the folder cannot be listed);
 * OUT_OF_MEMORY. */
swa_jit_status sj_store_walk(sj_store *store, uint32_t flags, sj_store_file_fn call, void *data);

/* Removes such a file, and the lock of an entry with it; *removed_out true also when it is gone, false when it stays,
 * as it is in use or being built. INVALID (name is not of one); STORE_ERROR (read-only, or not allowed). The store is
 * there. */
swa_jit_status sj_store_remove(sj_store *store, const char *name, bool *removed_out);

/* Whether publish can write: writes, syncs and removes a temporary file as large as a usual entry. STORE_ERROR with
 * folder, reason and remedy, also for a read-only store. The store is there. */
swa_jit_status sj_store_check(sj_store *store);

#endif
