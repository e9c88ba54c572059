/* SPDX-License-Identifier: Apache-2.0 */
/* num_splits for a launch, by a rule over its counts. Pure. */
#ifndef SJ_PICK_SPLITS_H
#define SJ_PICK_SPLITS_H

#include "swa_jit/swa_jit.h"

/* config: concrete and legal. Of counts num_tokens, num_heads and num_kv_heads are read. num_sms 0: the architecture's
 * usual number. What is picked is legal for a launch of these counts.
 * OK; INVALID (a merge kernel, a count that a launch refuses); UNSUPPORTED (the configuration does not fit). */
swa_jit_status sj_pick_splits_make(const swa_jit_config *config, const swa_jit_decode_args *counts, uint32_t num_sms,
                                   uint32_t *num_splits_out);

#endif
