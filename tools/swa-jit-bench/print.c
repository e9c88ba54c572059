/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <stdio.h>

#include "json.h"
#include "number.h"
#include "table.h"

void bench_print_missing(const bench_sweep *sweep)
{
  for (uint32_t i = 0; i < sweep->num_kernels; i++) {
    const bench_kernel *kernel = &sweep->kernels[i];
    if (kernel->state != BENCH_HELD) {
      fprintf(stderr, "%s: %s: head_group %u kv_tile %u: %s\n", bench_cli.name,
              kernel->state == BENCH_REFUSED ? "refused" : "failed", kernel->config.head_group, kernel->config.kv_tile,
              kernel->message);
    }
  }
}

/* Terabytes a second: bytes over microseconds is megabytes a second. */
static double rate(uint64_t bytes, double us)
{
  return (double)bytes / us * 1e-6;
}

static void print_best(const bench_sweep *sweep)
{
  static const sj_column columns[] = {
      {"tokens", true},    {"copy us", true}, {"copy TB/s", true}, {"floor us", true}, {"floor group", true},
      {"decode us", true}, {"group", true},   {"tile", true},      {"TB/s", true},     {"decode / floor", true},
  };
  sj_table table;
  sj_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    const bench_point *point = &sweep->points[i];
    double us = 0.0;
    const bench_kernel *best = bench_sweep_best(sweep, point, 0, &us);
    sj_table_add(&table, "%u", point->num_tokens);
    sj_table_add(&table, "%.2f", point->us_copy);
    sj_table_add(&table, "%.2f", rate(point->traffic, point->us_copy));
    sj_table_add(&table, "%.2f", point->us_floor);
    sj_table_add(&table, "%u", point->floor_group);
    sj_table_add(&table, "%.2f", us);
    sj_table_add(&table, "%u", best->config.head_group);
    sj_table_add(&table, "%u", best->config.kv_tile);
    sj_table_add(&table, "%.2f", rate(point->traffic, us));
    sj_table_add(&table, "%.3f", us / point->us_floor);
  }
  sj_table_print(&table, stdout);
  sj_table_finish(&table);
}

static void print_every(const bench_sweep *sweep)
{
  static const sj_column columns[] = {
      {"tokens", true}, {"group", true}, {"tile", true}, {"decode us", true}, {"decode / floor", true},
  };
  sj_table table;
  sj_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    for (uint32_t k = 0; k < sweep->num_kernels; k++) {
      const bench_kernel *kernel = &sweep->kernels[k];
      if (kernel->state != BENCH_HELD) {
        continue;
      }
      sj_table_add(&table, "%u", sweep->points[i].num_tokens);
      sj_table_add(&table, "%u", kernel->config.head_group);
      sj_table_add(&table, "%u", kernel->config.kv_tile);
      sj_table_add(&table, "%.2f", sweep->points[i].us_ours[k]);
      sj_table_add(&table, "%.3f", sweep->points[i].us_ours[k] / sweep->points[i].us_floor);
    }
  }
  printf("\n");
  sj_table_print(&table, stdout);
  sj_table_finish(&table);
}

void bench_print_tables(const bench_sweep *sweep, const bench_host *host)
{
  const bench_options *options = sweep->options;
  printf("%s, %s, %d SM%s, driver %d; %llu head%s, head_dim %llu, window %llu, %llu slot%s; median of %llu replay%s\n",
         sweep->device->name, sweep->arch, sweep->device->num_sms, sj_number_ending((uint64_t)sweep->device->num_sms),
         sweep->device->driver_version, (unsigned long long)options->num_heads, sj_number_ending(options->num_heads),
         (unsigned long long)options->head_dim, (unsigned long long)options->window_size,
         (unsigned long long)options->num_slots, sj_number_ending(options->num_slots),
         (unsigned long long)options->replays, sj_number_ending(options->replays));
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

bool bench_print_csv(const bench_sweep *sweep, const char *path)
{
  FILE *file = open_file(path);
  if (file == NULL) {
    return false;
  }
  fprintf(file, "device,arch,num_sms,num_tokens,num_heads,head_dim,window_size,head_group,kv_tile,us_ours,us_floor,"
                "us_copy\n");
  for (uint32_t i = 0; i < sweep->num_points; i++) {
    const bench_point *point = &sweep->points[i];
    for (uint32_t k = 0; k < sweep->num_kernels; k++) {
      const swa_jit_config *config = &sweep->kernels[k].config;
      if (sweep->kernels[k].state != BENCH_HELD) {
        continue;
      }
      put_name(sweep->device->name, file);
      fprintf(file, ",%s,%d,%u,%llu,%u,%u,%u,%u,%.3f,%.3f,%.3f\n", sweep->arch, sweep->device->num_sms,
              point->num_tokens, (unsigned long long)sweep->options->num_heads, config->head_dim, config->window_size,
              config->head_group, config->kv_tile, point->us_ours[k], point->us_floor, point->us_copy);
    }
  }
  return close_file(file, path);
}

static void put_point(sj_json *json, const bench_sweep *sweep, const bench_point *point)
{
  sj_json_open(json, NULL, '{');
  sj_json_number(json, "num_tokens", point->num_tokens);
  sj_json_number(json, "bytes", point->traffic);
  sj_json_real(json, "us_copy", point->us_copy);
  sj_json_real(json, "us_floor", point->us_floor);
  sj_json_number(json, "floor_group", point->floor_group);
  sj_json_open(json, "kernels", '[');
  for (uint32_t k = 0; k < sweep->num_kernels; k++) {
    if (sweep->kernels[k].state == BENCH_HELD) {
      sj_json_open(json, NULL, '{');
      sj_json_number(json, "head_group", sweep->kernels[k].config.head_group);
      sj_json_number(json, "kv_tile", sweep->kernels[k].config.kv_tile);
      sj_json_real(json, "us_ours", point->us_ours[k]);
      sj_json_real(json, "ratio", point->us_ours[k] / point->us_floor);
      sj_json_close(json, '}');
    }
  }
  sj_json_close(json, ']');
  sj_json_close(json, '}');
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
  sj_json_number(&json, "num_heads", sweep->options->num_heads);
  sj_json_number(&json, "head_dim", sweep->options->head_dim);
  sj_json_number(&json, "window_size", sweep->options->window_size);
  sj_json_number(&json, "num_slots", sweep->options->num_slots);
  sj_json_number(&json, "replays", sweep->options->replays);
  sj_json_bool(&json, "lse", sweep->options->lse);
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
