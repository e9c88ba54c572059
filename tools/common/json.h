/* SPDX-License-Identifier: Apache-2.0 */
/* JSON (RFC 8259) written as it comes, indented by two. Inside an object each value has a key; in an array key is
 * NULL. */
#ifndef SJ_JSON_H
#define SJ_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct sj_json { /* zero but for file */
  FILE *file;
  unsigned depth;
  bool has_members; /* of the innermost open object or array */
} sj_json;

void sj_json_open(sj_json *json, const char *key, char bracket);      /* '{' or '[' */
void sj_json_close(sj_json *json, char bracket);                      /* '}' or ']' */
void sj_json_text(sj_json *json, const char *key, const char *value); /* NULL: null. What is no UTF-8 becomes U+FFFD */
void sj_json_number(sj_json *json, const char *key, uint64_t value);
void sj_json_real(sj_json *json, const char *key, double value); /* not finite: null */
void sj_json_bool(sj_json *json, const char *key, bool value);

#endif
