/* SPDX-License-Identifier: Apache-2.0 */
/* The merge kernel's template, run on the host: the same text, compiled as C++, with a thread at a time. */
#ifndef TEMPLATE_ON_HOST_H
#define TEMPLATE_ON_HOST_H

#include "swa_merge_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs every thread of a grid, in order or, with is_backward, from the last to the first. */
void template_run_merge(const swa_merge_params *params, unsigned num_tokens, unsigned num_shares, unsigned num_threads,
                        int is_backward);

#ifdef __cplusplus
}
#endif

#endif
