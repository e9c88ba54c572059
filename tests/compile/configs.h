/* SPDX-License-Identifier: Apache-2.0 */
/* The configurations that the compile tests try on one architecture, and a library object with a store of its own. */
#ifndef SJ_CONFIGS_H
#define SJ_CONFIGS_H

#include "swa_jit/swa_jit.h"

#define CONFIGS_MAX 64

typedef struct configs {
  unsigned count;
  swa_jit_config list[CONFIGS_MAX];
} configs;

/* The shape that the library is made for, head_dim 512 and window 128: the defaults, and whatever head_group and
 * kv_tile swa_jit_pick chooses for any number of tokens and heads. */
void configs_presets(uint32_t arch, configs *out);

/* Each value of each field at least once, the window over its whole range, the other fields drawn at random from a
 * fixed seed among those that fit. Returns the number of values for which nothing fitted: 0. */
unsigned configs_spread(uint32_t arch, configs *out);

/* What the kernel of clusters may be: both sizes of a group and both formats, with each of its options in some. */
void configs_clusters(uint32_t arch, configs *out);

/* Opens a library whose store is folder. Returns 0; or, having printed the reason, SJ_TEST_SKIPPED when no compiler is
 * there or it is too old for arch, and 1 on any other trouble. */
int configs_open(const char *folder, uint32_t arch, swa_jit_lib **lib_out);

#endif
