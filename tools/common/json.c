/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <math.h>

/* How many bytes the character at text has in UTF-8 (RFC 3629); 0 where there is none. A path can be of any bytes. */
static unsigned count_utf8(const unsigned char *text)
{
  static const struct {
    unsigned char first_low, first_high, second_low, second_high;
    unsigned count;
  } forms[] = {
      {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
      {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
      {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    if (text[0] < forms[i].first_low || text[0] > forms[i].first_high || text[1] < forms[i].second_low
        || text[1] > forms[i].second_high) {
      continue;
    }
    for (unsigned at = 2; at < forms[i].count; at++) {
      if (text[at] < 0x80 || text[at] > 0xbf) {
        return 0;
      }
    }
    return forms[i].count;
  }
  return 0;
}

static void print_string(FILE *file, const char *text)
{
  fputc('"', file);
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
    if (c > 0x7f) {
      const unsigned count = count_utf8((const unsigned char *)text);
      fprintf(file, "%.*s", count > 0 ? (int)count : 6, count > 0 ? text : "\\ufffd");
      text += count > 0 ? count - 1 : 0;
      continue;
    }
    if (c == '"' || c == '\\') {
      fprintf(file, "\\%c", c);
    } else if (c == '\n') {
      fputs("\\n", file);
    } else if (c < 0x20 || c == 0x7f) {
      fprintf(file, "\\u%04x", c);
    } else {
      fputc(c, file);
    }
  }
  fputc('"', file);
}

static void begin(sj_json *json, const char *key)
{
  if (json->depth > 0) {
    fprintf(json->file, "%s\n%*s", json->has_members ? "," : "", (int)(2 * json->depth), "");
  }
  json->has_members = true;
  if (key != NULL) {
    print_string(json->file, key);
    fputs(": ", json->file);
  }
}

void sj_json_open(sj_json *json, const char *key, char bracket)
{
  begin(json, key);
  fputc(bracket, json->file);
  json->depth++;
  json->has_members = false;
}

void sj_json_close(sj_json *json, char bracket)
{
  json->depth--;
  if (json->has_members) {
    fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
  }
  fputc(bracket, json->file);
  json->has_members = true; /* what was closed is a member of what is open now */
  if (json->depth == 0) {
    fputc('\n', json->file);
  }
}

void sj_json_text(sj_json *json, const char *key, const char *value)
{
  begin(json, key);
  if (value != NULL) {
    print_string(json->file, value);
  } else {
    fputs("null", json->file);
  }
}

void sj_json_number(sj_json *json, const char *key, uint64_t value)
{
  begin(json, key);
  fprintf(json->file, "%llu", (unsigned long long)value);
}

void sj_json_real(sj_json *json, const char *key, double value)
{
  begin(json, key);
  if (isfinite(value)) {
    fprintf(json->file, "%.9g", value);
  } else {
    fputs("null", json->file);
  }
}

void sj_json_bool(sj_json *json, const char *key, bool value)
{
  begin(json, key);
  fputs(value ? "true" : "false", json->file);
}
