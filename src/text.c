/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for count more bytes and the terminating zero. */
static bool reserve(sj_text *text, size_t count)
{
  if (text->failed) {
    return false;
  }
  if (count >= SIZE_MAX / 2 - text->length) {
    text->failed = true;
    return false;
  }
  size_t needed = text->length + count + 1;
  if (needed <= text->capacity) {
    return true;
  }
  size_t capacity = text->capacity < 64 ? 64 : text->capacity;
  while (capacity < needed) {
    capacity *= 2; /* cannot wrap: needed <= SIZE_MAX / 2 */
  }
  char *data = realloc(text->data, capacity);
  if (data == NULL) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void sj_text_add(sj_text *text, const char *string)
{
  sj_text_add_bytes(text, string, strlen(string));
}

void sj_text_add_bytes(sj_text *text, const void *bytes, size_t count)
{
  if (!reserve(text, count)) {
    return;
  }
  if (count > 0) {
    memcpy(text->data + text->length, bytes, count);
  }
  text->length += count;
  text->data[text->length] = '\0';
}

void sj_text_add_format(sj_text *text, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) {
    text->failed = true;
    return;
  }
  if (!reserve(text, (size_t)length)) {
    return;
  }
  va_start(arguments, format);
  vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  text->length += (size_t)length;
}

void sj_text_finish(sj_text *text)
{
  free(text->data);
  *text = (sj_text){0};
}

char *sj_text_take(sj_text *text)
{
  char *data = text->data;
  if (text->failed) {
    free(data);
    data = NULL;
  }
  *text = (sj_text){0};
  return data;
}

bool sj_text_read_u64(const char *text, size_t length, uint64_t *value_out)
{
  if (length == 0) {
    return false;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') {
      return false;
    }
    unsigned digit = (unsigned)(text[i] - '0');
    if (value > (UINT64_MAX - digit) / 10) {
      return false;
    }
    value = value * 10 + digit;
  }
  *value_out = value;
  return true;
}

void sj_text_quote(const char *bytes, size_t count, char quoted_out[SJ_QUOTE_SIZE])
{
  const size_t limit = SJ_QUOTE_SIZE - sizeof "...";
  const size_t kept = count < limit ? count : limit;
  for (size_t i = 0; i < kept; i++) {
    quoted_out[i] = '?';
    if (bytes[i] >= ' ' && bytes[i] <= '~') {
      quoted_out[i] = bytes[i];
    }
  }
  memcpy(quoted_out + kept, count > limit ? "..." : "", count > limit ? sizeof "..." : 1);
}

static bool is_inside_character(char byte)
{
  return ((unsigned char)byte & 0xc0) == 0x80; /* of UTF-8 */
}

const char *sj_text_show_path(const char *path, char shown_out[SJ_PATH_SIZE])
{
  const size_t count = strlen(path);
  size_t head = SJ_PATH_SIZE / 4;
  size_t tail = SJ_PATH_SIZE - head - sizeof "...";
  if (count < SJ_PATH_SIZE) {
    memcpy(shown_out, path, count + 1);
    return shown_out;
  }
  while (head > 0 && is_inside_character(path[head])) {
    head--;
  }
  while (tail > 0 && is_inside_character(path[count - tail])) {
    tail--;
  }
  snprintf(shown_out, SJ_PATH_SIZE, "%.*s...%s", (int)head, path, path + count - tail);
  return shown_out;
}

char *sj_text_copy(const char *string)
{
  return string == NULL ? NULL : strdup(string);
}

const char *sj_text_behind(const char *text, const char *prefix)
{
  size_t length = strlen(prefix);
  return strncmp(text, prefix, length) == 0 && strncmp(text + length, ": ", 2) == 0 ? text + length + 2 : text;
}
