/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swa-jit: sliding-window attention decode kernels, specialised and compiled at run time.
 *
 * A program's life: (1) fill a swa_jit_options and call swa_jit_open; (2) fill a swa_jit_config, by hand or with
 * swa_jit_pick; (3) swa_jit_kernel_get finds the kernel in memory, in the cubin store on disk, or compiles it;
 * (4) fill a swa_jit_decode_args with device pointers; (5) swa_jit_decode launches on a stream, as often as
 * needed; (6) swa_jit_close. Results of several steps over parts of the positions become one by swa_jit_merge.
 *
 * Errors. Every call that can fail returns a swa_jit_status. On failure its outputs are untouched, and
 *   swa_jit_message() gives this thread's explanation: the value, the limit and what to do.
 * Lifetimes. Option, configuration and argument structs are read only during the call. Kernels, cubins and
 *   strings that a library object returned live until swa_jit_close.
 * Threads. A swa_jit_lib may be used from any number of threads at once, except that swa_jit_close must be the
 *   last call. Structs belong to the caller. The message is per thread.
 * CUDA. The library never synchronises, creates no context and changes no current context, device or stream.
 *   swa_jit_decode and swa_jit_merge are legal while their stream is being captured; the other calls are not meant
 *   for it.
 * Environment and printing. The environment is read by swa_jit_open only. Nothing is printed: messages go to the
 *   log callback. No call exits, aborts or installs a signal handler.
 * Structs. Each public struct begins with its own size, so that it can grow. A size smaller than the first
 *   release's, or above 4,096, is SWA_JIT_INVALID; a larger struct is accepted when the bytes this library does not
 *   know are zero, and is SWA_JIT_NEWER otherwise. The initialisers set the size.
 */
#ifndef SWA_JIT_H
#define SWA_JIT_H

#include <stddef.h>
#include <stdint.h>

#include "swa_jit/version.h"

#if defined(SWA_JIT_STATIC)
#define SWA_JIT_API
#elif defined(__GNUC__)
#define SWA_JIT_API __attribute__((visibility("default")))
#else
#define SWA_JIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Version ------------------------------------------------------------------------------------------ */

/* The library's release, "major.minor.patch". Returns: a static string. Thread-safety: any thread. */
SWA_JIT_API const char *swa_jit_version_text(void);

/* ---- 2. Status -------------------------------------------------------------------------------------------
 * Few codes, each a decision that a caller can take; the rest is in the message. The numbers never change.
 * docs/errors.md has a row for each.
 */
typedef enum swa_jit_status {
  SWA_JIT_OK = 0,
  SWA_JIT_INVALID = 1,        /* an argument breaks a documented rule: correct the call */
  SWA_JIT_UNSUPPORTED = 2,    /* a legal value that this architecture, compiler or driver cannot serve */
  SWA_JIT_NEWER = 3,          /* a struct carries fields that this library does not know: update the library */
  SWA_JIT_OUT_OF_MEMORY = 4,  /* host memory */
  SWA_JIT_NO_DRIVER = 5,      /* libcuda is missing or lacks a symbol: the message lists what was tried */
  SWA_JIT_NO_DEVICE = 6,      /* no device, or none that runs this architecture */
  SWA_JIT_WRONG_DEVICE = 7,   /* the kernel is for another architecture than the stream's device */
  SWA_JIT_NO_COMPILER = 8,    /* no entry in the store, and libnvrtc is missing or broken, or compiling is off */
  SWA_JIT_COMPILE_FAILED = 9, /* NVRTC refused the source: the message carries its lines */
  SWA_JIT_CUDA_ERROR = 10,    /* a driver call failed: the message names the call and the driver's reason */
  SWA_JIT_STORE_ERROR = 11    /* the cubin store cannot be used as asked */
} swa_jit_status;

/* The name of a status, e.g. "SWA_JIT_INVALID"; "unknown status" for a number that is none.
 * Returns: a static string. Thread-safety: any thread. */
SWA_JIT_API const char *swa_jit_status_name(swa_jit_status status);

/* What went wrong in this thread's last failing call; "" when none failed yet. A successful call leaves it.
 * Returns: never NULL. Ownership: the library's, valid until this thread's next failing call.
 * Thread-safety: per thread. */
SWA_JIT_API const char *swa_jit_message(void);

/* ---- 3. Log ---------------------------------------------------------------------------------------------- */

typedef enum swa_jit_log_level {
  SWA_JIT_LOG_DEFAULT = 0, /* in swa_jit_options.log_level: the same as SWA_JIT_LOG_INFO */
  SWA_JIT_LOG_ERROR = 1,   /* a call failed; its status says so too */
  SWA_JIT_LOG_WARN = 2,    /* work went on, but something needs a person: an entry set aside, a full disk */
  SWA_JIT_LOG_INFO = 3,    /* rare events: a compile, a wait for another process */
  SWA_JIT_LOG_DEBUG = 4    /* one line a stage */
} swa_jit_log_level;

/* Receives one finished line, without a newline, that is valid during the call only. Called from any thread that
 * calls the library, at times from several at once; it must not call back into the library. */
typedef void (*swa_jit_log_fn)(void *log_data, uint32_t level, const char *line);

/* ---- 4. Options ------------------------------------------------------------------------------------------
 * Precedence: a non-NULL field, else its environment variable (not in a set-user-id program), else the default.
 * Relative paths are meant from where the program is when it calls swa_jit_open: a chdir later changes nothing.
 * The search for libnvrtc takes a copy that the process has loaded, else the first on the disk; one too old for a
 * configuration's architecture is passed over, so that two architectures may be compiled by two versions.
 */
enum {
  SWA_JIT_FLAG_NO_COMPILE = 1u,     /* never compile: what is not stored is SWA_JIT_NO_COMPILER. SWA_JIT_NO_COMPILE=1 */
  SWA_JIT_FLAG_READ_ONLY = 2u,      /* never write to the store. SWA_JIT_READ_ONLY=1 */
  SWA_JIT_FLAG_SAME_COMPILER = 4u,  /* a stored entry counts only if the version of the NVRTC found here made it */
  SWA_JIT_FLAG_NO_STORE = 8u,       /* no disk: memory only */
  SWA_JIT_FLAG_FOREIGN_OWNER = 16u, /* a store's folder may belong to another user than this process's and root, who is
                                       then trusted with code that it runs. SWA_JIT_FOREIGN_OWNER=1 */
  SWA_JIT_FLAG_GROUP_SHARED = 32u,  /* the folder's Unix group, which this process is in, may write to the store; what
                                       is made has modes 2770 and 0664. SWA_JIT_GROUP_SHARED=1 */
  SWA_JIT_FLAG_ALL_READ = 64u,      /* folders that are made can be read by every user (0755): for a layer */
  SWA_JIT_FLAG_KEEP_PTX = 128u,     /* keep the PTX of what is compiled beside its cubin; on a device that is newer than
                                       every swa_jit_arch, NATIVE is sm_80 or sm_89 and the driver compiles the PTX. PTX
                                       of the other architectures runs nowhere else. SWA_JIT_KEEP_PTX=1 */
  SWA_JIT_FLAG_USE_PTX = 256u,      /* the image that is compiled, stored, loaded and given by swa_jit_cubin_get is PTX
                                       and no cubin: the driver compiles it when it is loaded. It runs where the cubin
                                       would, and that of sm_80 and sm_89 on newer devices too. For a driver that takes
                                       nothing else, as the emulator's. SWA_JIT_USE_PTX=1 */
  SWA_JIT_FLAG_NO_CREATE = 512u     /* a folder of the store that is not there is not made, and no trouble: there is no
                                       store then, as swa_jit_store_get_info says */
};

typedef struct swa_jit_options {
  uint32_t size;           /* sizeof(swa_jit_options) */
  uint32_t flags;          /* SWA_JIT_FLAG_..., or-ed; default 0 */
  uint32_t log_level;      /* swa_jit_log_level; default SWA_JIT_LOG_INFO */
  uint32_t lock_wait_ms;   /* longest wait for another process that compiles the same key; 0: 60,000 ms */
  swa_jit_log_fn log;      /* NULL: silence */
  void *log_data;          /* handed to log */
  const char *cache_dir;   /* the store's folder. SWA_JIT_CACHE_DIR, else swa-jit below XDG_CACHE_HOME or ~/.cache */
  const char *nvrtc_path;  /* libnvrtc to open, and no other. SWA_JIT_NVRTC, else a search */
  const char *cuda_path;   /* libcuda to open, and no other. SWA_JIT_CUDA, else a search */
  const char *dump_dir;    /* existing folder for each compile's source, log and what it made. SWA_JIT_DUMP_DIR */
  const char *record_path; /* file to which each new configuration asked for is appended. SWA_JIT_RECORD */
  const char *cache_path;  /* the store's read-only folders, parted by colons, searched in this order after cache_dir;
                              "" for none. SWA_JIT_CACHE_PATH */
  uint64_t cache_limit_bytes; /* most bytes of cache_dir: beyond, the least recently used entries are removed, but none
                                 that a library object uses. 0: SWA_JIT_CACHE_LIMIT, else 4 GiB; UINT64_MAX: no limit */
} swa_jit_options;

#define SWA_JIT_OPTIONS_INIT                                                                                           \
  {                                                                                                                    \
    sizeof(swa_jit_options), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0                                \
  }

/* Fills *options with the defaults above; size is the caller's sizeof, so that a library of a later release writes
 * no further. Thread-safety: any thread. */
SWA_JIT_API void swa_jit_options_init_sized(swa_jit_options *options, size_t size);
#define swa_jit_options_init(options) swa_jit_options_init_sized((options), sizeof(swa_jit_options))

/* ---- 5. Configuration ------------------------------------------------------------------------------------
 * What a kernel is specialised for. Every field multiplies the compiled variants; nothing else does.
 */
typedef enum swa_jit_arch {
  SWA_JIT_ARCH_NATIVE = 0, /* the current context's device, else device 0 */
  SWA_JIT_ARCH_SM_80 = 80, /* runs on compute capability 8.x */
  SWA_JIT_ARCH_SM_89 = 89,
  SWA_JIT_ARCH_SM_90A = 90,
  SWA_JIT_ARCH_SM_100A = 100,
  SWA_JIT_ARCH_SM_103A = 103,
  SWA_JIT_ARCH_SM_120A = 120
} swa_jit_arch;

typedef enum swa_jit_kernel_kind {
  SWA_JIT_KERNEL_DECODE = 0, /* section 8 */
  SWA_JIT_KERNEL_MERGE = 1   /* section 9; of the other fields only arch is read, the rest keep their defaults */
} swa_jit_kernel_kind;

/* e4m3: OCP 8-bit floating point (OFP8, 2023), E4M3. e8m0: a scale byte b is 2^(b - 127), 255 is NaN (OCP Microscaling
 * Formats 1.0). A footer block is block_size data rows, then as many scale rows. */
typedef enum swa_jit_kv_format {
  SWA_JIT_KV_E4M3_SLOT = 0,  /* head_dim e4m3 bytes a slot; a scale a slot in inv_scale */
  SWA_JIT_KV_E4M3 = 1,       /* head_dim e4m3 bytes a slot; one scale for the pool: kv_scale */
  SWA_JIT_KV_BF16 = 2,       /* head_dim bf16 a slot */
  SWA_JIT_KV_FOOTER_584 = 3, /* 448 e4m3 and 64 bf16, data rows of 576 bytes; scale rows of 8: an e8m0 byte for each 64
                                of the 448, and a pad. DeepSeek-V4's cache (FlashMLA's "MODEL1"); head_dim 512 */
  SWA_JIT_KV_FOOTER_528 = 4  /* 512 e4m3, data rows of 512 bytes; scale rows of 16: an e8m0 byte for each 32.
                                DeepSeek-V4.1's window cache; head_dim 512 */
} swa_jit_kv_format;

typedef enum swa_jit_int_type { SWA_JIT_INT32 = 0, SWA_JIT_INT64 = 1 } swa_jit_int_type;
typedef enum swa_jit_scale_type { SWA_JIT_FLOAT32 = 0, SWA_JIT_BFLOAT16 = 1 } swa_jit_scale_type;

typedef struct swa_jit_config {
  uint32_t size;         /* sizeof(swa_jit_config) */
  uint32_t arch;         /* swa_jit_arch; default SWA_JIT_ARCH_SM_100A */
  uint32_t head_dim;     /* elements of a row: 64, 96, 128, 192, 256 or 512; default 512 */
  uint32_t head_group;   /* query heads per CTA: 8, 16, 32, 64 or 128; default 16 */
  uint32_t kv_tile;      /* KV rows per pipeline stage: 16, 32, 64 or 128; default 16 */
  uint32_t window_size;  /* most positions that a token attends to: 1 to 8192; default 128 */
  uint32_t kv_format;    /* swa_jit_kv_format; default SWA_JIT_KV_E4M3_SLOT */
  uint32_t index_type;   /* swa_jit_int_type of indices; default SWA_JIT_INT32 */
  uint32_t lens_type;    /* swa_jit_int_type of lens; default SWA_JIT_INT32 */
  uint32_t scale_type;   /* swa_jit_scale_type of inv_scale; default SWA_JIT_FLOAT32 */
  uint32_t lse;          /* 1: the kernel can write LSE (a NULL lse still writes none); 0: it cannot; default 1 */
  uint32_t head_dim_v;   /* 0: V is K's row; else V has a pool of its own, with rows of so many elements, a value that
                           head_dim takes; default 0 */
  uint32_t sinks;        /* 1: the kernel takes a sink a head (NULL sinks: none); 0: it does not; default 0 */
  uint32_t soft_cap;     /* 1: the kernel caps scores; 0: it does not; default 0 */
  uint32_t extra_size;   /* most positions of a token in the extra scope: 0 (no such scope) to 8192; default 0 */
  uint32_t extra_format; /* swa_jit_kv_format of the extra scope's pool, read where extra_size is not 0; default
                           SWA_JIT_KV_E4M3_SLOT */
  uint32_t kernel;       /* swa_jit_kernel_kind; default SWA_JIT_KERNEL_DECODE */
  uint32_t splits;       /* 1: several CTAs may share a token's positions, see num_splits; 0: they may not; default 0 */
  uint32_t cluster_size; /* 4: a thread block cluster of four CTAs shares a token's head_group, which shortens a step of
                           few tokens; 0: each CTA works by itself; default 0. 4 takes any kv_format but bf16,
                           head_dim 512, head_group 8 or 16, kv_tile 128, a window_size up to 128, no head_dim_v,
                           extra_size or splits, and an architecture from sm_90a on */
} swa_jit_config;

#define SWA_JIT_CONFIG_INIT                                                                                            \
  {                                                                                                                    \
    sizeof(swa_jit_config), SWA_JIT_ARCH_SM_100A, 512, 16, 16, 128, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0              \
  }

/* Fills *config with the defaults above, as swa_jit_options_init. Thread-safety: any thread. */
SWA_JIT_API void swa_jit_config_init_sized(swa_jit_config *config, size_t size);
#define swa_jit_config_init(config) swa_jit_config_init_sized((config), sizeof(swa_jit_config))

/* Whether a configuration is legal and fits its architecture; no compiler, no device and no library is needed.
 * SWA_JIT_ARCH_NATIVE is refused here. shared_memory_bytes_out (or NULL): what one CTA will use.
 * Returns: OK; INVALID (a value outside the lists above); UNSUPPORTED (does not fit, with the figure); NEWER.
 * Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out);

/* A configuration as text, "arch=sm_100a head_dim=512 ...": the form of the command line and the record file. Fields
 * from head_dim_v on are in it only where they differ from their default. Writes at most text_size bytes with the
 * terminating zero; 512 are always enough.
 * Returns: OK; INVALID (a value without a name, text_size too small); NEWER. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_config_to_text(const swa_jit_config *config, char *text, size_t text_size);

/* The reverse: fields that the text does not name take their defaults. Fields are parted by blanks.
 * config_out: initialised, for its size. Returns: OK; INVALID (unknown name, unreadable value, a name given twice, a
 * size that no struct has); NEWER. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_config_from_text(const char *text, swa_jit_config *config_out);

/* The name of an architecture, "sm_100a"; NULL if the number is none. And the reverse; "native" is known.
 * Returns: OK; INVALID with the list of what is known. Thread-safety: any thread. */
SWA_JIT_API const char *swa_jit_arch_name(uint32_t arch);
SWA_JIT_API swa_jit_status swa_jit_arch_from_name(const char *name, uint32_t *arch_out);

/* Sets config's head_group, kv_tile and cluster_size to the fastest measured for a problem, of what fits; the other
 * fields are read, splits among them. cluster_size is 0 where one of them does not go with clusters.
 * num_tokens, num_heads >= 1. Of several KV heads each counts as a token of its own: pass num_tokens * num_kv_heads,
 * and the query heads of one KV head. The head_group is never more than these rounded up. num_sms: the device's
 * multiprocessors, 0 for the architecture's usual number.
 * Returns: OK; INVALID; UNSUPPORTED (nothing fits); NEWER. Thread-safety: any thread. Source of the table:
 * docs/measurements.md. */
SWA_JIT_API swa_jit_status swa_jit_pick(uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms,
                                        swa_jit_config *config_inout);

/* How many CTAs should share a token's positions in a launch (num_splits), where the configuration has splits; else 1.
 * A rule, the same for the same arguments:
 *   - as many as there are places for: num_sms times the CTAs that a multiprocessor holds of this configuration, over
 *     the launch's CTAs without splits;
 *   - but each has at least 128 positions of window_size and extra_size, in whole tiles of kv_tile;
 *   - and of numbers with which the longest share of tiles is the same, the least.
 * lens are data and are not read. As results depend on num_splits in their last bits, keep to one number where they
 * must not depend on num_tokens. num_tokens, num_heads, num_kv_heads: as in swa_jit_decode_args. num_sms: the device's
 * multiprocessors, 0 for the architecture's usual number.
 * Returns: OK; INVALID; UNSUPPORTED (the configuration does not fit); NEWER. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_pick_splits(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads,
                                               uint32_t num_kv_heads, uint32_t num_sms, uint32_t *num_splits_out);

/* ---- 6. Library ------------------------------------------------------------------------------------------ */

typedef struct swa_jit_lib swa_jit_lib; /* Thread-safety: all calls but close from any thread */

/* Opens a library object. Touches the environment and the store's folder (created 0700 when missing); opens neither
 * libcuda nor libnvrtc: the first call that needs one does. options NULL: the defaults. A store that cannot be used is
 * a warning and memory only, unless options->cache_dir named it: then it is an error.
 * Returns: OK; INVALID; NEWER; OUT_OF_MEMORY; STORE_ERROR (cache_dir is a file, cannot be created or opened, or can
 * be written by another user).
 * Ownership: *lib_out is the caller's, until swa_jit_close. After fork, a child may close its copy, and use it if no
 * other thread was in a call, but kernels already loaded belong to the parent's CUDA context. Thread-safety: any
 * thread. */
SWA_JIT_API swa_jit_status swa_jit_open(const swa_jit_options *options, swa_jit_lib **lib_out);

/* Unloads every kernel, frees *lib and sets it to NULL. lib or *lib may be NULL. No other thread may be in a call
 * with *lib, and no launched kernel may still run. Thread-safety: once. */
SWA_JIT_API void swa_jit_close(swa_jit_lib **lib);

/* The architecture of the current context's device, else of device 0.
 * Returns: OK; NO_DRIVER; NO_DEVICE; UNSUPPORTED (a device that no architecture here runs on); CUDA_ERROR. */
SWA_JIT_API swa_jit_status swa_jit_arch_native(swa_jit_lib *lib, uint32_t *arch_out);

/* ---- 7. Kernels ------------------------------------------------------------------------------------------ */

typedef struct swa_jit_kernel swa_jit_kernel; /* Thread-safety: immutable, any thread */

typedef enum swa_jit_origin {
  SWA_JIT_ORIGIN_NONE = 0,
  SWA_JIT_ORIGIN_STORE = 1,   /* read from the cubin store */
  SWA_JIT_ORIGIN_COMPILED = 2 /* compiled by this library object */
} swa_jit_origin;

typedef struct swa_jit_kernel_info {
  uint32_t size;                /* sizeof(swa_jit_kernel_info) */
  uint32_t arch;                /* swa_jit_arch, never NATIVE */
  uint32_t origin;              /* swa_jit_origin: how this library object first got it */
  uint32_t store_status;        /* swa_jit_status of the write to the store; OK also when none was due */
  uint32_t num_threads;         /* threads of a CTA */
  uint32_t shared_memory_bytes; /* dynamic shared memory of a CTA */
  uint32_t num_registers;       /* per thread, as ptxas reports it; this and the next two 0 if only PTX was compiled */
  uint32_t spill_store_bytes;   /* per thread, as ptxas reports it */
  uint32_t spill_load_bytes;    /* per thread, as ptxas reports it */
  uint32_t nvrtc_version;       /* of the compiler that made the cubin: major * 1000 + minor * 10 */
  uint64_t cubin_bytes;
  uint64_t compile_ns;     /* the compile's wall time, by whoever made it */
  uint64_t get_ns;         /* wall time of the call that first got it, waits included */
  const char *file_name;   /* the entry's name in the store */
  const char *key_text;    /* the key, one name=value a line */
  const char *miss_reason; /* why the store had no entry; "" for a hit */
} swa_jit_kernel_info;

#define SWA_JIT_KERNEL_INFO_INIT                                                                                       \
  {                                                                                                                    \
    sizeof(swa_jit_kernel_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL                                  \
  }

/* The kernel of a configuration, ready to launch: from memory, else from the store, else compiled. Blocks, for
 * seconds when it compiles; one compile per key however many threads and processes ask. Loads the cubin for every
 * device of its architecture, and into the context that is current, if there is one, also when the kernel is held
 * already: get it once in each context, so that a first launch there may be captured. A kernel remembers 8 contexts,
 * destroyed ones included; in any further one launch once before capturing.
 * A key whose compile failed is not compiled again by this library object, nor within an hour by any that writes to
 * the same store with the same NVRTC, where the source was at fault; the message names the file with the compiler's
 * log. A stored cubin that the driver refuses stays for others, and one for this driver is found or made.
 * Returns: OK; INVALID; UNSUPPORTED (does not fit, NVRTC too old, driver too old); NEWER; NO_DRIVER; NO_DEVICE;
 * NO_COMPILER; COMPILE_FAILED; CUDA_ERROR; OUT_OF_MEMORY. A store that cannot be written is no failure: a warning,
 * a counter and swa_jit_kernel_info.store_status tell it.
 * Ownership: the library's. Thread-safety: any thread; a kernel held and in the context is found without a lock. */
SWA_JIT_API swa_jit_status swa_jit_kernel_get(swa_jit_lib *lib, const swa_jit_config *config,
                                              const swa_jit_kernel **kernel_out);

/* The same without a GPU or driver: the cubin's bytes; with SWA_JIT_FLAG_USE_PTX the PTX's, behind which is a zero that
 * is not counted. NATIVE needs a driver. info_out: NULL or initialised.
 * Returns: as swa_jit_kernel_get, less what loading adds. Ownership: the library's. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_cubin_get(swa_jit_lib *lib, const swa_jit_config *config, const void **cubin_out,
                                             size_t *cubin_bytes_out, swa_jit_kernel_info *info_out);

/* What is known of a kernel. Returns: OK; INVALID; NEWER. Ownership: strings are the library's. */
SWA_JIT_API swa_jit_status swa_jit_kernel_get_info(const swa_jit_kernel *kernel, swa_jit_kernel_info *info_out);

/* For people: the rendered source as one file; the key, computed without a compiler; the PTX (compiled afresh, unless
 * the store keeps it); and the compiler's log of a configuration, compiled if the store has no entry ("" for an entry:
 * the store keeps no logs of what succeeded).
 * Returns: as swa_jit_cubin_get; swa_jit_source and swa_jit_key_text need no compiler. swa_jit_log_text is OK, too, for
 * a compile that failed as the source is at fault, now or remembered, and gives that compile's log.
 * Ownership: the library's. */
SWA_JIT_API swa_jit_status swa_jit_source(swa_jit_lib *lib, const swa_jit_config *config, const char **source_out);
SWA_JIT_API swa_jit_status swa_jit_key_text(swa_jit_lib *lib, const swa_jit_config *config, const char **key_text_out);
SWA_JIT_API swa_jit_status swa_jit_ptx(swa_jit_lib *lib, const swa_jit_config *config, const char **ptx_out);
SWA_JIT_API swa_jit_status swa_jit_log_text(swa_jit_lib *lib, const swa_jit_config *config, const char **log_text_out);

/* The name of the store's entry of a configuration, and whether the store holds it whole and valid (1) or not (0).
 * Returns: as swa_jit_source; with SWA_JIT_FLAG_SAME_COMPILER also NO_COMPILER, and UNSUPPORTED when NVRTC is too
 * old. Ownership: the library's. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_store_has(swa_jit_lib *lib, const swa_jit_config *config, const char **file_name_out,
                                             uint32_t *held_out);

/* Whether it holds the PTX that SWA_JIT_FLAG_KEEP_PTX keeps beside the cubin; with SWA_JIT_FLAG_USE_PTX the same as
 * above. Returns: as swa_jit_source. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_store_has_ptx(swa_jit_lib *lib, const swa_jit_config *config, uint32_t *held_out);

typedef enum swa_jit_store_state {
  SWA_JIT_STORE_OPEN = 0,    /* there is a folder, and it is used */
  SWA_JIT_STORE_NONE = 1,    /* none is wanted, or none was named and HOME names none */
  SWA_JIT_STORE_MISSING = 2, /* the folder was not there and may not be made */
  SWA_JIT_STORE_REFUSED = 3  /* it could not be opened, or is not trusted */
} swa_jit_store_state;

typedef struct swa_jit_store_info {
  uint32_t size;       /* sizeof(swa_jit_store_info) */
  uint32_t state;      /* swa_jit_store_state of the folder that is written (read, where the store is read-only) */
  uint32_t flags;      /* SWA_JIT_FLAG_... in effect: the options' and the environment's */
  uint32_t num_layers; /* read-only folders behind it that are used */
  uint64_t cache_limit_bytes; /* in effect; UINT64_MAX: none */
  const char *folder;         /* its absolute path; "" with SWA_JIT_STORE_NONE */
  const char *reason;         /* why it is not used; "" with SWA_JIT_STORE_OPEN */
} swa_jit_store_info;

#define SWA_JIT_STORE_INFO_INIT                                                                                        \
  {                                                                                                                    \
    sizeof(swa_jit_store_info), 0, 0, 0, 0, NULL, NULL                                                                 \
  }

/* Which folder the store is in, as options and environment named it, and what became of it when the library was opened.
 * Returns: OK; INVALID; NEWER. Ownership: strings are the library's. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_store_get_info(swa_jit_lib *lib, swa_jit_store_info *info_out);

/* Whether the store takes entries now, asked before a long run of compiles: writes and removes a temporary file.
 * Returns: OK; INVALID; STORE_ERROR (no store, a read-only one, or one that cannot be written; the message names the
 * folder, the reason and the remedy); OUT_OF_MEMORY. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_store_check(swa_jit_lib *lib);

/* ---- 8. Decode -------------------------------------------------------------------------------------------
 * For token t and query head h, which reads KV head g = h / (num_heads / num_kv_heads), over the positions j < len with
 * len = min(max(lens[t], 0), window_size), whose slot = indices[t, j] lies in [0, num_blocks * block_size) (others are
 * masked: never read, no effect):
 *
 *   row   = kv + (slot / block_size) * block_stride_bytes + (slot % block_size) * slot_stride_bytes
 *              + g * kv_head_stride_bytes
 *   k_j   = the row's elements times their scale, by the KV format
 *   v_j   = k_j; with head_dim_v, the row of the v pool, by v's strides and v_indices
 *   s_j   = scale * sum_d q[t,h,d] * k_j[d];  with soft_cap c > 0:  c * tanh(s_j / c)
 *   LSE[t,h]   = ln sum_j exp(s_j)
 *   out[t,h,:] = sum_j exp(s_j) * v_j / (sum_j exp(s_j) + exp(sinks[h]))      rounded to bf16, to nearest even
 *
 * Of out, magnitudes below 2^-100 of the largest |v|, which only a sink makes, may be 0.
 * With an extra scope the sums run over its unmasked positions too: one softmax over both. Without sinks exp(sinks[h])
 * is 0. With no unmasked position out is 0, whatever the sink, and LSE -infinity.
 * K and V as the same rows: multi-query attention over a latent, DeepSeek-V2, arXiv:2405.04434, section 2.1. Sinks and
 * grouped queries: gpt-oss's model card, arXiv:2508.10925.
 * The data of lens, indices, scales, sinks and pools never cause an access outside the tensors.
 */
typedef struct CUstream_st *swa_jit_stream; /* the same type as CUstream and cudaStream_t */

/* How LSE is written: or-ed. None: natural logarithm, without the sink, -infinity where no position is unmasked. */
enum {
  SWA_JIT_LSE_BASE_2 = 1u,             /* log2 instead of ln */
  SWA_JIT_LSE_WITH_SINK = 2u,          /* of the sum with exp(sinks[h]), where a position is unmasked */
  SWA_JIT_LSE_EMPTY_PLUS_INFINITY = 4u /* +infinity where no position is unmasked, whatever the sink */
};

enum {
  /* Programmatic dependent launch (CUDA programming guide): the kernel may start before its predecessor in the stream
   * has ended, and waits for it before it reads any tensor. No effect before sm_90a. */
  SWA_JIT_DECODE_DEPENDENT = 1u
};

/* row bytes: of a KV format's data row: head_dim (e4m3), 2 * head_dim (bf16), 576 and 512 (footers). q, out and lse may
 * be slices of one buffer: where two of them have the same strides in bytes, their rows may lie between each other. */
typedef struct swa_jit_decode_args {
  uint32_t size;                /* sizeof(swa_jit_decode_args) */
  uint32_t num_tokens;          /* T, 0 to 2^31 - 1; 0 launches nothing */
  uint32_t num_heads;           /* H, 1 to 65,535 * head_group; need not divide by head_group */
  uint32_t block_size;          /* slots of a block, >= 1 */
  uint64_t num_blocks;          /* num_blocks * block_size <= 2^31 - 1 */
  const void *q;                /* bf16 [T, H, head_dim], 16-byte aligned */
  int64_t q_token_stride;       /* elements, a positive multiple of 8; 0: H * head_dim */
  int64_t q_head_stride;        /* elements, a multiple of 8, >= head_dim; 0: head_dim */
  const void *kv;               /* K's pool: [num_blocks, block_size, num_kv_heads] rows, 16-byte aligned; NULL if
                                   num_blocks is 0 */
  int64_t block_stride_bytes;   /* a multiple of 16, room for the block; 0: that of packed blocks. Not 0 for footer_584
                                   with an odd block_size: packed, they are no multiple of 16 */
  int64_t slot_stride_bytes;    /* a multiple of 16, >= the row bytes; 0: num_kv_heads rows. Footers: 0 or the row's */
  const void *inv_scale;        /* e4m3_slot: float32 or bf16 [num_blocks * block_size, num_kv_heads], aligned to its
                                   type; other formats: not read */
  const void *indices;          /* int32 or int64 [T, window_size], aligned to its type; a row is read up to len only */
  int64_t indices_token_stride; /* elements, >= 1; 0: window_size */
  const void *lens;             /* int32 or int64 [T], aligned to its type */
  void *out;                    /* bf16 [T, H, head_dim or head_dim_v], 16-byte aligned. Rows overlap neither each other
                                   nor q's, nor any other input from its first to its last byte */
  int64_t out_token_stride;     /* elements, a multiple of 8, >= out's row; 0: H rows */
  int64_t out_head_stride;      /* elements, a multiple of 8, >= out's row; 0: a row */
  float *lse;                   /* float32 [T, H]; overlaps as little, nor out's rows; NULL: not written */
  int64_t lse_token_stride;     /* elements, >= 1; 0: H * lse_head_stride */
  float scale;                  /* softmax scale, any float; the usual one is 1 / sqrt(head_dim) */
  uint32_t lse_form;            /* SWA_JIT_LSE_..., or-ed; default 0 */
  int64_t lse_head_stride;      /* elements, >= 1; 0: 1. Elements of LSE do not overlap */
  uint32_t flags;               /* SWA_JIT_DECODE_..., or-ed; default 0 */
  uint32_t num_kv_heads;        /* 0: 1. Divides num_heads; to 65,535; 1 with a footer format or an extra scope */
  int64_t kv_head_stride_bytes; /* a multiple of 16, >= the row bytes; 0: the row bytes */
  float kv_scale;               /* e4m3: the pool's scale; default 1 */
  float v_scale;                /* the same of v */
  const float *sinks;           /* float32 [H], an unscaled logit a head, any value; NULL: none */
  float soft_cap;               /* c > 0, finite; 0: none. Only with a configuration that has soft_cap */
  uint32_t num_splits;          /* CTAs that share a token's positions, 1 to 256; 0: 1. More than 1 only with a
                                   configuration that has splits, as swa_jit_pick_splits picks. Results depend on it in
                                   their last bits */
  /* V's own pool, read where head_dim_v is not 0: the blocks are kv's in number and size */
  const void *v;                /* [num_blocks, block_size, num_kv_heads] rows of head_dim_v elements, as kv */
  int64_t v_block_stride_bytes; /* as of kv */
  int64_t v_slot_stride_bytes;  /* as of kv */
  int64_t v_head_stride_bytes;  /* as of kv */
  const void *v_inv_scale;      /* as inv_scale */
  const void *v_indices;        /* as indices, with the same stride; NULL: indices. A position is masked where either
                                    slot is out of range */
  /* The extra scope, read where extra_size is not 0 */
  const void *extra_kv; /* as kv; NULL if extra_num_blocks is 0 */
  int64_t extra_block_stride_bytes;
  int64_t extra_slot_stride_bytes;
  const void *extra_inv_scale;        /* as inv_scale */
  const void *extra_indices;          /* as indices, [T, extra_size] */
  int64_t extra_indices_token_stride; /* elements, >= 1; 0: extra_size */
  const void *extra_lens;             /* as lens, limited by extra_size; NULL: extra_size for every token */
  uint64_t extra_num_blocks;
  uint32_t extra_block_size; /* slots of a block, >= 1; default 1 */
  float extra_scale;         /* e4m3: the extra pool's scale; default 1 */
  /* Where splits leave their parts: swa_jit_workspace_bytes bytes of device memory, 16-byte aligned, zeroed before its
   * first use and by nobody after. One that is large enough for each serves launches of any kernels and counts, one
   * after another; not launches that may run at once. Overlaps nothing else. NULL where the kernel has no splits */
  void *workspace;
  uint64_t workspace_bytes;
} swa_jit_decode_args;

#define SWA_JIT_DECODE_ARGS_INIT                                                                                       \
  {                                                                                                                    \
    sizeof(swa_jit_decode_args), 0, 0, 1, 0, NULL, 0, 0, NULL, 0, 0, NULL, NULL, 0, NULL, NULL, 0, 0, NULL, 0, 1.0f,   \
        0, 0, 0, 0, 0, 1.0f, 1.0f, NULL, 0.0f, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, 0, 1,    \
        1.0f, NULL, 0                                                                                                  \
  }

/* Fills *args with zeros, block sizes of 1 and scales of 1, as swa_jit_options_init. Thread-safety: any thread. */
SWA_JIT_API void swa_jit_decode_args_init_sized(swa_jit_decode_args *args, size_t size);
#define swa_jit_decode_args_init(args) swa_jit_decode_args_init_sized((args), sizeof(swa_jit_decode_args))

/* How large a launch's workspace must be; 0 for a kernel without splits. num_kv_heads and num_splits: 0 is 1. With
 * splits num_tokens times the head groups, in passes of 16 heads or more, are at most 65,536.
 * Returns: OK; INVALID (a count outside what swa_jit_decode takes). Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_workspace_bytes(const swa_jit_kernel *kernel, uint32_t num_tokens,
                                                   uint32_t num_heads, uint32_t num_kv_heads, uint32_t num_splits,
                                                   uint64_t *bytes_out);

/* Launches one decode step on stream (NULL: the current context's default stream) and returns. Checks the host side
 * (pointers, alignment, strides, overlaps); contents are not read. No allocation, lock, system call or synchronisation
 * of its own. The stream may be of any context; a launch is quickest where it is the current one and the kernel was got
 * there.
 * Returns: OK; INVALID; NEWER; UNSUPPORTED (lse, sinks, soft_cap or splits asked of a kernel without); WRONG_DEVICE;
 * CUDA_ERROR.
 * Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_decode(const swa_jit_kernel *kernel, const swa_jit_decode_args *args,
                                          swa_jit_stream stream);

/* ---- 9. Merge ---------------------------------------------------------------------------------------------
 * Partial results of the same queries over disjoint positions, each an out without sink and its LSE l_i, to the result
 * over all of them. For token t and head h, over the parts i whose LSE does not say that they are empty:
 *
 *   m   = max_i l_i        w_i = exp(l_i - m)
 *   out = sum_i w_i * out_i / (sum_i w_i + exp(sinks[h] - m))      rounded to bf16, to nearest even
 *   LSE = m + ln sum_i w_i
 *
 * An empty part has no effect, whatever its out holds. With every part empty out is 0, whatever the sink, and LSE
 * -infinity. Without sinks exp(sinks[h] - m) is 0; a sink of +infinity makes out 0, of -infinity is none, of NaN makes
 * out NaN. An LSE of a part that is NaN, or an infinity that does not mean empty, makes out and LSE NaN.
 * The formula, without sink: FlashInfer, arXiv:2501.01005. As the parts are rounded to bf16, out is not
 * the very bits of one decode over all positions.
 */
typedef struct swa_jit_merge_args {
  uint32_t size;        /* sizeof(swa_jit_merge_args) */
  uint32_t num_parts;   /* 1 to 8; 1 applies a sink to a result, or rewrites LSE in another form */
  uint32_t num_tokens;  /* T, 0 to 2^31 - 1; 0 launches nothing */
  uint32_t num_heads;   /* H, 1 to 65,535 */
  uint32_t head_dim;    /* elements of a row, V's: a multiple of 8, 8 to 1024 */
  uint32_t flags;       /* SWA_JIT_DECODE_DEPENDENT, which means the same here; default 0 */
  uint32_t parts_form;  /* of the parts' LSE: SWA_JIT_LSE_BASE_2 and SWA_JIT_LSE_EMPTY_PLUS_INFINITY (-infinity means
                           empty in either case), or-ed; default 0 */
  uint32_t lse_form;    /* of the merged LSE: SWA_JIT_LSE_..., or-ed; default 0 */
  const void *outs[8];  /* the first num_parts: bf16 [T, H, head_dim], 16-byte aligned */
  const float *lses[8]; /* the first num_parts: float32 [T, H] */
  int64_t outs_token_stride; /* of every part; elements, a positive multiple of 8; 0: H * outs_head_stride */
  int64_t outs_head_stride;  /* elements, a multiple of 8, >= head_dim; 0: head_dim */
  int64_t lses_token_stride; /* of every part; elements, >= 1; 0: H * lses_head_stride */
  int64_t lses_head_stride;  /* elements, >= 1; 0: 1 */
  void *out;                 /* bf16 [T, H, head_dim], 16-byte aligned; rows do not overlap. May be a part's out, if the
                                strides are the same; overlaps nothing else that is read */
  int64_t out_token_stride;  /* elements, a multiple of 8, >= head_dim; 0: H * out_head_stride */
  int64_t out_head_stride;   /* elements, a multiple of 8, >= head_dim; 0: head_dim */
  float *lse;                /* float32 [T, H], overlaps nothing that is read; NULL: not written */
  int64_t lse_token_stride;  /* elements, >= 1; 0: H * lse_head_stride */
  int64_t lse_head_stride;   /* elements, >= 1; 0: 1. Elements do not overlap */
  const float *sinks;        /* float32 [H], any value; NULL: none */
} swa_jit_merge_args;

#define SWA_JIT_MERGE_ARGS_INIT                                                                                        \
  {                                                                                                                    \
    sizeof(swa_jit_merge_args), 0, 0, 0, 0, 0, 0, 0, {NULL}, {NULL}, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL          \
  }

/* Fills *args with zeros, as swa_jit_options_init. Thread-safety: any thread. */
SWA_JIT_API void swa_jit_merge_args_init_sized(swa_jit_merge_args *args, size_t size);
#define swa_jit_merge_args_init(args) swa_jit_merge_args_init_sized((args), sizeof(swa_jit_merge_args))

/* Launches one merge on stream, as swa_jit_decode does a decode step: same checks, capture, streams and contexts.
 * kernel: of a configuration with kernel SWA_JIT_KERNEL_MERGE; one serves every shape.
 * Returns: OK; INVALID; NEWER; WRONG_DEVICE; CUDA_ERROR. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_merge(const swa_jit_kernel *kernel, const swa_jit_merge_args *args,
                                         swa_jit_stream stream);

/* ---- 10. Statistics -------------------------------------------------------------------------------------- */

typedef struct swa_jit_stats {
  uint32_t size;                 /* sizeof(swa_jit_stats) */
  uint32_t reserved;             /* 0 */
  uint64_t store_hits;           /* entries read, verified and used */
  uint64_t store_misses;         /* looked for and not there, or not usable */
  uint64_t store_set_aside;      /* entries that failed verification and were renamed */
  uint64_t store_writes;         /* entries published */
  uint64_t store_write_failures; /* a kernel was returned but could not be kept */
  uint64_t store_bytes_read;
  uint64_t store_bytes_written;
  uint64_t lock_waits;    /* times another process held the key's lock */
  uint64_t lock_failures; /* locks that could not be had: possibly a duplicate compile */
  uint64_t compiles;      /* successful compiles */
  uint64_t compile_failures;
  uint64_t compile_ns; /* wall time of all compiles */
  uint64_t loads;      /* cubins loaded by the driver */
  uint64_t load_ns;
  uint64_t layer_hits;          /* of store_hits, those in a read-only folder */
  uint64_t layer_skips;         /* entries of read-only folders that could not be used and were passed over */
  uint64_t evictions;           /* files removed to keep the store within its size limit */
  uint64_t evicted_bytes;       /* their sizes */
  uint64_t failures_remembered; /* compiles not made, as the store remembers that they failed a while ago */
} swa_jit_stats;

#define SWA_JIT_STATS_INIT                                                                                             \
  {                                                                                                                    \
    sizeof(swa_jit_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                  \
  }

/* A snapshot of the counters of a library object; each counter is exact, the set need not be of one instant.
 * Returns: OK; INVALID; NEWER. Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_stats_get(swa_jit_lib *lib, swa_jit_stats *stats_out);

/* ---- 11. The store's files --------------------------------------------------------------------------------
 * For tools that list, check, ship and clear a store. A program that only wants kernels needs none of it.
 */
typedef enum swa_jit_entry_state {
  SWA_JIT_ENTRY_USABLE = 0,     /* as far as it was read: see SWA_JIT_EACH_VERIFY */
  SWA_JIT_ENTRY_BAD = 1,        /* it has an entry's name and is none: reason says why */
  SWA_JIT_ENTRY_UNREADABLE = 2, /* the system does not let it be read: reason says why */
  SWA_JIT_ENTRY_SET_ASIDE = 3,  /* could not be used, and was renamed for a person to look at */
  SWA_JIT_ENTRY_TEMPORARY = 4,  /* a writer's unfinished entry, or what a crash left of it */
  SWA_JIT_ENTRY_FAILED = 5      /* a compile that failed, remembered for a while: reason is its message */
} swa_jit_entry_state;

enum {
  SWA_JIT_EACH_VERIFY = 1u,    /* read every byte of each entry and check it as a hit does; else only its end is read */
  SWA_JIT_EACH_SET_ASIDE = 2u, /* set bad entries aside, as a miss does; none of read-only folders */
  SWA_JIT_EACH_CURRENT = 4u    /* fill is_current: renders the source of each entry's configuration */
};

typedef struct swa_jit_entry {
  uint32_t size;                /* sizeof(swa_jit_entry) */
  uint32_t state;               /* swa_jit_entry_state */
  uint32_t arch;                /* swa_jit_arch; 0 where config_text is "" */
  uint32_t layer;               /* 0: in the folder that is written; 1, 2, ...: in that read-only one of cache_path */
  uint32_t is_current;          /* 1: this library asks for this very key; 0: it does not, or was not asked */
  uint32_t num_threads;         /* threads of a CTA and its dynamic shared memory, as this library plans them for the */
  uint32_t shared_memory_bytes; /* configuration; 0 where it is unknown */
  uint32_t num_registers;       /* this and the next four: what its maker wrote down; 0 where it cannot be read */
  uint32_t spill_store_bytes;
  uint32_t spill_load_bytes;
  uint32_t nvrtc_version; /* major * 1000 + minor * 10 */
  uint32_t reserved;      /* 0 */
  uint64_t compile_ns;
  uint64_t cubin_bytes; /* 0 where it cannot be read */
  uint64_t file_bytes;
  int64_t made_s;          /* when it was written, in seconds since 1970 (UTC), by the file system's clock */
  int64_t used_s;          /* when it was last used, likewise; 0: not known */
  const char *folder;      /* that it lies in */
  const char *name;        /* of its file */
  const char *config_text; /* its configuration, as swa_jit_config_to_text; "" where it is unknown here */
  const char *key_text;    /* its key; "" where it cannot be read */
  const char *reason;      /* why it is bad, unreadable or failed; else "" */
  const void *bytes;       /* with SWA_JIT_EACH_VERIFY, of a usable entry: the whole file; else NULL */
  int64_t expires_s;       /* of a failed compile that still counts: until when; else 0 */
  const char *log_text;    /* of a failed compile: the compiler's log; else "" */
  uint32_t file_idx;       /* which file of its folder it is, from 0, of */
  uint32_t num_files;      /* so many that were there when its listing began */
} swa_jit_entry;

/* Called with each file. entry and what it points to are valid during the call. It may call the library, but not
 * swa_jit_close. 0 goes on; anything else ends the walk. */
typedef uint32_t (*swa_jit_entry_fn)(void *entry_data, const swa_jit_entry *entry);

/* Calls call with every entry of the store, and with what was or will be one: folder by folder in the order in which
 * they are searched, in the order of names. Locks and files that the library does not name are passed over. flags:
 * SWA_JIT_EACH_..., or-ed. Counts no hits and no misses.
 * Returns: OK; INVALID; STORE_ERROR (no store, or its folder cannot be listed); OUT_OF_MEMORY. */
SWA_JIT_API swa_jit_status swa_jit_store_each(swa_jit_lib *lib, uint32_t flags, swa_jit_entry_fn call,
                                              void *entry_data);

/* Whether bytes are an entry of this name, whole and valid: what swa_jit_store_add checks.
 * Returns: OK; INVALID (not an entry's name, or not its bytes). Thread-safety: any thread. */
SWA_JIT_API swa_jit_status swa_jit_entry_check(const char *name, const void *bytes, size_t num_bytes);

/* Adds an entry that another store gave (swa_jit_entry.name and bytes), after the checks of a hit, its name included.
 * added_out: 1; or 0 where the folder that is written holds a usable entry of this key already, which stays.
 * Returns: OK; INVALID (not an entry's name, or not its bytes); STORE_ERROR (no store, a read-only one, or one that
 * cannot be written); OUT_OF_MEMORY. */
SWA_JIT_API swa_jit_status swa_jit_store_add(swa_jit_lib *lib, const char *name, const void *bytes, size_t num_bytes,
                                             uint32_t *added_out);

/* Removes a file that swa_jit_store_each names in layer 0. removed_out: 1, also when it is gone already; 0 where it
 * stays, as a library object that is open has got its kernel, or is making it.
 * Returns: OK; INVALID (not such a name); STORE_ERROR (no store, a read-only one, or the system's reason). */
SWA_JIT_API swa_jit_status swa_jit_store_remove(swa_jit_lib *lib, const char *name, uint32_t *removed_out);

#ifdef __cplusplus
}
#endif

#endif
