/* SPDX-License-Identifier: Apache-2.0 */
/* A set of file names. */
#ifndef WARM_NAMES_H
#define WARM_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct warm_names { /* zero: empty */
  char **slots;             /* an open hash table; NULL where free */
  size_t count, capacity;   /* a power of two */
} warm_names;

bool warm_names_has(const warm_names *names, const char *name);
void warm_names_add(warm_names *names, const char *name); /* that is not in it */
void warm_names_finish(warm_names *names);

#endif
