/* SPDX-License-Identifier: Apache-2.0 */
/* --export and --import: the store's entries as one archive (tar.h). Each returns the tool's exit status. */
#ifndef WARM_TRANSFER_H
#define WARM_TRANSFER_H

#include "options.h"
#include "progress.h"
#include "swa_jit/swa_jit.h"

/* The archive appears whole or not at all. What cannot be used is left out, and told. */
int warm_export(const warm_options *options, swa_jit_lib *lib, sj_progress *progress);

/* Nothing is added unless every file of the archive is a valid entry. */
int warm_import(const warm_options *options, swa_jit_lib *lib, sj_progress *progress);

#endif
