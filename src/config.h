/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's fields as one table: name, values, default. Validation, text form, key lines, command-line
 * options and docs all walk this table. */
#ifndef SJ_CONFIG_H
#define SJ_CONFIG_H

#include <stdbool.h>

#include "swa_jit/swa_jit.h"

typedef struct sj_config_field {
  const char *name;       /* "head_dim": the spelling everywhere */
  const char *short_name; /* "hd": before the value in file names; NULL: not there */
  size_t offset;          /* of the uint32_t in swa_jit_config */
  uint32_t default_value;
  const uint32_t *values;         /* the legal values, or NULL: from minimum to maximum */
  const char *const *value_names; /* parallel to values: "e4m3_slot"; NULL: decimal numbers */
  unsigned num_values;
  uint32_t minimum, maximum;
  bool always_named;     /* false: in file names only when it is not the default */
  bool text_is_optional; /* true: in a configuration's text only when it is not the default */
  const char *help;      /* one line, for --help and docs/parameters.md */
} sj_config_field;

/* The i-th field, NULL past the end. Field 0 is arch. */
const sj_config_field *sj_config_field_at(unsigned index);
const sj_config_field *sj_config_field_find(const char *name, size_t length);
uint32_t sj_config_get(const swa_jit_config *config, const sj_config_field *field);
void sj_config_set(swa_jit_config *config, const sj_config_field *field, uint32_t value);

/* The name (or number) of a value; buffer is used for numbers. NULL if the value has no name. */
const char *sj_config_value_text(const sj_config_field *field, uint32_t value, char buffer[16]);
/* "64, 96, 128, 192, 256 or 512"-like list of the legal values, for messages and help. */
#define SJ_CONFIG_VALUES_SIZE 128 /* always enough */
void sj_config_values_text(const sj_config_field *field, char *text, size_t text_size);
/* One value from text; INVALID naming field, value and list. */
swa_jit_status sj_config_read_value(const sj_config_field *field, const char *text, size_t length, uint32_t *value_out);

/* The defaults of the table. */
void sj_config_init(swa_jit_config *config);

/* The caller's struct, of whatever size, as this library's: every field legal, and they fit each other; arch concrete
 * or NATIVE. INVALID; UNSUPPORTED (legal, but no kernel does it); NEWER. */
swa_jit_status sj_config_take(const swa_jit_config *given, swa_jit_config *config_out);

/* swa_jit_config_to_text and swa_jit_config_from_text. */
swa_jit_status sj_config_to_text(const swa_jit_config *given, char *text, size_t text_size);
swa_jit_status sj_config_from_text(const char *text, swa_jit_config *config_out);

bool sj_config_equal(const swa_jit_config *a, const swa_jit_config *b);
uint64_t sj_config_hash(const swa_jit_config *config);

#endif
