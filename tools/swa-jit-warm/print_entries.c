/* SPDX-License-Identifier: Apache-2.0 */
#include "print_entries.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "key_text.h"
#include "number.h"
#include "options.h"
#include "print.h"
#include "table.h"

enum { DIGEST_SHOWN = 12, JSON_SCHEMA = 1 /* of docs/swa-jit-warm-json.md */ };

static void write_age(int64_t then_s, int64_t now_s, char text_out[SJ_NUMBER_TEXT_SIZE])
{
  if (then_s <= 0) {
    snprintf(text_out, SJ_NUMBER_TEXT_SIZE, "-");
    return;
  }
  sj_number_write_seconds(now_s > then_s ? (uint64_t)(now_s - then_s) : 0, text_out);
}

static void write_version(uint32_t version, char text_out[SJ_NUMBER_TEXT_SIZE])
{
  if (version == 0) {
    snprintf(text_out, SJ_NUMBER_TEXT_SIZE, "-");
    return;
  }
  snprintf(text_out, SJ_NUMBER_TEXT_SIZE, "%u.%u", version / 1000, version % 1000 / 10);
}

/* By its name, as the library tells them apart. */
static bool is_ptx(const swa_jit_entry *entry)
{
  const char *dot = strrchr(entry->name, '.');
  return dot != NULL && strcmp(dot, ".ptx") == 0;
}

static bool has_product(const swa_jit_entry *entry)
{
  return entry->state != SWA_JIT_ENTRY_SET_ASIDE && entry->state != SWA_JIT_ENTRY_TEMPORARY
         && entry->state != SWA_JIT_ENTRY_FAILED;
}

/* Whether the compile's figures are known. */
static bool has_figures(const swa_jit_entry *entry)
{
  return entry->key_text[0] != '\0' && entry->state != SWA_JIT_ENTRY_FAILED;
}

/* Whether those of ptxas are, which does not run where only PTX is compiled. */
static bool has_ptxas_figures(const swa_jit_entry *entry)
{
  return has_figures(entry) && entry->num_registers != 0;
}

static void add_figure(sj_table *table, bool is_known, uint32_t figure)
{
  if (is_known) {
    sj_table_add(table, "%u", figure);
  } else {
    sj_table_add(table, "-");
  }
}

void warm_write_remainder(const swa_jit_entry *entry, int64_t now_s, char text_out[WARM_REMAINDER_SIZE])
{
  char left[SJ_NUMBER_TEXT_SIZE];
  if (entry->expires_s <= now_s) {
    snprintf(text_out, WARM_REMAINDER_SIZE, "counts no more");
    return;
  }
  sj_number_write_seconds((uint64_t)(entry->expires_s - now_s), left);
  snprintf(text_out, WARM_REMAINDER_SIZE, "not tried again for %s", left);
}

/* What stands behind a row's configuration. */
static void write_remark(const swa_jit_entry *entry, int64_t now_s, char text_out[WARM_REMAINDER_SIZE + 3])
{
  char remainder[WARM_REMAINDER_SIZE];
  text_out[0] = '\0';
  if (entry->state == SWA_JIT_ENTRY_FAILED) {
    warm_write_remainder(entry, now_s, remainder);
    snprintf(text_out, WARM_REMAINDER_SIZE + 3, " (%s)", remainder);
  } else if (entry->config_text[0] != '\0' && is_ptx(entry)) {
    snprintf(text_out, WARM_REMAINDER_SIZE + 3, " (PTX)");
  }
}

static void add_row(sj_table *table, const swa_jit_entry *entry, int64_t now_s)
{
  char text[512] = "", size[SJ_NUMBER_TEXT_SIZE], made[SJ_NUMBER_TEXT_SIZE], used[SJ_NUMBER_TEXT_SIZE],
       version[SJ_NUMBER_TEXT_SIZE];
  const char *digest = warm_entry_digest(entry);
  char remark[WARM_REMAINDER_SIZE + 3];
  warm_print_short(entry->config_text, text);
  write_remark(entry, now_s, remark);
  sj_number_write_bytes(entry->file_bytes, size);
  write_age(entry->made_s, now_s, made);
  write_age(entry->used_s, now_s, used);
  write_version(entry->nvrtc_version, version);
  sj_table_add(table, "%s", warm_entry_state_name(entry->state));
  sj_table_add(table, "%u", entry->layer);
  sj_table_add(table, "%.*s", DIGEST_SHOWN, *digest != '\0' ? digest : "-");
  add_figure(table, has_ptxas_figures(entry), entry->num_registers);
  add_figure(table, has_figures(entry), entry->shared_memory_bytes);
  add_figure(table, has_ptxas_figures(entry), entry->spill_store_bytes + entry->spill_load_bytes);
  sj_table_add(table, "%s", size);
  sj_table_add(table, "%s", made);
  sj_table_add(table, "%s", used);
  sj_table_add(table, "%s", version);
  sj_table_add(table, "%s%s", *text != '\0' ? text : entry->name, remark);
}

void warm_print_entries(const warm_entries *entries)
{
  static const sj_column columns[] = {
      {"state", false},       {"layer", true},       {"digest", false},        {"registers", true},
      {"shared bytes", true}, {"spill bytes", true}, {"size", true},           {"made", true},
      {"used", true},         {"NVRTC", true},       {"configuration", false},
  };
  const int64_t now_s = time(NULL);
  uint64_t bytes = 0;
  char size[SJ_NUMBER_TEXT_SIZE];
  sj_table table;
  sj_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < entries->count; i++) {
    add_row(&table, &entries->entries[i], now_s);
  }
  if (entries->count > 0) {
    sj_table_print(&table, stdout);
  }
  sj_table_finish(&table);
  size_t count = warm_entries_count(entries, WARM_NUM_STATES, &bytes);
  sj_number_write_bytes(bytes, size);
  printf("%zu file%s, %s: ", count, sj_number_ending(count), size);
  for (uint32_t state = 0; state < WARM_NUM_STATES; state++) {
    printf("%s%zu %s", state > 0 ? ", " : "", warm_entries_count(entries, state, NULL), warm_entry_state_name(state));
  }
  printf("\n");
}

void warm_print_faults(const warm_entries *entries)
{
  for (size_t i = 0; i < entries->count; i++) {
    const swa_jit_entry *entry = &entries->entries[i];
    if (entry->state == SWA_JIT_ENTRY_BAD || entry->state == SWA_JIT_ENTRY_UNREADABLE) {
      fprintf(stderr, "%s: %s: %s/%s: %s\n", warm_cli.name, warm_entry_state_name(entry->state), entry->folder,
              entry->name, entry->reason);
    }
  }
}

static void print_line(const char *name, const char *value)
{
  printf("%-20s  %s\n", name, value);
}

static void print_count(const char *name, uint64_t value)
{
  printf("%-20s  %llu\n", name, (unsigned long long)value);
}

static void print_time(const char *name, int64_t seconds)
{
  char text[64] = "unknown";
  time_t time = (time_t)seconds;
  struct tm parts;
  if (seconds > 0 && gmtime_r(&time, &parts) != NULL) {
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  }
  print_line(name, text);
}

void warm_print_key(const char *key_text)
{
  warm_key_line line;
  printf("key\n");
  while (warm_key_next(&key_text, &line)) {
    char *name = warm_key_copy(line.name, line.name_length);
    char *value = warm_key_copy(line.value, line.value_length);
    printf("  %-18s  %s\n", name, value);
    free(name);
    free(value);
  }
}

/* The rest of a remembered failure. */
static void print_failure(const swa_jit_entry *entry)
{
  char version[SJ_NUMBER_TEXT_SIZE], remainder[WARM_REMAINDER_SIZE];
  write_version(entry->nvrtc_version, version);
  warm_write_remainder(entry, time(NULL), remainder);
  print_line("failure", remainder);
  if (entry->key_text[0] == '\0') {
    return;
  }
  print_line("NVRTC", version);
  printf("compiler's log\n%s", entry->log_text);
  printf("%s", entry->log_text[0] != '\0' && entry->log_text[strlen(entry->log_text) - 1] != '\n' ? "\n" : "");
  warm_print_key(entry->key_text);
}

void warm_print_entry(const swa_jit_entry *entry)
{
  char version[SJ_NUMBER_TEXT_SIZE];
  write_version(entry->nvrtc_version, version);
  print_line("file", entry->name);
  print_line("folder", entry->folder);
  print_count("layer", entry->layer);
  print_line("state", warm_entry_state_name(entry->state));
  if (entry->reason[0] != '\0') {
    print_line("reason", entry->reason);
  }
  print_line("configuration", entry->config_text[0] != '\0' ? entry->config_text : "unknown");
  print_count("file bytes", entry->file_bytes);
  print_time("made", entry->made_s);
  if (entry->state == SWA_JIT_ENTRY_FAILED) {
    print_failure(entry);
    return;
  }
  print_time("used", entry->used_s);
  if (entry->key_text[0] == '\0') {
    return;
  }
  print_line("asked for today", entry->is_current ? "yes" : "no: of another template or other compile options");
  print_count("cubin bytes", entry->cubin_bytes);
  if (has_ptxas_figures(entry)) {
    print_count("registers", entry->num_registers);
  }
  print_count("threads", entry->num_threads);
  print_count("shared bytes", entry->shared_memory_bytes);
  if (has_ptxas_figures(entry)) {
    print_count("spill store bytes", entry->spill_store_bytes);
    print_count("spill load bytes", entry->spill_load_bytes);
  }
  print_count("compile ms", entry->compile_ns / 1000000);
  print_line("NVRTC", version);
  warm_print_key(entry->key_text);
}

/* null where it is not known */
static void json_number(sj_json *json, const char *key, bool is_known, uint64_t value)
{
  if (is_known) {
    sj_json_number(json, key, value);
  } else {
    sj_json_text(json, key, NULL);
  }
}

static void json_text(sj_json *json, const char *key, const char *text)
{
  sj_json_text(json, key, text != NULL && *text != '\0' ? text : NULL);
}

void warm_json_entry(sj_json *json, const swa_jit_entry *entry)
{
  const bool has_key = entry->key_text[0] != '\0';
  const bool is_known = has_figures(entry);
  const bool has_config = entry->config_text[0] != '\0';
  json_text(json, "file", entry->name);
  json_text(json, "folder", entry->folder);
  json_number(json, "layer", true, entry->layer);
  json_text(json, "state", warm_entry_state_name(entry->state));
  json_text(json, "reason", entry->reason);
  json_text(json, "product", !has_product(entry) ? NULL : is_ptx(entry) ? "ptx" : "cubin");
  json_text(json, "configuration", entry->config_text);
  json_text(json, "architecture", swa_jit_arch_name(entry->arch));
  json_number(json, "file_bytes", true, entry->file_bytes);
  json_number(json, "made_s", entry->made_s > 0, (uint64_t)entry->made_s);
  json_number(json, "used_s", entry->used_s > 0, (uint64_t)entry->used_s);
  json_number(json, "expires_s", entry->expires_s > 0, (uint64_t)entry->expires_s);
  json_number(json, "cubin_bytes", is_known, entry->cubin_bytes);
  json_number(json, "registers", has_ptxas_figures(entry), entry->num_registers);
  json_number(json, "threads", has_config, entry->num_threads);
  json_number(json, "shared_memory_bytes", has_config, entry->shared_memory_bytes);
  json_number(json, "spill_store_bytes", has_ptxas_figures(entry), entry->spill_store_bytes);
  json_number(json, "spill_load_bytes", has_ptxas_figures(entry), entry->spill_load_bytes);
  json_number(json, "compile_ns", is_known, entry->compile_ns);
  json_number(json, "nvrtc_version", has_key, entry->nvrtc_version);
}

void warm_json_key(sj_json *json, const char *key_text)
{
  warm_key_line line;
  sj_json_open(json, "key", '[');
  while (warm_key_next(&key_text, &line)) {
    char *name = warm_key_copy(line.name, line.name_length);
    char *value = warm_key_copy(line.value, line.value_length);
    sj_json_open(json, NULL, '{');
    sj_json_text(json, "name", name);
    sj_json_text(json, "value", value);
    sj_json_close(json, '}');
    free(name);
    free(value);
  }
  sj_json_close(json, ']');
}

void warm_json_sums(sj_json *json, const warm_entries *entries)
{
  uint64_t bytes = 0;
  sj_json_open(json, "files", '{');
  for (uint32_t state = 0; state < WARM_NUM_STATES; state++) {
    sj_json_number(json, warm_entry_state_name(state), warm_entries_count(entries, state, NULL));
  }
  sj_json_close(json, '}');
  warm_entries_count(entries, WARM_NUM_STATES, &bytes);
  sj_json_number(json, "bytes", bytes);
}

void warm_json_begin(sj_json *json, const char *command)
{
  sj_json_open(json, NULL, '{');
  sj_json_text(json, "version", swa_jit_version_text());
  sj_json_number(json, "schema", JSON_SCHEMA);
  sj_json_text(json, "command", command);
}
