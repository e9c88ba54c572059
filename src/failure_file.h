/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a remembered compile failure: a text that a person reads and a checksum. Pure: no input or output. */
#ifndef SJ_FAILURE_FILE_H
#define SJ_FAILURE_FILE_H

#include <stdbool.h>

#include "text.h"

#define SJ_FAILURE_FILE_MAX_BYTES (UINT64_C(256) << 10)
#define SJ_FAILURE_FILE_MAX_LOG (UINT64_C(128) << 10) /* of the compiler's log; the rest is cut */

typedef struct sj_failure_view { /* points into the decoded bytes */
  uint32_t nvrtc_version;
  const char *key_text;
  size_t key_bytes;
  const char *message;
  size_t message_bytes;
  const char *log;
  size_t log_bytes;
} sj_failure_view;

/* Adds the file to text, whose failed tells when memory ran out. A log above the limit is cut. */
void sj_failure_file_encode(const sj_failure_view *view, sj_text *text);

/* Verifies everything; false when it is no such file, whole and unchanged. Any bytes are safe. */
bool sj_failure_file_decode(const void *bytes, size_t count, sj_failure_view *view_out);

#endif
