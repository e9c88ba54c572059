/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and indices of a case's scopes. */
#ifndef DECODE_POSITIONS_H
#define DECODE_POSITIONS_H

#include "data.h"

/* Fills lens and indices of both scopes; then cuts the indices' sizes to what a kernel may read: a row is read up to
 * its length only, and the last one ends there. Pools must have been planned, pointers and strides set. */
void decode_positions_fill(decode_data *data);

/* selected[candidate] = 1 where an unmasked position selects it. */
void decode_positions_mark(const decode_data *data, enum decode_pool_kind kind, uint8_t *selected);

#endif
