/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of the three tools: the first byte chooses the tool, the lines behind it are the arguments. Any of
 * them are taken in silence, answered with help, or refused with a message that names the tool. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swa-jit-bench/options.h"
#include "swa-jit-run/options.h"
#include "swa-jit-warm/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { MAX_ARGUMENTS = 64 };

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

/* A stream of the process, kept in memory while a tool writes to it. */
typedef struct kept_stream {
  FILE **stream;
  FILE *real, *memory;
  char *text;
  size_t count;
} kept_stream;

static void keep(FILE **stream, kept_stream *kept_out)
{
  *kept_out = (kept_stream){.stream = stream, .real = *stream};
  kept_out->memory = open_memstream(&kept_out->text, &kept_out->count);
  demand(kept_out->memory != NULL);
  *stream = kept_out->memory;
}

static void give_back(kept_stream *kept)
{
  *kept->stream = kept->real;
  demand(fclose(kept->memory) == 0 && kept->text != NULL);
}

static sj_cli_outcome read_any(unsigned tool, int argc, char **argv, const char **name_out)
{
  static warm_options warm;
  static run_options run;
  static bench_options bench;
  switch (tool % 3) {
  case 0:
    *name_out = "swa-jit-warm: ";
    return warm_options_read(argc, argv, &warm);
  case 1:
    *name_out = "swa-jit-run: ";
    return run_options_read(argc, argv, &run);
  default:
    *name_out = "swa-jit-bench: ";
    return bench_options_read(argc, argv, &bench);
  }
}

/* Cuts text into its lines; the number of arguments, the tool's name among them. */
static int cut(char *text, char *argv[MAX_ARGUMENTS + 1])
{
  static char tool[] = "tool";
  int argc = 0;
  argv[argc++] = tool;
  for (char *line = text; line != NULL && argc < MAX_ARGUMENTS;) {
    char *newline = strchr(line, '\n');
    if (newline != NULL) {
      *newline = '\0';
    }
    if (newline != NULL || *line != '\0') {
      argv[argc++] = line;
    }
    line = newline != NULL ? newline + 1 : NULL;
  }
  argv[argc] = NULL;
  return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  char *argv[MAX_ARGUMENTS + 1];
  const char *name = NULL;
  kept_stream out, err;
  if (count == 0) {
    return 0;
  }
  char *text = malloc(count);
  demand(text != NULL);
  memcpy(text, bytes + 1, count - 1);
  text[count - 1] = '\0';
  int argc = cut(text, argv);
  keep(&stdout, &out);
  keep(&stderr, &err);
  sj_cli_outcome outcome = read_any(bytes[0], argc, argv, &name);
  give_back(&out);
  give_back(&err);
  if (outcome == SJ_CLI_WRONG) {
    demand(out.count == 0 && strncmp(err.text, name, strlen(name)) == 0 && err.text[err.count - 1] == '\n');
  } else {
    demand(err.count == 0 && (outcome == SJ_CLI_RUN || outcome == SJ_CLI_SHOWN));
    demand((out.count > 0) == (outcome == SJ_CLI_SHOWN));
  }
  free(out.text);
  free(err.text);
  free(text);
  return 0;
}
