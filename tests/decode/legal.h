/* SPDX-License-Identifier: Apache-2.0 */
/* Which cases the contract allows: every line of a grid and every random case must be one. */
#ifndef DECODE_LEGAL_H
#define DECODE_LEGAL_H

#include "case.h"

/* What the contract does not allow of a case, or what of it has no effect or no meaning; NULL: nothing. */
const char *decode_case_fault(const decode_case *which);

#endif
