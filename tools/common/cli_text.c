/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_text.h"

#include <string.h>

enum { WIDTH = 96, INDENT = 28 };

static const sj_cli_option common_options[] = {
    {.kind = SJ_CLI_HEADING, .help = "Help"},
    {.kind = SJ_CLI_SWITCH, .name = "help", .help = "print this text and end"},
    {.kind = SJ_CLI_SWITCH, .name = "help-mdoc", .help = "print the manual page in the mdoc(7) language and end"},
    {.kind = SJ_CLI_SWITCH, .name = "version", .help = "print the version and end"},
};
enum { NUM_COMMON = sizeof common_options / sizeof common_options[0] };

typedef void (*option_printer)(const sj_cli_option *option, FILE *file);

static void print_options(const sj_cli *cli, option_printer print, FILE *file)
{
  for (size_t i = 0; i < cli->num_options; i++) {
    print(&cli->options[i], file);
  }
  for (size_t i = 0; i < NUM_COMMON; i++) {
    print(&common_options[i], file);
  }
}

/* Prints words up to WIDTH; the first line begins at column, the others at indent. */
static void print_wrapped(const char *text, int column, int indent, FILE *file)
{
  while (*text != '\0') {
    int length = (int)strcspn(text, " ");
    if (column > indent && column + 1 + length > WIDTH) {
      fprintf(file, "\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      fputc(' ', file);
      column++;
    }
    fprintf(file, "%.*s", length, text);
    column += length;
    text += length;
    text += strspn(text, " ");
  }
  fputc('\n', file);
}

static void print_help_option(const sj_cli_option *option, FILE *file)
{
  if (option->kind == SJ_CLI_HEADING) {
    fprintf(file, "\n%s:\n", option->help);
    return;
  }
  int column = fprintf(file, "  --%s%s%s", option->name, option->value_name != NULL ? " " : "",
                       option->value_name != NULL ? option->value_name : "");
  if (column > INDENT - 2) {
    fputc('\n', file);
    column = 0;
  }
  fprintf(file, "%*s", INDENT - column, "");
  print_wrapped(option->help, INDENT, INDENT, file);
}

void sj_cli_print_help(const sj_cli *cli, FILE *file)
{
  fprintf(file, "Usage: %s [option]...\n%s: %s\n", cli->name, cli->name, cli->purpose);
  print_options(cli, print_help_option, file);
  fputs("\nExit status:\n", file);
  for (size_t i = 0; i < cli->num_exits; i++) {
    int column = fprintf(file, "  %d  ", cli->exits[i].status);
    print_wrapped(cli->exits[i].meaning, column, column, file);
  }
}

/* Text of a line that is no macro call: a backslash would begin an escape, a leading dot or quote a macro. */
static void print_mdoc_text(const char *text, FILE *file)
{
  if (*text == '.' || *text == '\'') {
    fputs("\\&", file);
  }
  for (; *text != '\0'; text++) {
    if (*text == '\\') {
      fputs("\\e", file);
    } else if (*text == '-') {
      fputs("\\-", file);
    } else {
      fputc(*text, file);
    }
  }
  fputc('\n', file);
}

static void print_mdoc_option(const sj_cli_option *option, FILE *file)
{
  if (option->kind == SJ_CLI_HEADING) {
    return;
  }
  fputs(".It Fl \\-", file);
  for (const char *c = option->name; *c != '\0'; c++) {
    fputs(*c == '-' ? "\\-" : (char[]){*c, '\0'}, file);
  }
  if (option->value_name != NULL) {
    fprintf(file, " Ar %s", option->value_name);
  }
  fputc('\n', file);
  print_mdoc_text(option->help, file);
}

static void print_mdoc_exits(const sj_cli *cli, FILE *file)
{
  fputs(".Sh EXIT STATUS\n.Bl -tag -width 3n\n", file);
  for (size_t i = 0; i < cli->num_exits; i++) {
    fprintf(file, ".It %d\n", cli->exits[i].status);
    print_mdoc_text(cli->exits[i].meaning, file);
  }
  fputs(".El\n", file);
}

void sj_cli_print_mdoc(const sj_cli *cli, FILE *file)
{
  fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n", file);
  fprintf(file, ".\\\" Made by %s --help-mdoc; a test compares the two.\n", cli->name);
  fprintf(file, ".Dd %s\n.Dt ", cli->date);
  for (const char *c = cli->name; *c != '\0'; c++) {
    fputc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, file);
  }
  fprintf(file, " 1\n.Os\n.Sh NAME\n.Nm %s\n.Nd ", cli->name);
  print_mdoc_text(cli->purpose, file);
  fputs(".Sh SYNOPSIS\n.Nm\n.Op Ar option ...\n.Sh DESCRIPTION\n", file);
  for (size_t i = 0; cli->description[i] != NULL; i++) {
    fputs(i > 0 ? ".Pp\n" : "", file);
    print_mdoc_text(cli->description[i], file);
  }
  fputs(".Sh OPTIONS\n.Bl -tag -width 4n\n", file);
  print_options(cli, print_mdoc_option, file);
  fputs(".El\n", file);
  print_mdoc_exits(cli, file);
  fputs(".Sh EXAMPLES\n.Bd -literal -offset indent\n", file);
  for (size_t i = 0; cli->examples[i] != NULL; i++) {
    print_mdoc_text(cli->examples[i], file);
  }
  fputs(".Ed\n", file);
}
