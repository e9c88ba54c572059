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
  WARM_CLUSTER_SIZE,
  WARM_NUM_FIELDS
};
extern const char *const warm_field_names[WARM_NUM_FIELDS];
const char *warm_option_name(int field); /* "head-dim" */

/* What the tool is asked to do. The first four are about configurations, the others about what the store holds. */
typedef enum warm_command {
  WARM_COMPILE = 0,
  WARM_DRY_RUN,
  WARM_CHECK,
  WARM_EXPLAIN,
  WARM_LIST,
  WARM_SHOW,
  WARM_VERIFY,
  WARM_PRUNE,
  WARM_EXPORT,
  WARM_IMPORT,
  WARM_NUM_COMMANDS
} warm_command;
extern const char *const warm_command_names[WARM_NUM_COMMANDS]; /* "compile"; of the others the option's, "dry-run" */

typedef struct warm_options {
  warm_command command;
  const char *lists[WARM_NUM_FIELDS]; /* NULL: the field's default */
  const char *preset;
  const char *from;
  uint64_t jobs; /* 0: the online processors */
  const char *cache_dir;
  const char *nvrtc;
  const char *dump_source;
  const char *dump_ptx;
  bool keep_ptx;
  bool dry_run; /* of --prune and --import also */
  bool check, explain, list, verify, prune;
  const char *show;
  const char *export_to, *import_from;
  bool set_aside; /* --verify */
  bool outdated;  /* --prune: entries that this library does not ask for */
  const char *max_bytes_text, *max_age_text;
  uint64_t max_bytes; /* --prune: UINT64_MAX: no limit */
  uint64_t max_age_s; /* likewise */
  bool json;
  bool quiet;
} warm_options;

/* The tool's exit statuses; what they mean stands in warm_cli. Ended by a signal: 128 and its number. */
enum { WARM_EXIT_GOOD = 0, WARM_EXIT_FAILED = 1, WARM_EXIT_USAGE = 2, WARM_EXIT_ABSENT = 3, WARM_EXIT_SIGNAL = 128 };

extern const sj_cli warm_cli;

/* Reads the command line and checks what goes together. */
sj_cli_outcome warm_options_read(int argc, char **argv, warm_options *options_out);

#endif
