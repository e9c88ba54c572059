/* SPDX-License-Identifier: Apache-2.0 */
/* --list, --verify and --show: what the store holds. Each returns the tool's exit status. */
#ifndef WARM_INSPECT_H
#define WARM_INSPECT_H

#include "options.h"
#include "progress.h"
#include "swa_jit/swa_jit.h"

int warm_list(const warm_options *options, swa_jit_lib *lib);
int warm_verify(const warm_options *options, swa_jit_lib *lib, sj_progress *progress);
int warm_show(const warm_options *options, swa_jit_lib *lib);

#endif
