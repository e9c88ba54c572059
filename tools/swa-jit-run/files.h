/* SPDX-License-Identifier: Apache-2.0 */
/* The user's tensors. Called by problem.c. */
#ifndef RUN_FILES_H
#define RUN_FILES_H

#include "npy.h"
#include "options.h"

/* Reads the files that options name, and sets the dimensions and types of options as if they had been given there.
 * False with what is wrong printed; what was read is the caller's to finish in either case. */
bool run_files_read(run_options *options, sj_npy files[RUN_NUM_INPUTS]);

#endif
