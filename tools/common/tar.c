/* SPDX-License-Identifier: Apache-2.0 */
#include "tar.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* The header's fields, by offset. */
enum {
  BLOCK = 512,
  NAME_AT = 0,
  NAME_BYTES = 100,
  MODE_AT = 100,
  SIZE_AT = 124,
  SIZE_DIGITS = 11,
  MADE_AT = 136,
  SUM_AT = 148,
  SUM_BYTES = 8,
  TYPE_AT = 156,
  MAGIC_AT = 257,
  PREFIX_AT = 345,
  PREFIX_BYTES = 155,
  LONGEST_EXTENSION = 64 * 1024,
  MOST_BEHIND_END = 1024 * 1024 /* zeros that fill tar's last record; a device could give them for ever */
};

static const char zeros[2 * BLOCK];

/* ---- writing ---------------------------------------------------------------------------------------------- */

/* Octal digits; the zero behind them is there. */
static void put_octal(char *field, unsigned digits, uint64_t value)
{
  for (unsigned i = digits; i > 0; i--) {
    field[i - 1] = (char)('0' + (value & 7));
    value >>= 3;
  }
}

/* The sum of the header's bytes, its own field taken as blanks. */
static unsigned sum_of(const char header[BLOCK])
{
  unsigned sum = 0;
  for (unsigned i = 0; i < BLOCK; i++) {
    sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : (unsigned char)header[i];
  }
  return sum;
}

static bool write_header(FILE *file, char type, const char *name, int64_t made_s, uint64_t size)
{
  const uint64_t latest = (UINT64_C(1) << 33) - 1; /* of 11 octal digits */
  char header[BLOCK] = {0};
  size_t length = strlen(name);
  memcpy(header + NAME_AT, name, length < NAME_BYTES ? length : NAME_BYTES);
  put_octal(header + MODE_AT, 7, 0644);
  put_octal(header + MODE_AT + 8, 7, 0);  /* user */
  put_octal(header + MODE_AT + 16, 7, 0); /* group */
  put_octal(header + SIZE_AT, SIZE_DIGITS, size);
  put_octal(header + MADE_AT, SIZE_DIGITS, made_s < 0 ? 0 : (uint64_t)made_s > latest ? latest : (uint64_t)made_s);
  header[TYPE_AT] = type;
  memcpy(header + MAGIC_AT,
         "ustar\0"
         "00",
         8);
  put_octal(header + SUM_AT, 6, sum_of(header));
  header[SUM_AT + 7] = ' ';
  return fwrite(header, BLOCK, 1, file) == 1;
}

static bool write_padded(FILE *file, const void *bytes, size_t count)
{
  const size_t padding = (BLOCK - count % BLOCK) % BLOCK;
  return (count == 0 || fwrite(bytes, count, 1, file) == 1) && (padding == 0 || fwrite(zeros, padding, 1, file) == 1);
}

/* "27 path=<name>\n": the length counts itself. */
static bool write_long_name(FILE *file, const char *name)
{
  char record[SJ_TAR_NAME_SIZE + 32];
  const size_t rest = strlen(name) + strlen(" path=\n");
  size_t length = rest;
  for (int i = 0; i < 2; i++) { /* the second time its number of digits is right, or one more */
    char digits[24];
    length = rest + (size_t)snprintf(digits, sizeof digits, "%zu", length);
  }
  const int written = snprintf(record, sizeof record, "%zu path=%s\n", length, name);
  return write_header(file, 'x', "PaxHeader", 0, (uint64_t)written) && write_padded(file, record, (size_t)written);
}

bool sj_tar_write(FILE *file, const char *name, int64_t made_s, const void *bytes, size_t count)
{
  if (strlen(name) >= SJ_TAR_NAME_SIZE || (strlen(name) > NAME_BYTES && !write_long_name(file, name))) {
    return false;
  }
  return write_header(file, '0', name, made_s, count) && write_padded(file, bytes, count);
}

bool sj_tar_write_end(FILE *file)
{
  return fwrite(zeros, sizeof zeros, 1, file) == 1;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static sj_tar_result complain(sj_tar_reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

static sj_tar_result complain(sj_tar_reader *reader, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->problem, sizeof reader->problem, format, arguments);
  va_end(arguments);
  return SJ_TAR_WRONG;
}

static bool read_bytes(sj_tar_reader *reader, void *bytes, size_t count)
{
  if (count == 0 || fread(bytes, count, 1, reader->file) == 1) {
    return true;
  }
  complain(reader, ferror(reader->file) ? "it cannot be read" : "it is cut: its end is missing");
  return false;
}

/* Octal digits, ended by a blank or a zero. False for GNU's binary numbers too: no file here is that large. */
static bool get_octal(const char *field, unsigned size, uint64_t *value_out)
{
  uint64_t value = 0;
  unsigned i = 0;
  while (i < size && field[i] == ' ') {
    i++;
  }
  const unsigned first = i;
  for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
    value = value * 8 + (uint64_t)(field[i] - '0');
  }
  if (i == first || (i < size && field[i] != ' ' && field[i] != '\0')) {
    return false;
  }
  *value_out = value;
  return true;
}

static bool has_magic(const char header[BLOCK])
{
  return memcmp(header + MAGIC_AT, "ustar", 5) == 0;
}

bool sj_tar_may_begin(const void *bytes, size_t count)
{
  return count < BLOCK || has_magic(bytes);
}

static bool check_header(sj_tar_reader *reader, const char header[BLOCK], uint64_t *size_out)
{
  uint64_t sum = 0;
  if (!has_magic(header) || !get_octal(header + SUM_AT, SUM_BYTES, &sum) || sum != sum_of(header)) {
    complain(reader, "it is no tar archive, or damaged: a header is wrong");
    return false;
  }
  if (!get_octal(header + SIZE_AT, SIZE_DIGITS + 1, size_out)) {
    complain(reader, "a header has no size");
    return false;
  }
  return true;
}

/* What an extended header says of the name. False where it says what this reader does not do. */
static bool read_records(sj_tar_reader *reader, const char *text, size_t count, char name_out[SJ_TAR_NAME_SIZE])
{
  while (count > 0) {
    char *end = NULL;
    const unsigned long length = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (length == 0 || length > count || *end != ' ' || (size_t)(end - text) >= length || text[length - 1] != '\n') {
      complain(reader, "an extended header is wrong");
      return false;
    }
    const char *key = end + 1;
    const size_t rest = length - (size_t)(key - text) - 1; /* without the newline */
    if (rest > 5 && memcmp(key, "path=", 5) == 0 && rest - 5 < SJ_TAR_NAME_SIZE && memchr(key, '\0', rest) == NULL) {
      memcpy(name_out, key + 5, rest - 5);
      name_out[rest - 5] = '\0';
    } else if (rest >= 5 && (memcmp(key, "path=", 5) == 0 || memcmp(key, "size=", 5) == 0)) {
      complain(reader, "an extended header has a name or a size that no entry has");
      return false;
    } else if (rest >= 10 && memcmp(key, "GNU.sparse", 10) == 0) {
      complain(reader, "it holds a sparse file");
      return false;
    }
    text += length;
    count -= length;
  }
  return true;
}

/* The name that stands before the header of the file itself: pax's records, or GNU's long name. */
static bool read_extension(sj_tar_reader *reader, char type, uint64_t size, char name_out[SJ_TAR_NAME_SIZE])
{
  if (size > LONGEST_EXTENSION) {
    complain(reader, "an extended header has %llu bytes: %d are the most", (unsigned long long)size, LONGEST_EXTENSION);
    return false;
  }
  const size_t padded = (size_t)(size + BLOCK - 1) / BLOCK * BLOCK;
  char *text = sj_memory_get(padded + 1, 1); /* one zero behind it */
  bool is_read = read_bytes(reader, text, padded);
  text[size] = '\0';
  if (is_read && type == 'x') {
    is_read = read_records(reader, text, (size_t)size, name_out);
  } else if (is_read && strlen(text) < SJ_TAR_NAME_SIZE) {
    memcpy(name_out, text, strlen(text) + 1);
  } else if (is_read) {
    complain(reader, "it holds a name of more than %d bytes", SJ_TAR_NAME_SIZE - 1);
    is_read = false;
  }
  free(text);
  return is_read;
}

static void take_name(const char header[BLOCK], char name_out[SJ_TAR_NAME_SIZE])
{
  const bool has_prefix = header[PREFIX_AT] != '\0' && header[MAGIC_AT + 5] == '\0'; /* GNU has other things there */
  snprintf(name_out, SJ_TAR_NAME_SIZE, "%.*s%s%.*s", has_prefix ? PREFIX_BYTES : 0, header + PREFIX_AT,
           has_prefix ? "/" : "", NAME_BYTES, header + NAME_AT);
}

/* Behind the first block of zeros another must stand, and nothing but zeros. */
static sj_tar_result read_end(sj_tar_reader *reader)
{
  char block[BLOCK];
  size_t count = 0, num_behind = 0;
  if (!read_bytes(reader, block, BLOCK)) {
    return SJ_TAR_WRONG;
  }
  do {
    count = count == 0 ? BLOCK : count;
    if (memcmp(block, zeros, count) != 0) {
      return complain(reader, "something stands behind its end");
    }
    num_behind += count;
    if (num_behind > MOST_BEHIND_END) {
      return complain(reader, "more than a mebibyte of zeros stands behind its end");
    }
    count = fread(block, 1, BLOCK, reader->file);
  } while (count > 0);
  return ferror(reader->file) ? complain(reader, "it cannot be read") : SJ_TAR_END;
}

static bool skip_rest(sj_tar_reader *reader)
{
  char block[BLOCK];
  uint64_t left = reader->left + reader->padding;
  reader->left = 0;
  reader->padding = 0;
  while (left > 0) {
    const size_t count = left < BLOCK ? (size_t)left : BLOCK;
    if (!read_bytes(reader, block, count)) {
      return false;
    }
    left -= count;
  }
  return true;
}

static bool has_control_character(const char *name)
{
  while (*name != '\0' && (unsigned char)*name >= 0x20 && *name != 0x7f) {
    name++;
  }
  return *name != '\0';
}

static sj_tar_result refuse_type(sj_tar_reader *reader, char type, const char *name)
{
  return complain(reader, "\"%.100s\" is %s: an archive of a store has plain files only", name,
                  type == '1' || type == '2' ? "a link"
                  : type == '5'              ? "a folder"
                                             : "no plain file");
}

sj_tar_result sj_tar_next(sj_tar_reader *reader, sj_tar_member *member_out)
{
  char header[BLOCK];
  char long_name[SJ_TAR_NAME_SIZE] = "";
  uint64_t size = 0;
  if (!skip_rest(reader)) {
    return SJ_TAR_WRONG;
  }
  for (;;) {
    if (!read_bytes(reader, header, BLOCK)) {
      return SJ_TAR_WRONG;
    }
    if (memcmp(header, zeros, BLOCK) == 0) {
      return long_name[0] == '\0' ? read_end(reader) : complain(reader, "its last file is missing");
    }
    if (!check_header(reader, header, &size)) {
      return SJ_TAR_WRONG;
    }
    if (header[TYPE_AT] != 'x' && header[TYPE_AT] != 'L') {
      break;
    }
    if (!read_extension(reader, header[TYPE_AT], size, long_name)) {
      return SJ_TAR_WRONG;
    }
  }
  take_name(header, member_out->name);
  if (long_name[0] != '\0') {
    memcpy(member_out->name, long_name, sizeof long_name);
  }
  if (has_control_character(member_out->name)) { /* which would reach a terminal with the refusal */
    return complain(reader, "a name in it has a control character");
  }
  if (header[TYPE_AT] != '0' && header[TYPE_AT] != '\0') {
    return refuse_type(reader, header[TYPE_AT], member_out->name);
  }
  member_out->size = size;
  reader->left = size;
  reader->padding = (unsigned)((BLOCK - size % BLOCK) % BLOCK);
  return SJ_TAR_MEMBER;
}

bool sj_tar_read(sj_tar_reader *reader, void *bytes)
{
  const size_t count = (size_t)reader->left;
  reader->left = 0;
  return read_bytes(reader, bytes, count);
}
