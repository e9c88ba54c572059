/* SPDX-License-Identifier: Apache-2.0 */
#include "store_trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"

static bool has(const sj_trust *trust, uint32_t flag)
{
  return (trust->flags & flag) != 0;
}

sj_trust sj_trust_make(uint32_t flags)
{
  return (sj_trust){.flags = flags, .user = geteuid()};
}

/* Whether this process is in a group. */
static bool is_in_group(gid_t group)
{
  int count = getgroups(0, NULL);
  gid_t *groups = count > 0 ? calloc((size_t)count, sizeof *groups) : NULL;
  count = groups != NULL ? getgroups(count, groups) : 0;
  bool found = group == getegid();
  for (int i = 0; i < count; i++) {
    found = found || groups[i] == group;
  }
  free(groups);
  return found;
}

static bool refuse_owner(const sj_trust *trust, const struct stat *status, const char *remedy,
                         char reason[SJ_REASON_SIZE])
{
  snprintf(reason, SJ_REASON_SIZE, "it belongs to user %u, who is neither this process's user %u nor root%s",
           (unsigned)status->st_uid, (unsigned)trust->user, remedy);
  return false;
}

static bool refuse_mode(const struct stat *status, const char *remedy, char reason[SJ_REASON_SIZE])
{
  snprintf(reason, SJ_REASON_SIZE, "its mode %04o lets its group or everybody write to it%s",
           (unsigned)status->st_mode & 07777u, remedy);
  return false;
}

/* Whether the folder's group may write to the store: asked for, and a group that the process is in. */
static bool is_groups_file(const sj_trust *trust, const struct stat *status)
{
  return has(trust, SWA_JIT_FLAG_GROUP_SHARED) && trust->is_member && status->st_gid == trust->group;
}

bool sj_trust_folder(sj_trust *trust_inout, const struct stat *status, char reason[SJ_REASON_SIZE])
{
  sj_trust trust = *trust_inout;
  trust.owner = status->st_uid;
  trust.group = status->st_gid;
  trust.is_member = trust.user == 0 || is_in_group(status->st_gid);
  const bool is_own = status->st_uid == trust.user || status->st_uid == 0;
  if (!is_own && !has(&trust, SWA_JIT_FLAG_FOREIGN_OWNER) && !is_groups_file(&trust, status)) {
    return refuse_owner(&trust, status,
                        "; where that user is to be trusted with code that this process runs, allow it with "
                        "SWA_JIT_FLAG_FOREIGN_OWNER or SWA_JIT_FOREIGN_OWNER=1",
                        reason);
  }
  if ((status->st_mode & S_IWOTH) != 0) {
    return refuse_mode(status, "; chmod o-w", reason);
  }
  if ((status->st_mode & S_IWGRP) != 0 && !is_groups_file(&trust, status)) {
    return refuse_mode(status,
                       has(&trust, SWA_JIT_FLAG_GROUP_SHARED)
                           ? "; its group is none of this process's"
                           : "; chmod g-w, or share it with its group by SWA_JIT_FLAG_GROUP_SHARED or "
                             "SWA_JIT_GROUP_SHARED=1",
                       reason);
  }
  *trust_inout = trust;
  return true;
}

bool sj_trust_file(const sj_trust *trust, const struct stat *status, char reason[SJ_REASON_SIZE])
{
  const bool is_own = status->st_uid == trust->user || status->st_uid == 0;
  const bool is_folder_owners = has(trust, SWA_JIT_FLAG_FOREIGN_OWNER) && status->st_uid == trust->owner;
  if (!is_own && !is_folder_owners && !is_groups_file(trust, status)) {
    return refuse_owner(trust, status, "", reason);
  }
  if ((status->st_mode & S_IWOTH) != 0 || ((status->st_mode & S_IWGRP) != 0 && !is_groups_file(trust, status))) {
    return refuse_mode(status, "", reason);
  }
  return true;
}

bool sj_trust_needs_group(const sj_trust *trust, gid_t *group_out)
{
  *group_out = trust->group;
  return has(trust, SWA_JIT_FLAG_GROUP_SHARED) && trust->is_member;
}

bool sj_trust_needs_owner(const sj_trust *trust, uid_t *owner_out)
{
  *owner_out = trust->owner;
  return has(trust, SWA_JIT_FLAG_FOREIGN_OWNER) && trust->user == 0 && trust->owner != 0;
}

mode_t sj_trust_folder_mode(const sj_trust *trust)
{
  return has(trust, SWA_JIT_FLAG_GROUP_SHARED) ? 02770 : has(trust, SWA_JIT_FLAG_ALL_READ) ? 0755 : 0700;
}

/* A store is private by its folder: entries that a umask of 077 made unreadable would be of no use in a layer. */
mode_t sj_trust_entry_mode(const sj_trust *trust)
{
  return has(trust, SWA_JIT_FLAG_GROUP_SHARED) ? 0664 : 0644;
}

mode_t sj_trust_lock_mode(const sj_trust *trust)
{
  return has(trust, SWA_JIT_FLAG_GROUP_SHARED) ? 0660 : 0600;
}
