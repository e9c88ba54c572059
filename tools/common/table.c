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

/* Once for the whole table: it may have many thousand rows. malloc'd. */
static int *find_widths(const sj_table *table)
{
  int *widths = sj_memory_get(table->num_columns, sizeof *widths);
  for (size_t i = 0; i < table->num_columns; i++) {
    widths[i] = (int)strlen(table->columns[i].title);
  }
  for (size_t i = 0; i < table->num_cells; i++) {
    int length = (int)strlen(table->cells[i]);
    int *width = &widths[i % table->num_columns];
    *width = length > *width ? length : *width;
  }
  return widths;
}

/* The last column is not padded: no line ends in blanks. */
static void print_cell(const sj_table *table, size_t column, int width, const char *text, FILE *file)
{
  bool last = column + 1 == table->num_columns;
  if (table->columns[column].right) {
    fprintf(file, "%*s", width, text);
  } else {
    fprintf(file, "%-*s", last ? 0 : width, text);
  }
  fputs(last ? "\n" : "  ", file);
}

void sj_table_print(const sj_table *table, FILE *file)
{
  int *widths = find_widths(table);
  for (size_t i = 0; i < table->num_columns; i++) {
    print_cell(table, i, widths[i], table->columns[i].title, file);
  }
  for (size_t i = 0; i < table->num_cells; i++) {
    const size_t column = i % table->num_columns;
    print_cell(table, column, widths[column], table->cells[i], file);
  }
  free(widths);
}

void sj_table_finish(sj_table *table)
{
  for (size_t i = 0; i < table->num_cells; i++) {
    free(table->cells[i]);
  }
  free(table->cells);
  *table = (sj_table){0};
}
