/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for each test: cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown) hands the
 * folder's absolute path to the test as *state (a char *). Under TMPDIR, else /tmp; removed with all that is in it. */
#ifndef SJ_TEMP_DIR_H
#define SJ_TEMP_DIR_H

#include <stdbool.h>
#include <stddef.h>

int temp_dir_setup(void **state);
int temp_dir_teardown(void **state);

/* "folder/name", malloc'd. */
char *temp_dir_join(const char *folder, const char *name);

/* A whole file; false when it cannot be written or read. Read bytes are malloc'd, with a zero behind them. */
bool temp_dir_write(const char *path, const void *bytes, size_t count);
bool temp_dir_read(const char *path, char **bytes_out, size_t *count_out);

/* How many names in folder contain part ("" counts all); -1 when it cannot be read. */
int temp_dir_count(const char *folder, const char *part);

/* The path of the first name in folder that contains part, malloc'd; NULL if there is none. */
char *temp_dir_find(const char *folder, const char *part);

#endif
