/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of the store: opened step by step, made where it is missing, and trusted before it is used. */
#ifndef SJ_STORE_FOLDER_H
#define SJ_STORE_FOLDER_H

#include "os.h"
#include "status.h"
#include "store_trust.h"

/* The descriptor of the folder at path, which is made with its parents when it is missing and may_create. Parents may
 * be links, the last name may not. trust_inout: the rules; then what the folder is. STORE_ERROR with path, reason and
 * remedy. */
swa_jit_status sj_folder_open(const sj_os *os, const char *path, bool may_create, sj_trust *trust_inout, int *fd_out);

/* Whether the path leads nowhere, as the last part or one before it is not there. */
bool sj_folder_is_missing(const sj_os *os, const char *path);

/* The same for a name in an open folder, of the same trust; -1 with errno (EPERM: not trusted). */
int sj_folder_open_in(const sj_os *os, int dir_fd, const char *name, const sj_trust *trust);

#endif
