/* SPDX-License-Identifier: Apache-2.0 */
#include "cubin_file.h"

#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "text.h"

/* The trailer's fields, by offset. */
enum {
  CUBIN_BYTES_AT = 0,
  KEY_BYTES_AT = 8,
  NOTE_BYTES_AT = 16,
  DIGEST_AT = 24,
  VERSION_AT = DIGEST_AT + SJ_DIGEST_BYTES,
  MAGIC_AT = VERSION_AT + 4,
  MAGIC_BYTES = SJ_CUBIN_FILE_TRAILER_BYTES - MAGIC_AT
};

static const char magic[] = "swa-jit cub\n";
_Static_assert(sizeof magic - 1 == MAGIC_BYTES, "the trailer ends with the magic");

typedef struct part_lengths {
  uint64_t cubin, key, note;
} part_lengths;

static uint64_t get_le(const uint8_t *bytes, unsigned count)
{
  uint64_t value = 0;
  for (unsigned i = count; i > 0; i--) {
    value = value << 8 | bytes[i - 1];
  }
  return value;
}

static void put_le(uint8_t *bytes, unsigned count, uint64_t value)
{
  for (unsigned i = 0; i < count; i++) {
    bytes[i] = (uint8_t)(value >> 8 * i);
  }
}

/* ---- The cubin's ELF frame (System V ABI, 64-bit little-endian) ------------------------------------------ */

enum { ELF_HEADER_BYTES = 64, SEGMENT_BYTES = 56, SECTION_BYTES = 64, MACHINE_CUDA = 190, SECTION_NOBITS = 8 };

static bool lies_inside(uint64_t offset, uint64_t bytes, uint64_t count)
{
  return offset <= count && bytes <= count - offset;
}

/* Whether a table of headers, and what each header points to, lies inside the cubin. */
static bool is_table_inside(const uint8_t *cubin, uint64_t count, uint64_t table, uint64_t num_headers,
                            bool is_sections)
{
  uint64_t header_bytes = is_sections ? SECTION_BYTES : SEGMENT_BYTES;
  if (!lies_inside(table, num_headers * header_bytes, count)) {
    return false;
  }
  for (uint64_t i = 0; i < num_headers; i++) {
    const uint8_t *header = cubin + table + i * header_bytes;
    uint64_t offset = get_le(header + (is_sections ? 24 : 8), 8);
    uint64_t bytes = get_le(header + 32, 8);
    bool has_bytes = !is_sections || get_le(header + 4, 4) != SECTION_NOBITS;
    if (has_bytes && !lies_inside(offset, bytes, count)) {
      return false;
    }
  }
  return true;
}

/* NULL, or what is wrong. The checksum tells a changed entry; this tells a cubin that was none when it was stored. */
static const char *check_elf(const uint8_t *cubin, uint64_t count)
{
  if (count < ELF_HEADER_BYTES || memcmp(cubin, "\177ELF\2\1", 6) != 0) {
    return "its cubin does not begin as a 64-bit ELF file";
  }
  if (get_le(cubin + 18, 2) != MACHINE_CUDA) {
    return "its cubin is for another machine than CUDA";
  }
  uint64_t num_segments = get_le(cubin + 56, 2);
  uint64_t num_sections = get_le(cubin + 60, 2);
  if (num_sections == 0 || get_le(cubin + 58, 2) != SECTION_BYTES
      || (num_segments != 0 && get_le(cubin + 54, 2) != SEGMENT_BYTES)) {
    return "its cubin's ELF header has tables of an unknown shape";
  }
  if (!is_table_inside(cubin, count, get_le(cubin + 32, 8), num_segments, false)
      || !is_table_inside(cubin, count, get_le(cubin + 40, 8), num_sections, true)) {
    return "its cubin is cut: an ELF table or section lies beyond the end";
  }
  return NULL;
}

/* PTX is text with the directives that every PTX begins with. */
static bool is_ptx(const uint8_t *bytes, uint64_t count)
{
  return count > 0 && bytes[0] != 0x7f && memchr(bytes, '\0', count) == NULL
         && memmem(bytes, count, ".version", strlen(".version")) != NULL
         && memmem(bytes, count, ".target", strlen(".target")) != NULL;
}

static const char *check_content(const uint8_t *bytes, uint64_t count)
{
  return is_ptx(bytes, count) ? NULL : check_elf(bytes, count);
}

/* ---- The note: "name=value" lines ------------------------------------------------------------------------ */

typedef struct note_field {
  const char *name;
  size_t offset; /* in sj_cubin_note */
  bool is_wide;  /* uint64_t, else uint32_t */
  bool is_optional;
} note_field;

static const note_field note_fields[] = {
    {"nvrtc_version", offsetof(sj_cubin_note, nvrtc_version), false, false},
    {"num_registers", offsetof(sj_cubin_note, num_registers), false, false},
    {"spill_store_bytes", offsetof(sj_cubin_note, spill_store_bytes), false, false},
    {"spill_load_bytes", offsetof(sj_cubin_note, spill_load_bytes), false, false},
    {"compile_ns", offsetof(sj_cubin_note, compile_ns), true, false},
    {"made_s", offsetof(sj_cubin_note, made_s), true, true},
};
enum { NUM_NOTE_FIELDS = sizeof note_fields / sizeof note_fields[0] };

static void add_note(sj_text *text, const sj_cubin_note *note)
{
  for (unsigned i = 0; i < NUM_NOTE_FIELDS; i++) {
    const char *at = (const char *)note + note_fields[i].offset;
    uint64_t value = 0;
    uint32_t narrow = 0;
    if (note_fields[i].is_wide) {
      memcpy(&value, at, sizeof value);
    } else {
      memcpy(&narrow, at, sizeof narrow);
      value = narrow;
    }
    if (value != 0 || !note_fields[i].is_optional) {
      sj_text_add_format(text, "%s=%llu\n", note_fields[i].name, (unsigned long long)value);
    }
  }
}

static bool set_note_field(const note_field *field, const char *digits, size_t length, sj_cubin_note *note_inout)
{
  uint64_t value = 0;
  if (!sj_text_read_u64(digits, length, &value) || (!field->is_wide && value > UINT32_MAX)) {
    return false;
  }
  char *at = (char *)note_inout + field->offset;
  uint32_t narrow = (uint32_t)value;
  if (field->is_wide) {
    memcpy(at, &value, sizeof value);
  } else {
    memcpy(at, &narrow, sizeof narrow);
  }
  return true;
}

/* Each known name once, and none missing but an optional one; lines with other names are a later release's and are
 * passed over. */
static bool read_note(const char *text, size_t count, sj_cubin_note *note_out)
{
  unsigned seen = 0, needed = 0;
  for (unsigned i = 0; i < NUM_NOTE_FIELDS; i++) {
    needed |= note_fields[i].is_optional ? 0 : 1u << i;
  }
  for (size_t at = 0; at < count;) {
    const char *line = text + at;
    const char *newline = memchr(line, '\n', count - at);
    const char *equals = newline == NULL ? NULL : memchr(line, '=', (size_t)(newline - line));
    if (equals == NULL) {
      return false;
    }
    size_t name_length = (size_t)(equals - line);
    for (unsigned i = 0; i < NUM_NOTE_FIELDS; i++) {
      if (strlen(note_fields[i].name) != name_length || memcmp(note_fields[i].name, line, name_length) != 0) {
        continue;
      }
      if ((seen & 1u << i) != 0
          || !set_note_field(&note_fields[i], equals + 1, (size_t)(newline - equals - 1), note_out)) {
        return false;
      }
      seen |= 1u << i;
    }
    at += (size_t)(newline - line) + 1;
  }
  return (seen & needed) == needed;
}

/* ---- The file -------------------------------------------------------------------------------------------- */

/* Reads the trailer's lengths; false when they break a limit or do not add up to the file. */
static bool read_lengths(const uint8_t *trailer, uint64_t file_bytes, part_lengths *lengths_out)
{
  part_lengths found = {
      .cubin = get_le(trailer + CUBIN_BYTES_AT, 8),
      .key = get_le(trailer + KEY_BYTES_AT, 8),
      .note = get_le(trailer + NOTE_BYTES_AT, 8),
  };
  if (found.cubin > SJ_CUBIN_FILE_MAX_CUBIN || found.key == 0 || found.key > SJ_CUBIN_FILE_MAX_KEY
      || found.note > SJ_CUBIN_FILE_MAX_NOTE) {
    return false;
  }
  if (found.cubin + found.key + found.note + SJ_CUBIN_FILE_TRAILER_BYTES != file_bytes) {
    return false;
  }
  *lengths_out = found;
  return true;
}

/* NULL, or what is wrong with the trailer's own fields. */
static const char *check_trailer(const uint8_t *trailer)
{
  if (memcmp(trailer + MAGIC_AT, magic, MAGIC_BYTES) != 0) {
    return "it does not end with the magic of a store entry: cut, or another kind of file";
  }
  if (get_le(trailer + VERSION_AT, 4) != SJ_CUBIN_FILE_VERSION) {
    return "it has another format version than this library's";
  }
  return NULL;
}

static swa_jit_status check_parts(const sj_cubin_view *view)
{
  const struct {
    const char *name;
    uint64_t count, limit;
  } parts[] = {
      {"cubin", view->cubin_bytes, SJ_CUBIN_FILE_MAX_CUBIN},
      {"key text", view->key_bytes, SJ_CUBIN_FILE_MAX_KEY},
  };
  for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    if (parts[i].count == 0 || parts[i].count > parts[i].limit) {
      return sj_fail(SWA_JIT_INVALID, "a store entry's %s has %llu bytes: it may have 1 to %llu, so it is not stored",
                     parts[i].name, (unsigned long long)parts[i].count, (unsigned long long)parts[i].limit);
    }
  }
  const char *trouble = check_content(view->cubin, view->cubin_bytes);
  if (trouble != NULL) {
    return sj_fail(SWA_JIT_INVALID, "an entry of %zu cubin bytes is not stored: %s; check the compiler's log",
                   view->cubin_bytes, trouble);
  }
  return SWA_JIT_OK;
}

static void add_trailer(sj_text *text, const sj_cubin_view *view, uint64_t note_bytes)
{
  uint8_t trailer[SJ_CUBIN_FILE_TRAILER_BYTES];
  put_le(trailer + CUBIN_BYTES_AT, 8, view->cubin_bytes);
  put_le(trailer + KEY_BYTES_AT, 8, view->key_bytes);
  put_le(trailer + NOTE_BYTES_AT, 8, note_bytes);
  put_le(trailer + VERSION_AT, 4, SJ_CUBIN_FILE_VERSION);
  memcpy(trailer + MAGIC_AT, magic, MAGIC_BYTES);
  sj_text_add_bytes(text, trailer, DIGEST_AT);
  if (!text->failed) {
    sj_digest_make(text->data, text->length, trailer + DIGEST_AT);
  }
  sj_text_add_bytes(text, trailer + DIGEST_AT, sizeof trailer - DIGEST_AT);
}

swa_jit_status sj_cubin_file_encode(const sj_cubin_view *view, void **bytes_out, size_t *count_out)
{
  swa_jit_status status = check_parts(view);
  if (status != SWA_JIT_OK) {
    return status;
  }
  sj_text text = {0};
  sj_text_add_bytes(&text, view->cubin, view->cubin_bytes);
  sj_text_add_bytes(&text, view->key_text, view->key_bytes);
  size_t note_at = text.length;
  add_note(&text, &view->note);
  add_trailer(&text, view, text.length - note_at);
  size_t count = text.length;
  void *bytes = sj_text_take(&text);
  if (bytes == NULL) {
    return sj_fail_memory();
  }
  *bytes_out = bytes;
  *count_out = count;
  return SWA_JIT_OK;
}

swa_jit_status sj_cubin_file_decode(const void *bytes, size_t count, sj_cubin_view *view_out)
{
  if (count < SJ_CUBIN_FILE_TRAILER_BYTES) {
    return sj_fail(SWA_JIT_STORE_ERROR, "it has %zu bytes and a store entry has more than %d", count,
                   SJ_CUBIN_FILE_TRAILER_BYTES);
  }
  const uint8_t *file = bytes;
  const uint8_t *trailer = file + count - SJ_CUBIN_FILE_TRAILER_BYTES;
  const char *trouble = check_trailer(trailer);
  if (trouble != NULL) {
    return sj_fail(SWA_JIT_STORE_ERROR, "%s", trouble);
  }
  part_lengths lengths;
  if (!read_lengths(trailer, count, &lengths)) {
    return sj_fail(SWA_JIT_STORE_ERROR, "the lengths in its footer do not add up to its %zu bytes", count);
  }
  uint8_t digest[SJ_DIGEST_BYTES];
  sj_digest_make(file, count - (SJ_CUBIN_FILE_TRAILER_BYTES - DIGEST_AT), digest);
  if (memcmp(digest, trailer + DIGEST_AT, sizeof digest) != 0) {
    return sj_fail(SWA_JIT_STORE_ERROR, "its checksum differs: its bytes changed after they were written");
  }
  trouble = check_content(file, lengths.cubin);
  if (trouble != NULL) {
    return sj_fail(SWA_JIT_STORE_ERROR, "%s", trouble);
  }
  sj_cubin_view view = {
      .cubin = file,
      .cubin_bytes = (size_t)lengths.cubin,
      .key_text = (const char *)file + lengths.cubin,
      .key_bytes = (size_t)lengths.key,
      .is_ptx = is_ptx(file, lengths.cubin),
  };
  if (!read_note(view.key_text + view.key_bytes, (size_t)lengths.note, &view.note)) {
    return sj_fail(SWA_JIT_STORE_ERROR, "its note is not the expected name=value lines");
  }
  *view_out = view;
  return SWA_JIT_OK;
}

bool sj_cubin_file_find_key(const void *trailer, uint64_t file_bytes, uint64_t *key_offset_out, size_t *key_bytes_out)
{
  part_lengths lengths;
  if (check_trailer(trailer) != NULL || !read_lengths(trailer, file_bytes, &lengths)) {
    return false;
  }
  *key_offset_out = lengths.cubin;
  *key_bytes_out = (size_t)lengths.key;
  return true;
}

bool sj_cubin_file_read_end(const void *end, size_t end_bytes, uint64_t file_bytes, sj_cubin_view *view_out)
{
  part_lengths lengths;
  if (end_bytes < SJ_CUBIN_FILE_TRAILER_BYTES) {
    return false;
  }
  const uint8_t *trailer = (const uint8_t *)end + end_bytes - SJ_CUBIN_FILE_TRAILER_BYTES;
  if (check_trailer(trailer) != NULL || !read_lengths(trailer, file_bytes, &lengths)
      || lengths.key + lengths.note + SJ_CUBIN_FILE_TRAILER_BYTES > end_bytes) {
    return false;
  }
  const char *note = (const char *)trailer - lengths.note;
  sj_cubin_view view = {
      .cubin_bytes = (size_t)lengths.cubin,
      .key_text = note - lengths.key,
      .key_bytes = (size_t)lengths.key,
  };
  if (!read_note(note, (size_t)lengths.note, &view.note)) {
    return false;
  }
  *view_out = view;
  return true;
}
