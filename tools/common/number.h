/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and lists from the command line. The tools never call setlocale, so that "." is the decimal point
 * everywhere. */
#ifndef SJ_NUMBER_H
#define SJ_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole decimal number, digits only; false when it is something else or does not fit. */
bool sj_number_read(const char *text, uint64_t *value_out);

/* A number of bytes, "2G": a whole number with K, M, G or T (1024 to its powers) or nothing behind it. And a time in
 * seconds, "30d": with s, min, h or d behind it. False as above. */
bool sj_number_read_bytes(const char *text, uint64_t *bytes_out);
bool sj_number_read_seconds(const char *text, uint64_t *seconds_out);

/* Both for people, "1.5 MiB" and "12 d": three digits at most, rounded down. */
#define SJ_NUMBER_TEXT_SIZE 32
void sj_number_write_bytes(uint64_t bytes, char text_out[SJ_NUMBER_TEXT_SIZE]);
void sj_number_write_seconds(uint64_t seconds, char text_out[SJ_NUMBER_TEXT_SIZE]);

/* A finite decimal number such as -1.5 or 2e-3; false otherwise ("nan", "inf" and hexadecimal included). */
bool sj_number_read_real(const char *text, double *value_out);

/* What a counted noun ends with: "" for one, else "s", as in printf("%zu kernel%s", count, sj_number_ending(count)). */
const char *sj_number_ending(uint64_t count);

/* "16,32,64" one element at a time: copies the element at *cursor to element and moves *cursor behind it; false at
 * the end. Elements are trimmed to element_size - 1 bytes: no name here is near that long. */
bool sj_list_next(const char **cursor, char *element, size_t element_size);

/* Whether a list has only elements that are neither empty nor longer than 63 bytes, and at least one. */
bool sj_list_is_sound(const char *text);

#endif
