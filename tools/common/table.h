/* SPDX-License-Identifier: Apache-2.0 */
/* A table of text cells, printed with each column as wide as its widest cell. */
#ifndef SJ_TABLE_H
#define SJ_TABLE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct sj_column {
  const char *title;
  bool right; /* numbers stand at the right */
} sj_column;

typedef struct sj_table {
  const sj_column *columns;
  size_t num_columns;
  char **cells; /* row after row */
  size_t num_cells;
  size_t capacity;
} sj_table;

void sj_table_init(sj_table *table, const sj_column *columns, size_t num_columns);
/* The next cell, of this row or, after its last, of a new one. */
void sj_table_add(sj_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sj_table_print(const sj_table *table, FILE *file);
void sj_table_finish(sj_table *table);

#endif
