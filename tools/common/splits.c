/* SPDX-License-Identifier: Apache-2.0 */
#include "splits.h"

#include <string.h>

#include "number.h"

bool sj_splits_read(const char *text, uint32_t *num_splits_out)
{
  uint64_t number = 0;
  if (strcmp(text, "pick") == 0) {
    *num_splits_out = SJ_SPLITS_PICK;
    return true;
  }
  if (!sj_number_read(text, &number) || number > SJ_SPLITS_MOST) {
    return false;
  }
  *num_splits_out = (uint32_t)number;
  return true;
}
