/* SPDX-License-Identifier: Apache-2.0 */
/* head_group, kv_tile and cluster_size for a problem, from the table pick_table.inc (tools/make-pick-table writes it
 * from the benchmark's CSV). Pure. */
#ifndef SJ_PICK_H
#define SJ_PICK_H

#include "swa_jit/swa_jit.h"

/* config: concrete and legal but for head_group, kv_tile and cluster_size, which may be anything. The choice always
 * fits the architecture. OK; INVALID (a count of 0, arch native); UNSUPPORTED (nothing fits, with the figure of the
 * smallest). */
swa_jit_status sj_pick_make(uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms, swa_jit_config *config_inout);

#endif
