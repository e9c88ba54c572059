/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of size-first public structs (swa_jit.h, "Structs"). Called by api.c, launch.c and config.c. */
#ifndef SJ_ABI_H
#define SJ_ABI_H

#include "status.h"

/* given: the caller's struct; first_size: its size in the first release that had it; known_size: its size here.
 * OK, INVALID (NULL, too small, or above 4,096) or NEWER (unknown non-zero tail). name is the struct's, for the
 * message. */
swa_jit_status sj_abi_check(const void *given, size_t first_size, size_t known_size, const char *name);

/* Writes a known struct into one of out_size bytes, of whatever release: what the known one lacks becomes zero,
 * what the other lacks is left out. size becomes out_size. */
void sj_abi_fill(void *out, size_t out_size, const void *known, size_t known_size);

#endif
