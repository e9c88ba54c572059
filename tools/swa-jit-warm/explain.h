/* SPDX-License-Identifier: Apache-2.0 */
/* --explain: of each configuration that the store does not hold, the nearest entry and what its key has else. */
#ifndef WARM_EXPLAIN_H
#define WARM_EXPLAIN_H

#include "plan.h"

/* After warm_work_look. Prints it; the tool's exit status. */
int warm_explain(warm_plan *plan, const warm_options *options, swa_jit_lib *lib);

#endif
