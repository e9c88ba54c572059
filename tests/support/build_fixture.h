/* SPDX-License-Identifier: Apache-2.0 */
/* A library object for the tests of the pipeline: its store in a test's folder, its log kept, the stand-in for libcuda
 * with one sm_90a device, and no compiler until build_fixture_fake gives it the stand-in for NVRTC. */
#ifndef SJ_BUILD_FIXTURE_H
#define SJ_BUILD_FIXTURE_H

#include "capture_log.h"
#include "failing_os.h"
#include "fake_nvrtc.h"
#include "lib.h"
#include "temp_dir.h"

#define BUILD_FIXTURE_NO_NVRTC "/nonexistent/libnvrtc.so"

typedef struct build_fixture {
  swa_jit_lib *lib;
  swa_jit_config config; /* the defaults on sm_90a */
  capture_log log;
  char *cache_dir; /* folder/store, NULL when there is no folder */
} build_fixture;

/* Removes the environment variables that swa_jit_open reads, so that no test depends on them. */
void build_fixture_clear_environment(void);

/* folder NULL: no cache_dir in the options. os NULL: the system's. more: further options, or NULL; of it only dump_dir
 * and record_path count. Fails the test when the object cannot be opened. The struct must not move afterwards. */
void build_fixture_open_in(build_fixture *fixture, const char *folder, uint32_t flags, const sj_os *os,
                           const swa_jit_options *more);
void build_fixture_open(build_fixture *fixture, const char *folder, uint32_t flags, const sj_os *os);
void build_fixture_close(build_fixture *fixture);

/* Gives the object the stand-in for NVRTC. */
void build_fixture_fake(build_fixture *fixture, fake_nvrtc_plan plan);

/* Removes every file of the store's folder. */
void build_fixture_empty_store(build_fixture *fixture);

/* Puts the entry of the default configuration on sm_90a into folder's store, by an object of its own. */
void build_fixture_warm(const char *folder);

#endif
