/* SPDX-License-Identifier: Apache-2.0 */
/* How entries of the store are shown. */
#ifndef WARM_PRINT_ENTRIES_H
#define WARM_PRINT_ENTRIES_H

#include "entries.h"
#include "json.h"

/* A row an entry, and a line of sums, to standard output. */
/* How long a failed compile still counts: "not tried again for 38 min", "counts no more". */
enum { WARM_REMAINDER_SIZE = 64 };
void warm_write_remainder(const swa_jit_entry *entry, int64_t now_s, char text_out[WARM_REMAINDER_SIZE]);

void warm_print_entries(const warm_entries *entries);

/* Of each entry that cannot be used or read a line to standard error. */
void warm_print_faults(const warm_entries *entries);

/* One entry, line by line, and its key. */
void warm_print_entry(const swa_jit_entry *entry);

void warm_print_key(const char *key_text);

/* The members of an open object. The key: an array of names and values. */
void warm_json_entry(sj_json *json, const swa_jit_entry *entry);
void warm_json_key(sj_json *json, const char *key_text);

/* The sums of all entries as members of an open object. */
void warm_json_sums(sj_json *json, const warm_entries *entries);

/* Opens a report: its object, with version, schema and command. */
void warm_json_begin(sj_json *json, const char *command);

#endif
