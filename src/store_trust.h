/* SPDX-License-Identifier: Apache-2.0 */
/* A cubin is code that will run: who may have written a folder of the store and what lies in it. Pure. */
#ifndef SJ_STORE_TRUST_H
#define SJ_STORE_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { SJ_REASON_SIZE = 512 };

/* The rules of one folder, and what it is made with. */
typedef struct sj_trust {
  uint32_t flags; /* SWA_JIT_FLAG_FOREIGN_OWNER, _GROUP_SHARED, _ALL_READ; others have no meaning here */
  uid_t user;     /* the process's effective user */
  bool is_member; /* the process is in the folder's group */
  uid_t owner;    /* of the folder, once it is trusted */
  gid_t group;
} sj_trust;

/* The rules before a folder is opened. */
sj_trust sj_trust_make(uint32_t flags);

/* Whether the folder's owner and mode are trusted; *trust_inout then knows them. False with the reason and the option
 * that would allow it. */
bool sj_trust_folder(sj_trust *trust_inout, const struct stat *status, char reason[SJ_REASON_SIZE]);

/* Whether a file of that folder is trusted; false with the reason. */
bool sj_trust_file(const sj_trust *trust, const struct stat *status, char reason[SJ_REASON_SIZE]);

/* The group that what is made must have for the others of the folder's group to trust it: where the folder does not
 * pass its own on, a file gets its maker's. False: whichever it gets. */
bool sj_trust_needs_group(const sj_trust *trust, gid_t *group_out);

/* The folder's owner, whom what root makes in it is given to: else that user could neither lock nor touch it. False:
 * it stays its maker's. */
bool sj_trust_needs_owner(const sj_trust *trust, uid_t *owner_out);

/* The modes of what is made, whatever the umask: folders, entries, lock files. */
mode_t sj_trust_folder_mode(const sj_trust *trust);
mode_t sj_trust_entry_mode(const sj_trust *trust);
mode_t sj_trust_lock_mode(const sj_trust *trust);

#endif
