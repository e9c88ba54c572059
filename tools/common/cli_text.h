/* SPDX-License-Identifier: Apache-2.0 */
/* A command-line table as text: for --help and as a manual page. Called by cli.c. */
#ifndef SJ_CLI_TEXT_H
#define SJ_CLI_TEXT_H

#include <stdio.h>

#include "cli.h"

void sj_cli_print_help(const sj_cli *cli, FILE *file);
void sj_cli_print_mdoc(const sj_cli *cli, FILE *file); /* mdoc(7) */

#endif
