/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC for the bench's own kernels. The library's use of it is internal to the library. */
#ifndef BENCH_NVRTC_H
#define BENCH_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

/* source -> cubin, which is malloc'ed. path NULL: SWA_JIT_NVRTC, else the usual names. False: message says why. */
bool bench_nvrtc_compile(const char *path, const char *source, const char *name, const char *const *options,
                         int num_options, char **cubin_out, char *message, size_t message_size);

#endif
