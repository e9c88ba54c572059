/* SPDX-License-Identifier: Apache-2.0 */
#include "key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "render.h"
#include "status.h"
#include "text.h"

#define CUBIN_ENDING ".cubin"
#define PTX_ENDING ".ptx"

/* ---- making ----------------------------------------------------------------------------------------------- */

static void add_line(sj_text *text, const char *name, const char *value)
{
  sj_text_add_format(text, "%s:%zu=%s\n", name, strlen(value), value);
}

static void add_source_line(sj_text *text, const char *source)
{
  uint8_t digest[SJ_DIGEST_BYTES];
  char hex[SJ_DIGEST_HEX_SIZE];
  sj_digest_make(source, strlen(source), digest);
  sj_digest_hex(digest, hex);
  add_line(text, "source", hex);
}

/* swa_decode-<arch>-<short name and value of each field>-<digest>.cubin, or swa_merge-<arch>-<digest>.cubin */
static void make_file_name(const swa_jit_config *config, const uint8_t digest[SJ_DIGEST_BYTES], const char *ending,
                           char file_name[SJ_FILE_NAME_SIZE])
{
  const sj_config_field *arch = sj_config_field_at(0);
  const sj_config_field *field = NULL;
  char buffer[16], hex[SJ_DIGEST_HEX_SIZE];
  size_t length = (size_t)snprintf(file_name, SJ_FILE_NAME_SIZE, "%s-%s", sj_render_kernel_name(config),
                                   sj_config_value_text(arch, sj_config_get(config, arch), buffer));
  const bool has_fields = config->kernel == SWA_JIT_KERNEL_DECODE;
  for (unsigned i = 1; has_fields && (field = sj_config_field_at(i)) != NULL; i++) {
    const uint32_t value = sj_config_get(config, field);
    if (field->short_name != NULL && (field->always_named || value != field->default_value)) {
      length += (size_t)snprintf(file_name + length, SJ_FILE_NAME_SIZE - length, "-%s%s", field->short_name,
                                 sj_config_value_text(field, value, buffer));
    }
  }
  sj_digest_hex(digest, hex);
  snprintf(file_name + length, SJ_FILE_NAME_SIZE - length, "-%s%s", hex, ending);
}

swa_jit_status sj_key_make(const swa_jit_config *config, const char *source, const char *const *options,
                           sj_key *key_out)
{
  sj_text text = {0};
  char buffer[16];
  snprintf(buffer, sizeof buffer, "%u", SJ_KEY_FORMAT_VERSION);
  add_line(&text, "format", buffer);
  const sj_config_field *field = NULL;
  for (unsigned i = 0; (field = sj_config_field_at(i)) != NULL; i++) {
    add_line(&text, field->name, sj_config_value_text(field, sj_config_get(config, field), buffer));
  }
  add_source_line(&text, source);
  for (unsigned i = 0; options[i] != NULL; i++) {
    add_line(&text, "option", options[i]);
  }
  if (text.failed) {
    sj_text_finish(&text);
    return sj_fail_memory();
  }
  sj_key key = {.text_length = text.length};
  key.text = sj_text_take(&text);
  sj_digest_make(key.text, key.text_length, key.digest);
  make_file_name(config, key.digest, CUBIN_ENDING, key.file_name);
  *key_out = key;
  return SWA_JIT_OK;
}

void sj_key_finish(sj_key *key)
{
  free(key->text);
  *key = (sj_key){0};
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

typedef struct key_line {
  const char *name, *value; /* into the text, not terminated */
  size_t name_length, value_length;
  bool is_matched;
} key_line;

enum { MAX_LINES = 64 };

/* Reads one "name:length=value\n" at text; its whole length, or 0 if it is none. */
static size_t read_line(const char *text, size_t length, key_line *line_out)
{
  const char *colon = memchr(text, ':', length);
  if (colon == NULL || colon == text) {
    return 0;
  }
  const size_t rest = length - (size_t)(colon - text) - 1;
  const char *equals = memchr(colon + 1, '=', rest);
  uint64_t value_length = 0;
  if (equals == NULL || !sj_text_read_u64(colon + 1, (size_t)(equals - colon) - 1, &value_length)) {
    return 0;
  }
  const size_t behind = length - (size_t)(equals - text) - 1;
  if (value_length >= behind || equals[1 + value_length] != '\n') {
    return 0;
  }
  *line_out = (key_line){text, equals + 1, (size_t)(colon - text), (size_t)value_length, false};
  return (size_t)(equals - text) + 1 + (size_t)value_length + 1;
}

/* All lines; false if the text is not made of lines, or of too many. */
static bool read_lines(const char *text, size_t length, key_line lines[MAX_LINES], unsigned *num_lines_out)
{
  unsigned num_lines = 0;
  while (length > 0) {
    const size_t taken = num_lines < MAX_LINES ? read_line(text, length, &lines[num_lines]) : 0;
    if (taken == 0) {
      return false;
    }
    text += taken;
    length -= taken;
    num_lines++;
  }
  *num_lines_out = num_lines;
  return true;
}

/* Sets the field that a line names. True for the lines that are of no field. */
static bool read_field(const key_line *line, swa_jit_config *config_inout)
{
  static const char *const others[] = {"format", "source", "option", "driver", "product"};
  for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (line->name_length == strlen(others[i]) && memcmp(line->name, others[i], line->name_length) == 0) {
      return true;
    }
  }
  uint32_t value = 0;
  const sj_config_field *field = sj_config_field_find(line->name, line->name_length);
  if (field == NULL || sj_config_read_value(field, line->value, line->value_length, &value) != SWA_JIT_OK) {
    return false;
  }
  sj_config_set(config_inout, field, value);
  return true;
}

bool sj_key_read_config(const char *text, size_t length, swa_jit_config *config_out)
{
  key_line lines[MAX_LINES];
  unsigned num_lines = 0;
  swa_jit_config config;
  sj_kept_message kept;
  sj_message_keep(&kept);
  sj_config_init(&config);
  bool is_read = read_lines(text, length, lines, &num_lines);
  for (unsigned i = 0; i < num_lines && is_read; i++) {
    is_read = read_field(&lines[i], &config);
  }
  if (is_read) {
    is_read = config.arch != SWA_JIT_ARCH_NATIVE && sj_config_take(&config, config_out) == SWA_JIT_OK;
  }
  sj_message_restore(SWA_JIT_OK, &kept);
  return is_read;
}

bool sj_key_is_ptx_name(const char *name)
{
  const char *dot = strrchr(name, '.');
  return dot != NULL && strcmp(dot, PTX_ENDING) == 0;
}

const char *sj_key_find_digest(const char *name)
{
  const size_t num_digits = SJ_DIGEST_HEX_SIZE - 1;
  const char *dot = strrchr(name, '.');
  if (strlen(name) >= SJ_FILE_NAME_SIZE || dot == NULL || (size_t)(dot - name) <= num_digits
      || (strcmp(dot, CUBIN_ENDING) != 0 && strcmp(dot, PTX_ENDING) != 0)) {
    return NULL;
  }
  const char *digest = dot - num_digits;
  return digest[-1] == '-' && strspn(digest, "0123456789abcdef") == num_digits ? digest : NULL;
}

bool sj_key_is_file_name(const char *name)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return strncmp(name, "swa_", 4) == 0 && name[strspn(name, letters)] == '\0' && sj_key_find_digest(name) != NULL;
}

bool sj_key_fits_file_name(const char *text, size_t length, const char *name)
{
  uint8_t digest[SJ_DIGEST_BYTES];
  char hex[SJ_DIGEST_HEX_SIZE], whole[SJ_FILE_NAME_SIZE];
  swa_jit_config config;
  sj_digest_make(text, length, digest);
  sj_digest_hex(digest, hex);
  if (memcmp(sj_key_find_digest(name), hex, SJ_DIGEST_HEX_SIZE - 1) != 0) {
    return false;
  }
  if (!sj_key_read_config(text, length, &config)) {
    return true; /* a later release's: what stands in its name before the digest is not known here */
  }
  make_file_name(&config, digest, sj_key_is_ptx_name(name) ? PTX_ENDING : CUBIN_ENDING, whole);
  return strcmp(whole, name) == 0;
}

/* ---- keys beside a key ------------------------------------------------------------------------------------ */

/* key's name with another digest and ending: the words before them are the configuration's. */
static void make_beside_name(const sj_key *key, const char *ending, sj_key *beside)
{
  char hex[SJ_DIGEST_HEX_SIZE];
  sj_digest_hex(beside->digest, hex);
  const int num_words = (int)(sj_key_find_digest(key->file_name) - key->file_name);
  snprintf(beside->file_name, sizeof beside->file_name, "%.*s%s%s", num_words, key->file_name, hex, ending);
}

static swa_jit_status make_beside(const sj_key *key, const char *name, const char *value, const char *ending,
                                  sj_key *beside_out)
{
  sj_text text = {0};
  sj_text_add_bytes(&text, key->text, key->text_length);
  add_line(&text, name, value);
  if (text.failed) {
    sj_text_finish(&text);
    return sj_fail_memory();
  }
  sj_key beside = {.text_length = text.length};
  beside.text = sj_text_take(&text);
  sj_digest_make(beside.text, beside.text_length, beside.digest);
  make_beside_name(key, ending, &beside);
  *beside_out = beside;
  return SWA_JIT_OK;
}

swa_jit_status sj_key_make_ptx(const sj_key *key, sj_key *ptx_key_out)
{
  return make_beside(key, "product", "ptx", PTX_ENDING, ptx_key_out);
}

swa_jit_status sj_key_make_for_driver(const sj_key *key, int driver_version, sj_key *driver_key_out)
{
  char version[16];
  snprintf(version, sizeof version, "%d", driver_version);
  return make_beside(key, "driver", version, sj_key_is_ptx_name(key->file_name) ? PTX_ENDING : CUBIN_ENDING,
                     driver_key_out);
}

/* ---- comparing -------------------------------------------------------------------------------------------- */

/* The first line of that name that no line was compared with yet; NULL if there is none. */
static key_line *find_unmatched(key_line lines[MAX_LINES], unsigned num_lines, const key_line *wanted)
{
  for (unsigned i = 0; i < num_lines; i++) {
    if (!lines[i].is_matched && lines[i].name_length == wanted->name_length
        && memcmp(lines[i].name, wanted->name, wanted->name_length) == 0) {
      return &lines[i];
    }
  }
  return NULL;
}

/* The reason under construction: cut, and always terminated, at its size. */
typedef struct reason_text {
  char *text;
  size_t size, length;
  unsigned num_differences;
} reason_text;

static void add_bytes(reason_text *reason, const char *bytes, size_t count)
{
  char shown[SJ_QUOTE_SIZE];
  sj_text_quote(bytes, count, shown);
  for (const char *c = shown; *c != '\0' && reason->length + 1 < reason->size; c++) {
    reason->text[reason->length++] = *c;
  }
  if (reason->size > 0) {
    reason->text[reason->length] = '\0';
  }
}

static void add_string(reason_text *reason, const char *string)
{
  add_bytes(reason, string, strlen(string));
}

static void add_difference(reason_text *reason, const key_line *from, const key_line *to)
{
  const key_line *named = to != NULL ? to : from;
  add_string(reason, reason->num_differences == 0 ? "" : ", ");
  add_bytes(reason, named->name, named->name_length);
  reason->num_differences++;
  if (named->name_length == strlen("source") && memcmp(named->name, "source", named->name_length) == 0) {
    return; /* two digests say nothing to a person */
  }
  add_string(reason, " ");
  from != NULL ? add_bytes(reason, from->value, from->value_length) : add_string(reason, "(none)");
  add_string(reason, " -> ");
  to != NULL ? add_bytes(reason, to->value, to->value_length) : add_string(reason, "(none)");
}

unsigned sj_key_difference(const char *wanted, const char *other, size_t other_length, char *reason, size_t reason_size)
{
  key_line wanted_lines[MAX_LINES], other_lines[MAX_LINES];
  unsigned num_wanted = 0, num_other = 0;
  reason_text built = {.text = reason, .size = reason_size};
  add_string(&built, "");
  if (strlen(wanted) == other_length && memcmp(wanted, other, other_length) == 0) {
    return 0;
  }
  if (!read_lines(wanted, strlen(wanted), wanted_lines, &num_wanted)
      || !read_lines(other, other_length, other_lines, &num_other)) {
    add_string(&built, "its key text is unreadable");
    return 1;
  }
  for (unsigned i = 0; i < num_wanted; i++) {
    const key_line *to = &wanted_lines[i];
    key_line *from = find_unmatched(other_lines, num_other, to);
    if (from != NULL) {
      from->is_matched = true;
    }
    if (from == NULL || from->value_length != to->value_length
        || memcmp(from->value, to->value, to->value_length) != 0) {
      add_difference(&built, from, to);
    }
  }
  for (unsigned i = 0; i < num_other; i++) {
    if (!other_lines[i].is_matched) {
      add_difference(&built, &other_lines[i], NULL);
    }
  }
  if (built.num_differences == 0) {
    add_string(&built, "order of the key's lines");
    built.num_differences = 1;
  }
  return built.num_differences;
}
