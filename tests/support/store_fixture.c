/* SPDX-License-Identifier: Apache-2.0 */
#include "store_fixture.h"

#include <stdlib.h>

#include "temp_dir.h"

bool store_fixture_make_key(uint32_t window_size, sj_key *key_out)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.window_size = window_size;
  const char *const options[] = {"--gpu-architecture=sm_100a", NULL};
  return sj_key_make(&config, "source", options, key_out) == SWA_JIT_OK;
}

static sj_cubin_view view_of(const store_fixture *fixture, const sj_key *key)
{
  return (sj_cubin_view){
      .cubin = fixture->cubin,
      .cubin_bytes = sizeof fixture->cubin,
      .key_text = key->text,
      .key_bytes = key->text_length,
      .note = {.nvrtc_version = 13000, .num_registers = 64, .compile_ns = 1000},
  };
}

int store_fixture_setup(void **state)
{
  store_fixture *fixture = calloc(1, sizeof *fixture);
  void *folder = NULL;
  if (fixture == NULL || temp_dir_setup(&folder) != 0) {
    free(fixture);
    return -1;
  }
  fixture->folder = folder;
  fixture->path = temp_dir_join(folder, "store");
  fixture->store.dir_fd = -1;
  tiny_cubin_make(1, fixture->cubin);
  capture_log_init(&fixture->capture, SWA_JIT_LOG_DEBUG);
  *state = fixture;
  if (!store_fixture_make_key(128, &fixture->key)) {
    return -1;
  }
  fixture->view = view_of(fixture, &fixture->key);
  return store_fixture_reopen(fixture, sj_os_system(), 0) ? 0 : -1;
}

int store_fixture_teardown(void **state)
{
  store_fixture *fixture = *state;
  fixture->store.os = sj_os_system(); /* whatever a test made fail shall not fail the closing */
  sj_store_close(&fixture->store);
  sj_key_finish(&fixture->key);
  capture_log_finish(&fixture->capture);
  void *folder = fixture->folder;
  free(fixture->path);
  free(fixture);
  return temp_dir_teardown(&folder);
}

bool store_fixture_reopen(store_fixture *fixture, const sj_os *os, uint32_t flags)
{
  if (fixture->store.dir_fd >= 0) {
    fixture->store.os = sj_os_system();
    sj_store_close(&fixture->store);
  }
  if (sj_store_open(fixture->path, flags, sj_os_system(), &fixture->capture.log, &fixture->stats, &fixture->store)
      != SWA_JIT_OK) {
    return false;
  }
  fixture->store.os = os;
  return true;
}

bool store_fixture_encode(const store_fixture *fixture, const sj_key *key, void **bytes_out, size_t *count_out)
{
  sj_cubin_view view = view_of(fixture, key);
  return sj_cubin_file_encode(&view, bytes_out, count_out) == SWA_JIT_OK;
}

swa_jit_status store_fixture_publish(store_fixture *fixture, const sj_key *key)
{
  sj_cubin_view view = view_of(fixture, key);
  return sj_store_publish(&fixture->store, key, &view);
}

bool store_fixture_find(store_fixture *fixture, const sj_key *key, char reason_out[512])
{
  bool found = false;
  sj_entry entry = {0};
  if (sj_store_find(&fixture->store, key, 0, &found, &entry, reason_out, 512) != SWA_JIT_OK || !found) {
    return false;
  }
  sj_entry_finish(&entry);
  return true;
}

char *store_fixture_entry_path(const store_fixture *fixture, const sj_key *key)
{
  return temp_dir_join(fixture->path, key->file_name);
}

int store_fixture_count_open(void)
{
  return temp_dir_count("/proc/self/fd", "");
}
