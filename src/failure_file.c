/* SPDX-License-Identifier: Apache-2.0 */
#include "failure_file.h"

#include <string.h>

#include "digest.h"

/* First the head's lines, then the parts of those lengths, each with a newline behind it, then the checksum of all of
 * it as hexadecimal digits and a last newline. */
static const char first_line[] = "swa-jit failed compile 1\n";

enum { DIGEST_LINE_BYTES = SJ_DIGEST_HEX_SIZE /* the digits, and a newline in place of the zero */ };

void sj_failure_file_encode(const sj_failure_view *view, sj_text *text)
{
  const size_t log_bytes = view->log_bytes < SJ_FAILURE_FILE_MAX_LOG ? view->log_bytes : SJ_FAILURE_FILE_MAX_LOG;
  uint8_t digest[SJ_DIGEST_BYTES];
  char hex[SJ_DIGEST_HEX_SIZE];
  const size_t start = text->length;
  sj_text_add(text, first_line);
  sj_text_add_format(text, "nvrtc_version=%u\nkey_bytes=%zu\nmessage_bytes=%zu\nlog_bytes=%zu\n", view->nvrtc_version,
                     view->key_bytes, view->message_bytes, log_bytes);
  sj_text_add_bytes(text, view->key_text, view->key_bytes);
  sj_text_add(text, "\n");
  sj_text_add_bytes(text, view->message, view->message_bytes);
  sj_text_add(text, "\n");
  sj_text_add_bytes(text, view->log, log_bytes);
  sj_text_add(text, "\n");
  if (!text->failed) {
    sj_digest_make(text->data + start, text->length - start, digest);
    sj_digest_hex(digest, hex);
    sj_text_add_format(text, "%s\n", hex);
  }
}

typedef struct reader {
  const char *at;
  size_t left;
} reader;

static bool take_text(reader *from, const char *wanted)
{
  const size_t length = strlen(wanted);
  if (from->left < length || memcmp(from->at, wanted, length) != 0) {
    return false;
  }
  from->at += length;
  from->left -= length;
  return true;
}

/* "name=number\n" */
static bool take_number(reader *from, const char *name, uint64_t limit, uint64_t *value_out)
{
  if (!take_text(from, name) || !take_text(from, "=")) {
    return false;
  }
  const char *newline = memchr(from->at, '\n', from->left);
  const size_t length = newline != NULL ? (size_t)(newline - from->at) : 0;
  if (newline == NULL || !sj_text_read_u64(from->at, length, value_out) || *value_out > limit) {
    return false;
  }
  from->at += length + 1;
  from->left -= length + 1;
  return true;
}

static bool take_part(reader *from, uint64_t count, const char **part_out, size_t *count_out)
{
  if (from->left < count + 1 || from->at[count] != '\n') {
    return false;
  }
  *part_out = from->at;
  *count_out = (size_t)count;
  from->at += count + 1;
  from->left -= (size_t)count + 1;
  return true;
}

static bool is_unchanged(const char *bytes, size_t count)
{
  uint8_t digest[SJ_DIGEST_BYTES];
  char hex[SJ_DIGEST_HEX_SIZE];
  sj_digest_make(bytes, count, digest);
  sj_digest_hex(digest, hex);
  hex[SJ_DIGEST_HEX_SIZE - 1] = '\n';
  return memcmp(bytes + count, hex, DIGEST_LINE_BYTES) == 0;
}

bool sj_failure_file_decode(const void *bytes, size_t count, sj_failure_view *view_out)
{
  if (count < DIGEST_LINE_BYTES || count > SJ_FAILURE_FILE_MAX_BYTES
      || !is_unchanged(bytes, count - DIGEST_LINE_BYTES)) {
    return false;
  }
  reader from = {bytes, count - DIGEST_LINE_BYTES};
  uint64_t version = 0, key_bytes = 0, message_bytes = 0, log_bytes = 0;
  sj_failure_view view;
  bool is_good = take_text(&from, first_line) && take_number(&from, "nvrtc_version", UINT32_MAX, &version)
                 && take_number(&from, "key_bytes", SJ_FAILURE_FILE_MAX_BYTES, &key_bytes)
                 && take_number(&from, "message_bytes", SJ_FAILURE_FILE_MAX_BYTES, &message_bytes)
                 && take_number(&from, "log_bytes", SJ_FAILURE_FILE_MAX_BYTES, &log_bytes)
                 && take_part(&from, key_bytes, &view.key_text, &view.key_bytes)
                 && take_part(&from, message_bytes, &view.message, &view.message_bytes)
                 && take_part(&from, log_bytes, &view.log, &view.log_bytes) && from.left == 0;
  if (is_good) {
    view.nvrtc_version = (uint32_t)version;
    *view_out = view;
  }
  return is_good;
}
