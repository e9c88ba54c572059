/* SPDX-License-Identifier: Apache-2.0 */
/* A tool's command line as one table, from which the arguments are read, --help is printed and the manual page is
 * made (--help-mdoc; the committed page is compared with it by a test). */
#ifndef SJ_CLI_H
#define SJ_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sj_cli_kind {
  SJ_CLI_HEADING = 0, /* no option: a heading, in help */
  SJ_CLI_SWITCH,      /* bool */
  SJ_CLI_NUMBER,      /* uint64_t from minimum to maximum */
  SJ_CLI_REAL,        /* double */
  SJ_CLI_TEXT,        /* const char *, not empty; points into argv */
  SJ_CLI_LIST         /* const char *, as TEXT; elements parted by commas */
} sj_cli_kind;

typedef struct sj_cli_option {
  sj_cli_kind kind;
  const char *name;       /* "head-dim", without the dashes */
  const char *value_name; /* "LIST"; NULL for a switch */
  size_t offset;          /* of the value in the tool's options struct */
  uint64_t minimum, maximum;
  const char *help; /* what it does and its default; no capital, no full stop */
} sj_cli_option;

typedef struct sj_cli_exit {
  int status;
  const char *meaning;
} sj_cli_exit;

typedef struct sj_cli {
  const char *name;               /* "swa-jit-warm" */
  const char *purpose;            /* one line */
  const char *date;               /* of the manual page, "December 1, 2026" */
  const char *const *description; /* paragraphs, ended by NULL */
  const char *const *examples;    /* command lines, ended by NULL */
  const sj_cli_option *options;
  size_t num_options;
  const sj_cli_exit *exits;
  size_t num_exits;
} sj_cli;

typedef enum sj_cli_outcome {
  SJ_CLI_RUN = 0,   /* the values are filled in */
  SJ_CLI_SHOWN = 1, /* help or version was printed: end with status 0 */
  SJ_CLI_WRONG = 2  /* what is wrong was printed: end with status 2 */
} sj_cli_outcome;

/* Reads the arguments over the defaults that *values holds. --help, --help-mdoc and --version are understood
 * besides the table's. An option stands at most once, as "--name value" or "--name=value". given_out: one bool an
 * option, true where the command line named it; or NULL. */
sj_cli_outcome sj_cli_read(const sj_cli *cli, int argc, char **argv, void *values, bool *given_out);

/* Prints "NAME: <what is wrong>" and where help is; returns SJ_CLI_WRONG. For rules between options. */
sj_cli_outcome sj_cli_refuse(const sj_cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
