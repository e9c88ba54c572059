/* SPDX-License-Identifier: Apache-2.0 */
/* What the tool does once its problem is known: on a device the whole step, without one the compile alone. */
#ifndef RUN_SESSION_H
#define RUN_SESSION_H

#include "problem.h"

enum { RUN_NO_DEVICE = 3 };

/* Opens device and library, and closes them. Returns the exit status; what is wrong is printed. */
int run_session(run_problem *problem, const run_options *options);

#endif
