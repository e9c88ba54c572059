/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "number.h"
#include "table.h"

void bench_print_missing(const bench_sweep *sweep)
{
  for (uint32_t i = 0; i < sweep->num_kernels; i++) {
    const bench_kernel *kernel = &sweep->kernels[i];
    bool is_told = i > 0 && memcmp(&kernel[-1].config, &kernel->config, sizeof kernel->config) == 0;
    if (kernel->state != BENCH_HELD && !is_told) {
      fprintf(stderr, "%s: %s: head_group %u kv_tile %u%s%s: %s\n", bench_cli.name,
              kernel->state == BENCH_REFUSED ? "refused" : "failed", kernel->config.head_group, kernel->config.kv_tile,
              kernel->config.splits != 0 ? " in splits" : "", kernel->config.cluster_size != 0 ? " in clusters" : "",
              kernel->message);
    }
  }
}

/* Terabytes a second: bytes over microseconds is megabytes a second. */
static double rate(uint64_t bytes, double us)
{
  return (double)bytes / us * 1e-6;
}

static bool has_splits(const bench_sweep *sweep)
{
  const bench_list *splits = &sweep->options->num_splits;
  return splits->count > 1 || splits->values[0] != 0;
}

static bool has_clusters(const bench_sweep *sweep)
{
  for (uint32_t i = 0; i < sweep->num_kernels; i++) {
    if (sweep->kernels[i].config.cluster_size != 0) {
      return true;
    }
  }
  return false;
}

/* The first column is of several numbers of heads, the last two of splits and of clusters. */
static void init_table(const bench_sweep *sweep, sj_column *columns, size_t num_columns, sj_table *table)
{
  size_t left_out = sweep->options->num_heads.count > 1 ? 0 : 1;
  if (!has_clusters(sweep)) {
    num_columns--;
  } else if (!has_splits(sweep)) {
    columns[num_columns - 2] = columns[num_columns - 1];
  }
  sj_table_init(table, columns + left_out, num_columns - left_out - (has_splits(sweep) ? 0 : 1));
}

static void add_shares(const bench_sweep *sweep, const bench_kernel *kernel, bench_step step, sj_table *table)
{
  if (has_splits(sweep)) {
    sj_table_add(table, "%u%s", bench_sweep_num_splits(sweep, kernel, step),
                 kernel->num_splits == SJ_SPLITS_PICK ? " picked" : "");
  }
  if (has_clusters(sweep)) {
    sj_table_add(table, "%u", kernel->config.cluster_size);
  }
}

static void add_step(const bench_sweep *sweep, bench_step step, sj_table *table)
{
  if (sweep->options->num_heads.count > 1) {
    sj_table_add(table, "%u", step.num_heads);
  }
  sj_table_add(table, "%u", step.num_tokens);
}

static void print_best(const bench_sweep *sweep)
{
  sj_column columns[] = {
      {"heads", true},          {"tokens", true},    {"copy us", true}, {"copy TB/s", true}, {"floor us", true},
      {"floor CTA", true},      {"decode us", true}, {"group", true},   {"tile", true},      {"TB/s", true},
      {"decode / floor", true}, {"splits", true},    {"cluster", true},
  };
  sj_table table;
  init_table(sweep, columns, sizeof columns / sizeof columns[0], &table);
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    const bench_point *point = &sweep->points[i];
    double us = 0.0;
    const bench_kernel *best = bench_sweep_best(sweep, point, 0, &us);
    add_step(sweep, point->step, &table);
    sj_table_add(&table, "%.2f", point->us_copy);
    sj_table_add(&table, "%.2f", rate(point->traffic, point->us_copy));
    sj_table_add(&table, "%.2f", point->us_floor);
    if (point->floor.num_splits > 1) {
      sj_table_add(&table, "%u / %u", bench_floor_groups[point->floor.group], point->floor.num_splits);
    } else {
      sj_table_add(&table, "%u", bench_floor_groups[point->floor.group]);
    }
    sj_table_add(&table, "%.2f", us);
    sj_table_add(&table, "%u", best->config.head_group);
    sj_table_add(&table, "%u", best->config.kv_tile);
    sj_table_add(&table, "%.2f", rate(point->traffic, us));
    sj_table_add(&table, "%.3f", us / point->us_floor);
    add_shares(sweep, best, point->step, &table);
  }
  sj_table_print(&table, stdout);
  sj_table_finish(&table);
}

static void print_every(const bench_sweep *sweep)
{
  sj_column columns[] = {
      {"heads", true},     {"tokens", true},         {"group", true},  {"tile", true},
      {"decode us", true}, {"decode / floor", true}, {"splits", true}, {"cluster", true},
  };
  sj_table table;
  init_table(sweep, columns, sizeof columns / sizeof columns[0], &table);
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    for (uint32_t k = 0; k < sweep->num_kernels; k++) {
      double us = sweep->points[i].us_ours[k];
      if (us > 0.0) {
        add_step(sweep, sweep->points[i].step, &table);
        sj_table_add(&table, "%u", sweep->kernels[k].config.head_group);
        sj_table_add(&table, "%u", sweep->kernels[k].config.kv_tile);
        sj_table_add(&table, "%.2f", us);
        sj_table_add(&table, "%.3f", us / sweep->points[i].us_floor);
        add_shares(sweep, &sweep->kernels[k], sweep->points[i].step, &table);
      }
    }
  }
  printf("\n");
  sj_table_print(&table, stdout);
  sj_table_finish(&table);
}

/* "128 heads", or "8, 16, 32 heads". */
static void print_heads(const bench_options *options)
{
  const bench_list *heads = &options->num_heads;
  for (uint32_t i = 0; i < heads->count; i++) {
    printf("%s%u", i == 0 ? "" : ", ", heads->values[i]);
  }
  printf(" head%s", heads->count == 1 ? sj_number_ending(heads->values[0]) : "s");
  if (options->num_kv_heads > 1) {
    printf(" over %llu KV heads", (unsigned long long)options->num_kv_heads);
  }
}

/* What differs from e4m3_slot's window. */
static void print_general(const bench_options *options)
{
  if (options->head_dim_v != 0) {
    printf(", head_dim_v %llu", (unsigned long long)options->head_dim_v);
  }
  if (options->config.kv_format != SWA_JIT_KV_E4M3_SLOT) {
    printf(", %s", options->kv_format);
  }
  if (options->extra_size != 0) {
    printf(", extra scope %llu of %s in blocks of %llu", (unsigned long long)options->extra_size, options->extra_format,
           (unsigned long long)options->extra_block_size);
  }
  if (options->sinks != 0) {
    printf(", sinks");
  }
  if (options->soft_cap > 0.0) {
    printf(", soft cap %g", options->soft_cap);
  }
}

void bench_print_tables(const bench_sweep *sweep, const bench_host *host)
{
  const bench_options *options = sweep->options;
  printf("%s, %s, %d SM%s, driver %d; ", sweep->device->name, sweep->arch, sweep->device->num_sms,
         sj_number_ending((uint64_t)sweep->device->num_sms), sweep->device->driver_version);
  print_heads(options);
  printf(", head_dim %llu, window %llu", (unsigned long long)options->head_dim,
         (unsigned long long)options->window_size);
  print_general(options);
  printf("; median of %llu replay%s\n", (unsigned long long)options->replays, sj_number_ending(options->replays));
  print_best(sweep);
  if (options->every) {
    print_every(sweep);
  }
  if (host != NULL) {
    printf("\nhost: swa_jit_decode %.0f ns, bare cuLaunchKernel %.0f ns, beyond it %.0f ns; held kernel found in "
           "%.0f ns\n",
           host->ns_decode, host->ns_launch, host->ns_beyond, host->ns_find);
  }
}

static FILE *open_file(const char *path)
{
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "%s: %s: ", bench_cli.name, path);
    perror(NULL);
  }
  return file;
}

static bool close_file(FILE *file, const char *path)
{
  bool written = ferror(file) == 0;
  if (fclose(file) != 0 || !written) {
    fprintf(stderr, "%s: %s: ", bench_cli.name, path);
    perror(NULL);
    return false;
  }
  return true;
}

/* A device's name has no comma; a quote would end the field. */
static void put_name(const char *name, FILE *file)
{
  fputc('"', file);
  for (; *name != '\0'; name++) {
    fputc(*name == '"' ? '\'' : *name, file);
  }
  fputc('"', file);
}

static void put_csv_line(const bench_sweep *sweep, const bench_point *point, uint32_t index, FILE *file)
{
  const bench_options *options = sweep->options;
  const bench_kernel *kernel = &sweep->kernels[index];
  const swa_jit_config *config = &kernel->config;
  put_name(sweep->device->name, file);
  fprintf(file, ",%s,%d,%u,%u,%u,%u,%u,%u,%.3f,%.3f,%.3f", sweep->arch, sweep->device->num_sms, point->step.num_tokens,
          point->step.num_heads, config->head_dim, config->window_size, config->head_group, config->kv_tile,
          point->us_ours[index], point->us_floor, point->us_copy);
  fprintf(file, ",%s,%llu,%u,%u,%g,%u,%s,%llu,%llu,%d,%llu,%u,%d,%u\n", options->kv_format,
          (unsigned long long)options->num_kv_heads, config->head_dim_v, config->sinks, options->soft_cap,
          config->extra_size, options->extra_format != NULL ? options->extra_format : "",
          (unsigned long long)options->block_size, (unsigned long long)options->extra_block_size, options->lse,
          (unsigned long long)point->traffic, bench_sweep_num_splits(sweep, kernel, point->step),
          kernel->num_splits == SJ_SPLITS_PICK, config->cluster_size);
}

bool bench_print_csv(const bench_sweep *sweep, const char *path)
{
  FILE *file = open_file(path);
  if (file == NULL) {
    return false;
  }
  fprintf(file, "device,arch,num_sms,num_tokens,num_heads,head_dim,window_size,head_group,kv_tile,us_ours,us_floor,"
                "us_copy,kv_format,num_kv_heads,head_dim_v,sinks,soft_cap,extra_size,extra_format,block_size,"
                "extra_block_size,lse,bytes,num_splits,splits_picked,cluster_size\n");
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    for (uint32_t k = 0; k < sweep->num_kernels; k++) {
      if (sweep->points[i].us_ours[k] > 0.0) {
        put_csv_line(sweep, &sweep->points[i], k, file);
      }
    }
  }
  return close_file(file, path);
}

static void put_point(sj_json *json, const bench_sweep *sweep, const bench_point *point)
{
  sj_json_open(json, NULL, '{');
  sj_json_number(json, "num_heads", point->step.num_heads);
  sj_json_number(json, "num_tokens", point->step.num_tokens);
  sj_json_number(json, "bytes", point->traffic);
  sj_json_real(json, "us_copy", point->us_copy);
  sj_json_real(json, "us_floor", point->us_floor);
  sj_json_number(json, "floor_group", bench_floor_groups[point->floor.group]);
  sj_json_number(json, "floor_splits", point->floor.num_splits);
  sj_json_open(json, "kernels", '[');
  for (uint32_t k = 0; k < sweep->num_kernels; k++) {
    const bench_kernel *kernel = &sweep->kernels[k];
    if (point->us_ours[k] > 0.0) {
      sj_json_open(json, NULL, '{');
      sj_json_number(json, "head_group", kernel->config.head_group);
      sj_json_number(json, "kv_tile", kernel->config.kv_tile);
      sj_json_number(json, "num_splits", bench_sweep_num_splits(sweep, kernel, point->step));
      sj_json_bool(json, "splits_picked", kernel->num_splits == SJ_SPLITS_PICK);
      sj_json_number(json, "cluster_size", kernel->config.cluster_size);
      sj_json_real(json, "us_ours", point->us_ours[k]);
      sj_json_real(json, "ratio", point->us_ours[k] / point->us_floor);
      sj_json_close(json, '}');
    }
  }
  sj_json_close(json, ']');
  sj_json_close(json, '}');
}

static void put_problem(sj_json *json, const bench_options *options)
{
  sj_json_number(json, "num_kv_heads", options->num_kv_heads);
  sj_json_number(json, "head_dim", options->head_dim);
  sj_json_number(json, "head_dim_v", options->head_dim_v);
  sj_json_text(json, "kv_format", options->kv_format);
  sj_json_number(json, "window_size", options->window_size);
  sj_json_number(json, "block_size", options->block_size);
  sj_json_number(json, "extra_size", options->extra_size);
  if (options->extra_size != 0) {
    sj_json_text(json, "extra_format", options->extra_format);
    sj_json_number(json, "extra_block_size", options->extra_block_size);
  }
  sj_json_bool(json, "sinks", options->sinks != 0);
  sj_json_real(json, "soft_cap", options->soft_cap);
  sj_json_number(json, "replays", options->replays);
  sj_json_bool(json, "lse", options->lse);
}

bool bench_print_json(const bench_sweep *sweep, const bench_host *host, const char *path)
{
  FILE *file = open_file(path);
  if (file == NULL) {
    return false;
  }
  sj_json json = {.file = file};
  sj_json_open(&json, NULL, '{');
  sj_json_text(&json, "version", swa_jit_version_text());
  sj_json_text(&json, "device", sweep->device->name);
  sj_json_text(&json, "arch", sweep->arch);
  sj_json_number(&json, "num_sms", (uint64_t)sweep->device->num_sms);
  sj_json_number(&json, "driver", (uint64_t)sweep->device->driver_version);
  put_problem(&json, sweep->options);
  sj_json_open(&json, "points", '[');
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    put_point(&json, sweep, &sweep->points[i]);
  }
  sj_json_close(&json, ']');
  if (host != NULL) {
    sj_json_open(&json, "host", '{');
    sj_json_real(&json, "ns_decode", host->ns_decode);
    sj_json_real(&json, "ns_launch", host->ns_launch);
    sj_json_real(&json, "ns_beyond", host->ns_beyond);
    sj_json_real(&json, "ns_find", host->ns_find);
    sj_json_close(&json, '}');
  }
  sj_json_close(&json, '}');
  return close_file(file, path);
}
