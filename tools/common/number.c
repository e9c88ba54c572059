/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <math.h>
#include <stdio.h>
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

typedef struct number_unit {
  const char *name;
  uint64_t factor;
} number_unit;

/* A whole number and one of the units, ended by a NULL name. */
static bool read_with_unit(const char *text, const number_unit *units, uint64_t *value_out)
{
  char digits[24];
  uint64_t value = 0;
  size_t length = strspn(text, "0123456789");
  if (length >= sizeof digits) {
    return false;
  }
  memcpy(digits, text, length);
  digits[length] = '\0';
  for (; units->name != NULL; units++) {
    if (strcmp(units->name, text + length) == 0 && sj_number_read(digits, &value)
        && value <= UINT64_MAX / units->factor) {
      *value_out = value * units->factor;
      return true;
    }
  }
  return false;
}

bool sj_number_read_bytes(const char *text, uint64_t *bytes_out)
{
  static const number_unit units[] = {
      {"", 1},  {"K", UINT64_C(1) << 10}, {"M", UINT64_C(1) << 20}, {"G", UINT64_C(1) << 30}, {"T", UINT64_C(1) << 40},
      {NULL, 0}};
  return read_with_unit(text, units, bytes_out);
}

bool sj_number_read_seconds(const char *text, uint64_t *seconds_out)
{
  static const number_unit units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0}};
  return read_with_unit(text, units, seconds_out);
}

void sj_number_write_bytes(uint64_t bytes, char text_out[SJ_NUMBER_TEXT_SIZE])
{
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  unsigned unit = 0;
  uint64_t tenths = 0;
  uint64_t rest = bytes;
  for (; rest >= 1024; unit++) {
    tenths = rest % 1024 * 10 / 1024;
    rest /= 1024;
  }
  if (unit > 0 && rest < 10) {
    snprintf(text_out, SJ_NUMBER_TEXT_SIZE, "%llu.%llu %s", (unsigned long long)rest, (unsigned long long)tenths,
             units[unit]);
  } else {
    snprintf(text_out, SJ_NUMBER_TEXT_SIZE, "%llu %s", (unsigned long long)rest, units[unit]);
  }
}

void sj_number_write_seconds(uint64_t seconds, char text_out[SJ_NUMBER_TEXT_SIZE])
{
  static const number_unit units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
  unsigned unit = 0;
  while (units[unit].factor > 1 && seconds < 2 * units[unit].factor) { /* 90 min say more than 1 h */
    unit++;
  }
  snprintf(text_out, SJ_NUMBER_TEXT_SIZE, "%llu %s", (unsigned long long)(seconds / units[unit].factor),
           units[unit].name);
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
