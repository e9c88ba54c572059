/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void sj_table_init(sj_table *table, const sj_column *columns, size_t num_columns)
{
  *table = (sj_table){.columns = columns, .num_columns = num_columns};
}

void sj_table_add(sj_table *table, const char *format, ...)
{
  char *cell = NULL;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&cell, format, arguments);
  va_end(arguments);
  if (table->num_cells == table->capacity) {
    table->capacity = table->capacity != 0 ? 2 * table->capacity : 64;
    table->cells = sj_memory_grow(table->cells, table->capacity, sizeof *table->cells);
  }
  table->cells[table->num_cells++] = length < 0 ? sj_memory_copy("?") : cell;
}

static int column_width(const sj_table *table, size_t column)
{
  size_t width = strlen(table->columns[column].title);
  for (size_t i = column; i < table->num_cells; i += table->num_columns) {
    size_t length = strlen(table->cells[i]);
    width = length > width ? length : width;
  }
  return (int)width;
}

/* The last column is not padded: no line ends in blanks. */
static void print_cell(const sj_table *table, size_t column, const char *text, FILE *file)
{
  bool last = column + 1 == table->num_columns;
  int width = column_width(table, column);
  if (table->columns[column].right) {
    fprintf(file, "%*s", width, text);
  } else {
    fprintf(file, "%-*s", last ? 0 : width, text);
  }
  fputs(last ? "\n" : "  ", file);
}

void sj_table_print(const sj_table *table, FILE *file)
{
  for (size_t i = 0; i < table->num_columns; i++) {
    print_cell(table, i, table->columns[i].title, file);
  }
  size_t column = 0;
  for (size_t i = 0; i < table->num_cells; i++) {
    print_cell(table, column, table->cells[i], file);
    column = column + 1 < table->num_columns ? column + 1 : 0;
  }
}

void sj_table_finish(sj_table *table)
{
  for (size_t i = 0; i < table->num_cells; i++) {
    free(table->cells[i]);
  }
  free(table->cells);
  *table = (sj_table){0};
}
