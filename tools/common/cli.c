/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_text.h"
#include "number.h"
#include "swa_jit/version.h"

sj_cli_outcome sj_cli_refuse(const sj_cli *cli, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", cli->name);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n%s --help lists the options\n", cli->name);
  va_end(arguments);
  return SJ_CLI_WRONG;
}

static bool is_named(const char *argument, const char *name, const char **value_out)
{
  size_t length = strlen(name);
  if (strncmp(argument, "--", 2) != 0 || strncmp(argument + 2, name, length) != 0) {
    return false;
  }
  argument += 2 + length;
  *value_out = *argument == '=' ? argument + 1 : NULL;
  return *argument == '=' || *argument == '\0';
}

static const sj_cli_option *find_option(const sj_cli *cli, const char *argument, const char **value_out)
{
  for (size_t i = 0; i < cli->num_options; i++) {
    const sj_cli_option *option = &cli->options[i];
    if (option->kind != SJ_CLI_HEADING && is_named(argument, option->name, value_out)) {
      return option;
    }
  }
  return NULL;
}

static sj_cli_outcome set_number(const sj_cli *cli, const sj_cli_option *option, const char *text, void *place)
{
  uint64_t number = 0;
  if (!sj_number_read(text, &number) || number < option->minimum || number > option->maximum) {
    return sj_cli_refuse(cli, "--%s is \"%s\": give a whole number from %llu to %llu", option->name, text,
                         (unsigned long long)option->minimum, (unsigned long long)option->maximum);
  }
  memcpy(place, &number, sizeof number);
  return SJ_CLI_RUN;
}

static sj_cli_outcome set_value(const sj_cli *cli, const sj_cli_option *option, const char *text, void *values)
{
  void *place = (char *)values + option->offset;
  double real = 0.0;
  switch (option->kind) {
  case SJ_CLI_NUMBER:
    return set_number(cli, option, text, place);
  case SJ_CLI_REAL:
    if (!sj_number_read_real(text, &real)) {
      return sj_cli_refuse(cli, "--%s is \"%s\": give a decimal number", option->name, text);
    }
    memcpy(place, &real, sizeof real);
    return SJ_CLI_RUN;
  case SJ_CLI_LIST:
    if (!sj_list_is_sound(text)) {
      return sj_cli_refuse(cli, "--%s is \"%s\": give values parted by commas, none of them empty", option->name, text);
    }
    break;
  default:
    if (*text == '\0') {
      return sj_cli_refuse(cli, "--%s is empty: give a %s", option->name, option->value_name);
    }
    break;
  }
  memcpy(place, &text, sizeof text);
  return SJ_CLI_RUN;
}

/* The arguments that every tool has. */
static bool show(const sj_cli *cli, const char *argument)
{
  if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
    sj_cli_print_help(cli, stdout);
  } else if (strcmp(argument, "--help-mdoc") == 0) {
    sj_cli_print_mdoc(cli, stdout);
  } else if (strcmp(argument, "--version") == 0) {
    printf("%s %s\n", cli->name, SWA_JIT_VERSION_TEXT);
  } else {
    return false;
  }
  return true;
}

/* Reads argv[*index] and its value; moves *index onto the last argument used. */
static sj_cli_outcome read_one(const sj_cli *cli, int argc, char **argv, int *index, void *values, bool *given)
{
  const char *argument = argv[*index];
  const char *value = NULL;
  const sj_cli_option *option = find_option(cli, argument, &value);
  if (option == NULL) {
    return argument[0] == '-'
               ? sj_cli_refuse(cli, "unknown option \"%s\"", argument)
               : sj_cli_refuse(cli, "unexpected argument \"%s\": every value belongs to an option", argument);
  }
  if (given[option - cli->options]) {
    return sj_cli_refuse(cli, "--%s is given twice: give it once%s", option->name,
                         option->kind == SJ_CLI_LIST ? ", its values parted by commas" : "");
  }
  given[option - cli->options] = true;
  if (option->kind == SJ_CLI_SWITCH) {
    if (value != NULL) {
      return sj_cli_refuse(cli, "--%s takes no value", option->name);
    }
    *((bool *)((char *)values + option->offset)) = true;
    return SJ_CLI_RUN;
  }
  if (value == NULL) {
    if (*index + 1 >= argc) {
      return sj_cli_refuse(cli, "--%s needs a value: --%s %s", option->name, option->name, option->value_name);
    }
    value = argv[++*index];
  }
  return set_value(cli, option, value, values);
}

sj_cli_outcome sj_cli_read(const sj_cli *cli, int argc, char **argv, void *values, bool *given_out)
{
  sj_cli_outcome outcome = SJ_CLI_RUN;
  bool *given = calloc(cli->num_options, sizeof *given);
  if (given == NULL) {
    return sj_cli_refuse(cli, "out of memory");
  }
  for (int i = 1; i < argc && outcome == SJ_CLI_RUN; i++) {
    outcome = show(cli, argv[i]) ? SJ_CLI_SHOWN : read_one(cli, argc, argv, &i, values, given);
  }
  if (given_out != NULL) {
    memcpy(given_out, given, cli->num_options * sizeof *given);
  }
  free(given);
  return outcome;
}
