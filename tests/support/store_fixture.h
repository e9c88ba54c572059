/* SPDX-License-Identifier: Apache-2.0 */
/* An open store in a temporary folder, with a key and something to publish under it. */
#ifndef SJ_STORE_FIXTURE_H
#define SJ_STORE_FIXTURE_H

#include "capture_log.h"
#include "store.h"
#include "tiny_cubin.h"

typedef struct store_fixture {
  char *folder; /* the test's own */
  char *path;   /* of the store, in it */
  capture_log capture;
  sj_stats stats;
  sj_store store;
  sj_key key; /* window_size 128 */
  uint8_t cubin[TINY_CUBIN_BYTES];
  sj_cubin_view view; /* of key: cubin, made by NVRTC 13.0 */
} store_fixture;

/* For cmocka_unit_test_setup_teardown: *state is the fixture. */
int store_fixture_setup(void **state);
int store_fixture_teardown(void **state);

/* Opens the store anew with another system-call table or flags; counters and log go on. */
bool store_fixture_reopen(store_fixture *fixture, const sj_os *os, uint32_t flags);

/* The key of the default configuration but for window_size, and the bytes of an entry of it (malloc'd). */
bool store_fixture_make_key(uint32_t window_size, sj_key *key_out);
bool store_fixture_encode(const store_fixture *fixture, const sj_key *key, void **bytes_out, size_t *count_out);

/* Publishes an entry of key; finds one and throws it away. */
swa_jit_status store_fixture_publish(store_fixture *fixture, const sj_key *key);
bool store_fixture_find(store_fixture *fixture, const sj_key *key, char reason_out[512]);

/* "store/name of key's entry", malloc'd. */
char *store_fixture_entry_path(const store_fixture *fixture, const sj_key *key);

/* How many descriptors this process has open. */
int store_fixture_count_open(void);

#endif
