/* SPDX-License-Identifier: Apache-2.0 */
#include "build_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "build.h"
#include "recording_cuda.h"
#include "test_main.h"

void build_fixture_clear_environment(void)
{
  static const char *const names[] = {"SWA_JIT_CACHE_DIR",
                                      "SWA_JIT_NVRTC",
                                      "SWA_JIT_CUDA",
                                      "SWA_JIT_DUMP_DIR",
                                      "SWA_JIT_RECORD",
                                      "XDG_CACHE_HOME",
                                      "HOME",
                                      "SWA_JIT_NO_COMPILE",
                                      "SWA_JIT_READ_ONLY",
                                      "VIRTUAL_ENV",
                                      "SWA_JIT_CACHE_PATH",
                                      "SWA_JIT_FOREIGN_OWNER",
                                      "SWA_JIT_GROUP_SHARED",
                                      "SWA_JIT_CACHE_LIMIT",
                                      "SWA_JIT_KEEP_PTX",
                                      "SWA_JIT_USE_PTX"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    unsetenv(names[i]);
  }
}

void build_fixture_open_in(build_fixture *fixture, const char *folder, uint32_t flags, const sj_os *os,
                           const swa_jit_options *more)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  const recording_cuda *cuda = recording_cuda_open(CUDA_RECORDING);
  assert_non_null(cuda);
  cuda->reset();
  *fixture = (build_fixture){.config = SWA_JIT_CONFIG_INIT};
  fixture->config.arch = SWA_JIT_ARCH_SM_90A;
  fixture->cache_dir = folder != NULL ? temp_dir_join(folder, "store") : NULL;
  capture_log_init(&fixture->log, SWA_JIT_LOG_DEBUG);
  options.flags = flags;
  options.log = capture_log_write;
  options.log_data = &fixture->log;
  options.log_level = SWA_JIT_LOG_DEBUG;
  options.cache_dir = fixture->cache_dir;
  options.nvrtc_path = BUILD_FIXTURE_NO_NVRTC;
  options.cuda_path = CUDA_RECORDING;
  options.dump_dir = more != NULL ? more->dump_dir : NULL;
  options.record_path = more != NULL ? more->record_path : NULL;
  assert_int_equal(sj_lib_open(&options, os != NULL ? os : sj_os_system(), &fixture->lib), SWA_JIT_OK);
}

void build_fixture_open(build_fixture *fixture, const char *folder, uint32_t flags, const sj_os *os)
{
  build_fixture_open_in(fixture, folder, flags, os, NULL);
}

void build_fixture_close(build_fixture *fixture)
{
  sj_lib_close(fixture->lib);
  capture_log_finish(&fixture->log);
  free(fixture->cache_dir);
}

void build_fixture_fake(build_fixture *fixture, fake_nvrtc_plan plan)
{
  if (fixture->lib->nvrtc == NULL) {
    fixture->lib->nvrtc = calloc(1, sizeof *fixture->lib->nvrtc);
    assert_non_null(fixture->lib->nvrtc);
  }
  fixture->lib->nvrtc->api = fake_nvrtc_start(plan);
}

void build_fixture_empty_store(build_fixture *fixture)
{
  for (char *path = temp_dir_find(fixture->cache_dir, ""); path != NULL; path = temp_dir_find(fixture->cache_dir, "")) {
    assert_int_equal(unlink(path), 0);
    free(path);
  }
}

void build_fixture_warm(const char *folder)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open(&fixture, folder, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(fixture.lib->stats.store_writes, 1);
  build_fixture_close(&fixture);
}
