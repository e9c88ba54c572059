/* SPDX-License-Identifier: Apache-2.0 */
/* The store's files as the public calls show, add and remove them (swa_jit.h, section 11). */
#ifndef SJ_INVENTORY_H
#define SJ_INVENTORY_H

#include "lib.h"

/* swa_jit_store_each, swa_jit_entry_check, swa_jit_store_add, swa_jit_store_remove; pointers are not NULL. */
swa_jit_status sj_inventory_each(swa_jit_lib *lib, uint32_t flags, swa_jit_entry_fn call, void *entry_data);
swa_jit_status sj_inventory_check(const char *name, const void *bytes, size_t num_bytes);
swa_jit_status sj_inventory_add(swa_jit_lib *lib, const char *name, const void *bytes, size_t num_bytes,
                                bool *added_out);
swa_jit_status sj_inventory_remove(swa_jit_lib *lib, const char *name, bool *removed_out);

#endif
