/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_ELEMENT = 63 };

bool sj_number_read(const char *text, uint64_t *value_out)
{
  uint64_t value = 0;
  if (*text == '\0') {
    return false;
  }
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9') {
      return false;
    }
    uint64_t digit = (uint64_t)(*text - '0');
    if (value > (UINT64_MAX - digit) / 10) {
      return false;
    }
    value = value * 10 + digit;
  }
  *value_out = value;
  return true;
}

bool sj_number_read_real(const char *text, double *value_out)
{
  char *end = NULL;
  if (*text == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) {
    return false;
  }
  double value = strtod(text, &end);
  if (*end != '\0' || !isfinite(value)) {
    return false;
  }
  *value_out = value;
  return true;
}

const char *sj_number_ending(uint64_t count)
{
  return count == 1 ? "" : "s";
}

bool sj_list_next(const char **cursor, char *element, size_t element_size)
{
  if (**cursor == '\0') {
    return false;
  }
  size_t length = strcspn(*cursor, ",");
  size_t kept = length < element_size ? length : element_size - 1;
  memcpy(element, *cursor, kept);
  element[kept] = '\0';
  *cursor += length;
  if (**cursor == ',') {
    (*cursor)++;
  }
  return true;
}

bool sj_list_is_sound(const char *text)
{
  for (;;) {
    size_t length = strcspn(text, ",");
    if (length == 0 || length > LONGEST_ELEMENT) {
      return false;
    }
    text += length;
    if (*text == '\0') {
      return true;
    }
    text++;
  }
}
