/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *demand(void *memory)
{
  if (memory == NULL) {
    fputs("out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

void *sj_memory_get(size_t count, size_t size)
{
  return demand(calloc(count != 0 ? count : 1, size));
}

void *sj_memory_grow(void *memory, size_t count, size_t size)
{
  return demand(reallocarray(memory, count != 0 ? count : 1, size));
}

char *sj_memory_copy(const char *text)
{
  return demand(strdup(text));
}

char *sj_memory_format(const char *format, ...)
{
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  return demand(length < 0 ? NULL : text);
}
