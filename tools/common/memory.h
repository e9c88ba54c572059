/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory for the tools: a tool that gets none says so and ends with status 1, so that no caller checks. */
#ifndef SJ_MEMORY_H
#define SJ_MEMORY_H

#include <stddef.h>

void *sj_memory_get(size_t count, size_t size); /* zeroed; free() it */
void *sj_memory_grow(void *memory, size_t count, size_t size);
char *sj_memory_copy(const char *text);
char *sj_memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
