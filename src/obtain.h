/* SPDX-License-Identifier: Apache-2.0 */
/* What is loaded of a described entry of the kernel table: its image, from the store or compiled and published.
 * All under the entry's mutex, so that there is one flight per key in this process; one per key across processes is
 * store_lock.h's. */
#ifndef SJ_OBTAIN_H
#define SJ_OBTAIN_H

#include "lib.h"

/* start_ns: when the caller's call began, for info.get_ns. */
swa_jit_status sj_obtain_cubin(swa_jit_lib *lib, struct swa_jit_kernel *kernel, uint64_t start_ns);

/* Another cubin, as the driver refuses the stored one that the kernel has: one that the store keeps for this driver,
 * else a compiled one, which is published as that. The refused entry stays, as another machine's driver may take it.
 * Called while the message is the driver's refusal, and again when what it gave is refused, too. */
swa_jit_status sj_obtain_replacement(swa_jit_lib *lib, struct swa_jit_kernel *kernel, int driver_version);

/* kernel->ptx: the stored one, else, if may_compile, a compiled one; NO_COMPILER when neither can be had. */
swa_jit_status sj_obtain_ptx(swa_jit_lib *lib, struct swa_jit_kernel *kernel, bool may_compile);

/* The NVRTC version that a stored entry must be of; 0: any. */
swa_jit_status sj_obtain_wanted_version(swa_jit_lib *lib, const struct swa_jit_kernel *kernel, uint32_t *version_out);

#endif
