/* SPDX-License-Identifier: Apache-2.0 */
/* A key's text, "name:length=value" a line (docs/cache.md), taken apart: for printing and for what two keys differ
 * in. */
#ifndef WARM_KEY_TEXT_H
#define WARM_KEY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct warm_key_line {
  const char *name, *value; /* into the text, not terminated */
  size_t name_length, value_length;
} warm_key_line;

/* The line at *cursor, which moves behind it; false at the end, and where no line stands. */
bool warm_key_next(const char **cursor, warm_key_line *line_out);

/* A part of a key for a person: whatever a damaged entry holds, it prints. malloc'd. */
char *warm_key_copy(const char *bytes, size_t length);

/* Called with the values of a line that two keys do not share; NULL: that key has no such line. */
typedef void (*warm_key_fn)(void *data, const char *name, const char *stored, const char *wanted);

/* Which lines differ, in the order of wanted; returns how many. What follows from the fields, as the source's digest,
 * is left out where any field differs. call may be NULL. */
unsigned warm_key_compare(const char *stored, const char *wanted, warm_key_fn call, void *data);

#endif
