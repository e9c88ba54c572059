/* SPDX-License-Identifier: Apache-2.0 */
/* swa-jit-warm's command line. */
#ifndef WARM_OPTIONS_H
#define WARM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli.h"

/* The configuration's fields, each a list option; the names are the library's (swa_jit_config_to_text). */
enum {
  WARM_ARCH,
  WARM_HEAD_DIM,
  WARM_HEAD_GROUP,
  WARM_KV_TILE,
  WARM_WINDOW_SIZE,
  WARM_KV_FORMAT,
  WARM_INDEX_TYPE,
  WARM_LENS_TYPE,
  WARM_SCALE_TYPE,
  WARM_LSE,
  WARM_HEAD_DIM_V,
  WARM_SINKS,
  WARM_SOFT_CAP,
  WARM_EXTRA_SIZE,
  WARM_EXTRA_FORMAT,
  WARM_KERNEL,
  WARM_SPLITS,
  WARM_NUM_FIELDS
};
extern const char *const warm_field_names[WARM_NUM_FIELDS];
const char *warm_option_name(int field); /* "head-dim" */

typedef struct warm_options {
  const char *lists[WARM_NUM_FIELDS]; /* NULL: the field's default */
  const char *preset;
  const char *from;
  uint64_t jobs; /* 0: the online processors */
  const char *cache_dir;
  const char *nvrtc;
  const char *dump_source;
  const char *dump_ptx;
  bool dry_run;
  bool json;
  bool quiet;
} warm_options;

extern const sj_cli warm_cli;

/* Reads the command line and checks what goes together. */
sj_cli_outcome warm_options_read(int argc, char **argv, warm_options *options_out);

#endif
