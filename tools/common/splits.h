/* SPDX-License-Identifier: Apache-2.0 */
/* num_splits as the command lines give it. */
#ifndef SJ_SPLITS_H
#define SJ_SPLITS_H

#include <stdbool.h>
#include <stdint.h>

enum { SJ_SPLITS_MOST = 256 };
#define SJ_SPLITS_PICK UINT32_MAX /* what swa_jit_pick_splits picks */

/* "0" (a kernel without splits) to "256", or "pick". False when it is none. */
bool sj_splits_read(const char *text, uint32_t *num_splits_out);

#endif
