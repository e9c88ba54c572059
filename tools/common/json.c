/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <math.h>

static void print_string(FILE *file, const char *text)
{
  fputc('"', file);
  for (; *text != '\0'; text++) {
    unsigned char c = (unsigned char)*text;
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
