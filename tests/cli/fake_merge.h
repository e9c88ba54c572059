/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake device runs in place of the merge kernel: the float64 reference on the kernel's own parameter. */
#ifndef FAKE_MERGE_H
#define FAKE_MERGE_H

#include <stdint.h>

#include "swa_merge_params.h"

/* Writes out and LSE of a launch. The parameter does not have the number of tokens: the grid does. Returns NULL, or why
 * it did not. */
const char *fake_merge_run(const swa_merge_params *params, uint32_t num_tokens);

#endif
