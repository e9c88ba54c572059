/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline that fills a kernel's entry: plan, render, key, store, compile, store, load. Each step is another
 * file's; this one is their order, the one flight per key and what is remembered. A call that succeeds leaves this
 * thread's message as it was, whatever failed and was overcome on the way. */
#ifndef SJ_BUILD_H
#define SJ_BUILD_H

#include "lib.h"

/* The entry of a configuration with plan, source and key made. */
swa_jit_status sj_build_describe(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);
/* ... with its cubin, from the store or compiled. cubin, info and log_text are read under the entry's mutex: a stored
 * cubin that the driver refuses is replaced by the first load. The bytes handed out before stay valid. */
swa_jit_status sj_build_cubin(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);
/* The compiler's log, of a compile that failed, too, where the source was at fault; "" of a stored entry. It lives as
 * long as the library object. Where there is none, as sj_build_cubin. */
swa_jit_status sj_build_log(swa_jit_lib *lib, const swa_jit_config *config, const char **log_out);
/* ... loaded, into the current context too, ready to launch. Nothing of it changes any more, but that further contexts
 * are added to what is loaded. */
swa_jit_status sj_build_kernel(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);
/* ... with its PTX, compiled for it the first time. */
swa_jit_status sj_build_ptx(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out);

/* The entry with its key made, and whether the store holds it, whole and valid. */
swa_jit_status sj_build_is_stored(swa_jit_lib *lib, const swa_jit_config *config, struct swa_jit_kernel **kernel_out,
                                  bool *held_out);
/* Whether the store holds its PTX. */
swa_jit_status sj_build_is_ptx_stored(swa_jit_lib *lib, const swa_jit_config *config, bool *held_out);

#endif
