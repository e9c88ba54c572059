/* SPDX-License-Identifier: Apache-2.0 */
#include "key_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { MAX_LINES = 64 };

bool warm_key_next(const char **cursor, warm_key_line *line_out)
{
  const char *text = *cursor;
  const size_t name_length = strcspn(text, ":\n");
  if (name_length == 0 || text[name_length] != ':') {
    return false;
  }
  char *end = NULL;
  const char *digits = text + name_length + 1;
  const unsigned long length = *digits >= '0' && *digits <= '9' ? strtoul(digits, &end, 10) : SIZE_MAX;
  if (end == NULL || *end != '=' || length >= strlen(end + 1) || end[1 + length] != '\n') {
    return false;
  }
  *line_out = (warm_key_line){text, end + 1, name_length, length};
  *cursor = end + 1 + length + 1;
  return true;
}

static unsigned read_lines(const char *text, warm_key_line lines[MAX_LINES])
{
  unsigned count = 0;
  while (count < MAX_LINES && warm_key_next(&text, &lines[count])) {
    count++;
  }
  return count;
}

char *warm_key_copy(const char *bytes, size_t length)
{
  char *text = sj_memory_get(length + 1, 1);
  for (size_t i = 0; i < length; i++) {
    text[i] = '?';
    if (bytes[i] >= ' ' && bytes[i] <= '~') {
      text[i] = bytes[i];
    }
  }
  return text;
}

static bool has_name(const warm_key_line *line, const char *name, size_t length)
{
  return line->name_length == length && memcmp(line->name, name, length) == 0;
}

/* The n-th line with the name of lines[index], n as of that line: options repeat. */
static const warm_key_line *find_match(const warm_key_line *from, unsigned index, const warm_key_line *in,
                                       unsigned num_in)
{
  const warm_key_line *wanted = &from[index];
  unsigned nth = 0;
  for (unsigned i = 0; i < index; i++) {
    nth += has_name(&from[i], wanted->name, wanted->name_length);
  }
  for (unsigned i = 0; i < num_in; i++) {
    if (has_name(&in[i], wanted->name, wanted->name_length) && nth-- == 0) {
      return &in[i];
    }
  }
  return NULL;
}

static void tell(warm_key_fn call, void *data, const warm_key_line *stored, const warm_key_line *wanted)
{
  if (call == NULL) {
    return;
  }
  const warm_key_line *named = wanted != NULL ? wanted : stored;
  char *name = warm_key_copy(named->name, named->name_length);
  char *stored_text = stored != NULL ? warm_key_copy(stored->value, stored->value_length) : NULL;
  char *wanted_text = wanted != NULL ? warm_key_copy(wanted->value, wanted->value_length) : NULL;
  call(data, name, stored_text, wanted_text);
  free(name);
  free(stored_text);
  free(wanted_text);
}

static bool is_same(const warm_key_line *a, const warm_key_line *b)
{
  return a != NULL && a->value_length == b->value_length && memcmp(a->value, b->value, a->value_length) == 0;
}

/* Whether a line follows from the fields, so that it says nothing where one of them differs. */
static bool is_derived(const warm_key_line *line)
{
  static const char architecture[] = "--gpu-architecture=";
  return has_name(line, "source", strlen("source"))
         || (line->value_length > strlen(architecture) && memcmp(line->value, architecture, strlen(architecture)) == 0);
}

/* Tells of the lines that are derived, or of those that are not; returns how many differ. */
static unsigned compare_lines(const warm_key_line *stored, unsigned num_stored, const warm_key_line *wanted,
                              unsigned num_wanted, bool derived, warm_key_fn call, void *data)
{
  unsigned count = 0;
  for (unsigned i = 0; i < num_wanted; i++) {
    const warm_key_line *match = find_match(wanted, i, stored, num_stored);
    if (is_derived(&wanted[i]) == derived && !is_same(match, &wanted[i])) {
      tell(call, data, match, &wanted[i]);
      count++;
    }
  }
  for (unsigned i = 0; i < num_stored; i++) {
    if (is_derived(&stored[i]) == derived && find_match(stored, i, wanted, num_wanted) == NULL) {
      tell(call, data, &stored[i], NULL);
      count++;
    }
  }
  return count;
}

unsigned warm_key_compare(const char *stored, const char *wanted, warm_key_fn call, void *data)
{
  warm_key_line stored_lines[MAX_LINES], wanted_lines[MAX_LINES];
  const unsigned num_stored = read_lines(stored, stored_lines);
  const unsigned num_wanted = read_lines(wanted, wanted_lines);
  const unsigned count = compare_lines(stored_lines, num_stored, wanted_lines, num_wanted, false, call, data);
  return count > 0 ? count : compare_lines(stored_lines, num_stored, wanted_lines, num_wanted, true, call, data);
}
