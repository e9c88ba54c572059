/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: what runs PTX, as the driver front sees it. A module is loaded for a device, its kernels are launched
 * one at a time, and global memory belongs to the process. Every call may come from any thread. */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Results are the driver's own numbers. */
enum {
  EMU_OK = 0,
  EMU_INVALID_VALUE = 1,
  EMU_OUT_OF_MEMORY = 2,
  EMU_NO_BINARY = 209,       /* the text is for another target, or for PTX newer than we know */
  EMU_INVALID_PTX = 218,     /* malformed, or an instruction that the machine does not know */
  EMU_NOT_FOUND = 500,       /* no such symbol */
  EMU_ILLEGAL_ADDRESS = 700, /* out of bounds, unallocated, uninitialised, or a race */
  EMU_LAUNCH_OUT_OF_RESOURCES = 701,
  EMU_LAUNCH_TIMEOUT = 702,      /* deadlock */
  EMU_ILLEGAL_INSTRUCTION = 715, /* an instruction used against its rules */
  EMU_MISALIGNED_ADDRESS = 716,
  EMU_INVALID_ADDRESS_SPACE = 717,
  EMU_LAUNCH_FAILED = 719, /* trap */
  EMU_INVALID_CLUSTER_SIZE = 912
};

/* Why a call failed: one line, or a report of several. Empty after a success. */
typedef struct emu_message {
  char text[2048];
} emu_message;

typedef struct emu_device {
  const char *arch; /* "sm_90a" */
  const char *name; /* as cuDeviceGetName gives it */
  int major, minor;
  uint32_t num_sms;
  uint32_t max_threads_per_block, max_threads_per_sm, max_blocks_per_sm;
  uint32_t registers_per_sm, max_registers_per_thread;
  uint32_t shared_per_block;       /* bytes without opt-in */
  uint32_t shared_per_block_optin; /* bytes with it */
  uint32_t shared_per_sm;
  uint32_t shared_reserved; /* bytes of each block that belong to the system */
  uint32_t max_cluster;     /* blocks; 1: no clusters */
  uint32_t l2_bytes, memory_bus_bits, memory_clock_khz, clock_khz;
  uint64_t total_memory;
} emu_device;

/* "sm_80", "sm_90a", "sm_100a", "sm_190"; NULL if unknown. */
const emu_device *emu_device_find(const char *arch);
/* The i-th device known, NULL past the end. */
const emu_device *emu_device_at(unsigned index);

/* Of the process; the defaults are seed 1, as many threads as processors. Takes effect at the next launch. */
typedef struct emu_settings {
  uint64_t seed;
  unsigned threads; /* 0: the processors */
} emu_settings;
void emu_configure(const emu_settings *settings);

/* ---- Modules ---------------------------------------------------------------------------------------------- */

typedef struct emu_module emu_module;
typedef struct emu_kernel emu_kernel;

typedef struct emu_param {
  uint32_t offset, size;
} emu_param;

typedef struct emu_kernel_info {
  const char *name;
  uint32_t static_shared; /* bytes */
  uint32_t local_bytes;   /* a thread */
  uint32_t constant_bytes;
  uint32_t num_registers;       /* a guess at what the hardware would use, at most its limit */
  uint32_t max_threads;         /* of a block: .maxntid or .reqntid, else the device's */
  uint32_t required_cluster[3]; /* .reqnctapercluster; 0: none */
  uint32_t param_bytes;
  unsigned num_params;
  const emu_param *params;
} emu_kernel_info;

/* Parses the text and decodes all its kernels for the device. text need not end in a zero; one at its end is allowed.
 * EMU_INVALID_PTX with "line:column: ...", EMU_NO_BINARY, EMU_OUT_OF_MEMORY. */
int emu_module_load(const char *text, size_t size, const emu_device *device, emu_module **module_out,
                    emu_message *message);
void emu_module_free(emu_module *module);
unsigned emu_module_num_kernels(const emu_module *module);
const emu_kernel *emu_module_kernel_at(const emu_module *module, unsigned index);
/* NULL if there is none of that name. */
const emu_kernel *emu_module_kernel(const emu_module *module, const char *name);
/* A variable of the module in global or constant memory; EMU_NOT_FOUND. */
int emu_module_global(const emu_module *module, const char *name, uint64_t *address_out, size_t *size_out);
const emu_kernel_info *emu_kernel_get_info(const emu_kernel *kernel);

/* ---- Global memory ---------------------------------------------------------------------------------------- */

/* 0 when there is no room; size 0 gives 0. Aligned to 512 bytes, with unallocated bytes on both sides. */
uint64_t emu_alloc(size_t size);
/* EMU_INVALID_VALUE for what emu_alloc did not give. */
int emu_free(uint64_t address);
/* The host's view of size bytes inside one allocation, NULL if they are not. Copies by hand say emu_mark_written. */
void *emu_host(uint64_t address, size_t size);
void emu_mark_written(uint64_t address, size_t size);
/* Copies with both: EMU_INVALID_VALUE when the range is not inside one allocation. */
int emu_copy_in(uint64_t to, const void *from, size_t size);
int emu_copy_out(void *to, uint64_t from, size_t size);
/* Copies what is initialised as initialised, and the rest as not. */
int emu_copy_within(uint64_t to, uint64_t from, size_t size);
/* The allocation that holds an address; EMU_INVALID_VALUE. */
int emu_range(uint64_t address, uint64_t *base_out, size_t *size_out);
/* Bytes in use. */
size_t emu_memory_used(void);

/* ---- Launches --------------------------------------------------------------------------------------------- */

typedef struct emu_launch {
  const emu_kernel *kernel;
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* zeros: as the kernel says, else 1 x 1 x 1 */
  uint32_t dynamic_shared;
  const void *params; /* laid out as emu_kernel_info says */
  size_t params_size;
  /* Programmatic dependent launch: which of a chain this is, 1 the first; 0: none. Each but the first may begin before
   * the one before has ended, if griddepcontrol.launch_dependents was met there: what that one writes is not visible,
   * and what it reads must not be written, before griddepcontrol.wait. is_followed: another of the chain comes. */
  uint32_t chain;
  uint8_t is_followed;
} emu_launch;

typedef struct emu_run_stats {
  uint64_t warp_instructions, thread_instructions;
} emu_run_stats;

/* The checks that emu_run makes of a launch, without running it. */
int emu_launch_check(const emu_device *device, const emu_launch *launch, emu_message *message);
/* Runs a launch to its end. A fault ends it: the result is its code, the message its report. stats may be NULL. */
int emu_run(const emu_device *device, const emu_launch *launch, emu_run_stats *stats, emu_message *report);

#endif
