/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer, and numbers that no locale changes. Nothing of ours in it. */
#ifndef SJ_TEXT_H
#define SJ_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. data is always zero-terminated once something was added. After a failed allocation every further
 * add does nothing and failed stays set, so that a builder checks once, at its end. */
typedef struct sj_text {
  char *data;
  size_t length;
  size_t capacity;
  bool failed;
} sj_text;

void sj_text_add(sj_text *text, const char *string);
void sj_text_add_bytes(sj_text *text, const void *bytes, size_t count);
/* Integer and string conversions only (%s %u %d %zu %llu %x %c): no conversion that a locale changes. */
void sj_text_add_format(sj_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sj_text_finish(sj_text *text); /* frees and zeroes */
char *sj_text_take(sj_text *text);  /* the buffer, now the caller's to free; NULL if empty or failed */

/* A whole decimal number, digits only, at most UINT64_MAX; false otherwise. */
bool sj_text_read_u64(const char *text, size_t length, uint64_t *value_out);

/* Bytes of any kind and length as one short line for a message: cut with "..." at 48, '?' for what does not print. */
#define SJ_QUOTE_SIZE 52
void sj_text_quote(const char *bytes, size_t count, char quoted_out[SJ_QUOTE_SIZE]);

/* A path as a message shows it: whole, or with "..." in place of its middle, so that what stands behind it is not cut
 * off with the message. Returns shown_out. */
#define SJ_PATH_SIZE 1024
const char *sj_text_show_path(const char *path, char shown_out[SJ_PATH_SIZE]);

/* text behind "prefix: ", or all of it where it does not begin so: dlerror() begins with the file's name. */
const char *sj_text_behind(const char *text, const char *prefix);

char *sj_text_copy(const char *string); /* malloc'd copy; NULL in gives NULL out */

#endif
