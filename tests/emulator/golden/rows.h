/* SPDX-License-Identifier: Apache-2.0 */
/* How the tables are written. */
#ifndef GOLDEN_ROWS_H
#define GOLDEN_ROWS_H

#include "cases.h"

#define ROW(pattern, operands)                                                                                         \
  {                                                                                                                    \
    pattern, operands, NULL,                                                                                           \
    {                                                                                                                  \
      0, 0, NULL                                                                                                       \
    }                                                                                                                  \
  }
#define TEXT(pattern, operands, text)                                                                                  \
  {                                                                                                                    \
    pattern, operands, text,                                                                                           \
    {                                                                                                                  \
      0, 0, NULL                                                                                                       \
    }                                                                                                                  \
  }
#define NEAR(pattern, operands, steps, why)                                                                            \
  {                                                                                                                    \
    pattern, operands, NULL,                                                                                           \
    {                                                                                                                  \
      steps, 0, why                                                                                                    \
    }                                                                                                                  \
  }
#define TABLE(name) const golden_table name = {rows, sizeof rows / sizeof rows[0]}

#endif
