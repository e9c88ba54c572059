/* SPDX-License-Identifier: Apache-2.0 */
/* Where the emulator is: a libcuda that runs PTX on the CPU (tests/emulator), which the tools use in place of a GPU. */
#ifndef SJ_EMULATOR_H
#define SJ_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>

/* Its library: of a build tree that the program is run from, else where `meson install` puts it, seen from the program.
 * False: it is not there, and message says what was tried. program: the running program's file; NULL: asked of the
 * system. */
bool sj_emulator_find(const char *program, char *path_out, size_t path_size, char *message, size_t message_size);

/* The device that the emulator presents when it is opened next in this process: "sm_80", "sm_90a" or "sm_100a". */
void sj_emulator_choose(const char *arch);

#endif
