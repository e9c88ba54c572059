/* SPDX-License-Identifier: Apache-2.0 */
/* --prune: removes what no program uses, and entries by age, release and size. */
#ifndef WARM_PRUNE_H
#define WARM_PRUNE_H

#include "options.h"
#include "swa_jit/swa_jit.h"

/* Returns the tool's exit status. */
int warm_prune(const warm_options *options, swa_jit_lib *lib);

#endif
