/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline up to the cubin, against a stand-in for NVRTC. Loading: test_build_kernel.c. */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_fixture.h"
#include "test_main.h"

enum { NUM_THREADS = 8, ERROR_COMPILATION = 6, ERROR_BUILTINS = 7 };

static void describe_without_compiler_makes_plan_source_and_key(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *again = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_build_describe(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->arch->id, SWA_JIT_ARCH_SM_90A);
  assert_true(kernel->plan.num_warps > 0);
  assert_true(strlen(kernel->source) > 0);
  assert_non_null(strstr(kernel->key.text, "head_dim"));
  assert_non_null(strstr(kernel->key.text, "--std=c++17"));
  assert_int_equal(sj_build_describe(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
  assert_ptr_equal(again, kernel);
  build_fixture_close(&fixture);
}

static void describe_native_is_the_devices_architecture(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *concrete = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_build_describe(fixture.lib, &fixture.config, &concrete), SWA_JIT_OK);
  fixture.config.arch = SWA_JIT_ARCH_NATIVE;
  assert_int_equal(sj_build_describe(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_ptr_equal(kernel, concrete);
  build_fixture_close(&fixture);
}

static void describe_illegal_value_is_invalid(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  fixture.config.head_dim = 100;
  assert_int_equal(sj_build_describe(fixture.lib, &fixture.config, &kernel), SWA_JIT_INVALID);
  assert_non_null(strstr(sj_message(), "100"));
  assert_null(kernel);
  build_fixture_close(&fixture);
}

static void cubin_first_time_is_compiled_and_published(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  size_t cubin_bytes = 0;
  const void *cubin = fake_nvrtc_cubin(&cubin_bytes);
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->cubin_bytes, cubin_bytes);
  assert_memory_equal(kernel->cubin, cubin, cubin_bytes);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_int_equal(kernel->info.store_status, SWA_JIT_OK);
  assert_int_equal(kernel->info.arch, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(kernel->info.num_registers, FAKE_NVRTC_REGISTERS);
  assert_int_equal(kernel->info.spill_store_bytes, FAKE_NVRTC_SPILL_STORES);
  assert_int_equal(kernel->info.spill_load_bytes, FAKE_NVRTC_SPILL_LOADS);
  assert_int_equal(kernel->info.nvrtc_version, 13000);
  assert_int_equal(kernel->info.num_threads, kernel->plan.num_warps * 32);
  assert_int_equal(kernel->info.shared_memory_bytes, kernel->plan.shared_memory_bytes);
  assert_true(kernel->info.get_ns > 0);
  assert_true(strlen(kernel->info.miss_reason) > 0);
  assert_non_null(strstr(kernel->log_text, "Used 40 registers"));
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(fixture.lib->stats.store_misses, 1);
  assert_int_equal(fixture.lib->stats.store_writes, 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, kernel->key.file_name), 1);
  build_fixture_close(&fixture);
}

static void cubin_held_is_neither_compiled_nor_read_again(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  struct swa_jit_kernel *again = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &again), SWA_JIT_OK);
  assert_ptr_equal(again, kernel);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(fixture.lib->stats.store_misses, 1);
  assert_int_equal(fixture.lib->stats.store_hits, 0);
  build_fixture_close(&fixture);
}

static void cubin_stored_is_a_hit_without_a_compiler(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_STORE);
  assert_int_equal(kernel->info.num_registers, FAKE_NVRTC_REGISTERS);
  assert_int_equal(kernel->info.nvrtc_version, 13000);
  assert_string_equal(kernel->info.miss_reason, "");
  assert_null(kernel->log_text);
  assert_int_equal(fixture.lib->stats.store_hits, 1);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  assert_null(fixture.lib->nvrtc);
  build_fixture_close(&fixture);
}

static void cubin_no_compile_names_entry_flag_and_reason(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "SWA_JIT_NO_COMPILE"));
  assert_non_null(strstr(sj_message(), "swa_decode-sm_90a-hd512"));
  assert_non_null(strstr(sj_message(), fixture.cache_dir));
  assert_non_null(strstr(sj_message(), "echo 'arch=sm_90a head_dim=512 "));
  assert_non_null(strstr(sj_message(), "| swa-jit-warm --from - --cache-dir '"));
  assert_null(kernel);
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_ANY), 0);
  build_fixture_close(&fixture);
}

static void cubin_no_compiler_says_what_the_store_lacks_too(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "swa_decode-sm_90a-hd512"));
  assert_non_null(strstr(sj_message(), BUILD_FIXTURE_NO_NVRTC));
  build_fixture_close(&fixture);
}

static void cubin_wrong_source_is_remembered(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.call = FAKE_NVRTC_COMPILE_PROGRAM,
                                                 .nth = 1,
                                                 .result = ERROR_COMPILATION,
                                                 .log = "x(1): error: a reason\n"});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_COMPILE_FAILED);
  assert_non_null(strstr(sj_message(), "a reason"));
  assert_null(strstr(sj_message(), "remembered"));
  for (int i = 0; i < 2; i++) {
    sj_fail(SWA_JIT_INVALID, "other");
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_COMPILE_FAILED);
    assert_non_null(strstr(sj_message(), "a reason"));
    assert_non_null(strstr(sj_message(), "remembered"));
  }
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_COMPILE_FAILED);
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_COMPILE_PROGRAM), 1);
  assert_int_equal(fixture.lib->stats.compile_failures, 1);
  assert_int_equal(fixture.lib->stats.compiles, 0);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 0);
  build_fixture_close(&fixture);
}

static void cubin_broken_compiler_is_tried_again(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture,
                     (fake_nvrtc_plan){.call = FAKE_NVRTC_COMPILE_PROGRAM, .nth = 1, .result = ERROR_BUILTINS});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(fixture.lib->stats.compile_failures, 1);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  build_fixture_close(&fixture);
}

/* Each call of NVRTC in turn: either it does not matter, or the next call of ours succeeds. */
static void cubin_each_nvrtc_call_failing_is_cured_by_the_next_call(void **state)
{
  for (unsigned nth = 1;; nth++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_STORE, NULL);
    build_fixture_fake(&fixture, (fake_nvrtc_plan){.nth = nth, .result = 11});
    swa_jit_status status = sj_build_cubin(fixture.lib, &fixture.config, &kernel);
    assert_true(status == SWA_JIT_OK || status == SWA_JIT_NO_COMPILER);
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_non_null(kernel->cubin);
    assert_int_equal(fake_nvrtc_num_programs(), 0);
    build_fixture_close(&fixture);
    if (!fake_nvrtc_has_failed()) {
      assert_int_equal(status, SWA_JIT_OK);
      break;
    }
  }
}

typedef struct asker {
  build_fixture *fixture;
  struct swa_jit_kernel *kernel;
  swa_jit_status status;
} asker;

static void *ask_cubin(void *argument)
{
  asker *self = argument;
  self->status = sj_build_cubin(self->fixture->lib, &self->fixture->config, &self->kernel);
  return NULL;
}

static void cubin_many_threads_compile_once(void **state)
{
  build_fixture fixture;
  pthread_t threads[NUM_THREADS];
  asker askers[NUM_THREADS];
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.compile_ms = 50});
  for (int i = 0; i < NUM_THREADS; i++) {
    askers[i] = (asker){.fixture = &fixture};
    assert_int_equal(pthread_create(&threads[i], NULL, ask_cubin, &askers[i]), 0);
  }
  for (int i = 0; i < NUM_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(askers[i].status, SWA_JIT_OK);
    assert_ptr_equal(askers[i].kernel, askers[0].kernel);
  }
  assert_int_equal(fake_nvrtc_count(FAKE_NVRTC_COMPILE_PROGRAM), 1);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  build_fixture_close(&fixture);
}

/* Each system call from the first on fails as on a full disk: the cubin is given every time, and the loss is told. */
static void cubin_each_system_call_failing_is_given_all_the_same(void **state)
{
  unsigned num_losses = 0;
  for (unsigned nth = 1;; nth++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    failing_os_start((failing_os_plan){0});
    build_fixture_open(&fixture, *state, 0, failing_os_start((failing_os_plan){0}));
    build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
    sj_fail(SWA_JIT_INVALID, "before");
    failing_os_start((failing_os_plan){.nth = nth, .error = ENOSPC});
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    bool has_failed = failing_os_has_failed();
    failing_os_start((failing_os_plan){0});
    assert_string_equal(sj_message(), "before");
    bool is_lost = kernel->info.store_status != SWA_JIT_OK;
    assert_int_equal(fixture.lib->stats.store_write_failures, is_lost);
    assert_int_equal(fixture.lib->stats.store_writes, !is_lost);
    if (is_lost) {
      assert_int_equal(kernel->info.store_status, SWA_JIT_STORE_ERROR);
      assert_true(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN) > 0);
      assert_int_equal(temp_dir_count(fixture.cache_dir, ".cubin"), 0);
      num_losses++;
    }
    build_fixture_empty_store(&fixture);
    build_fixture_close(&fixture);
    if (!has_failed) {
      assert_false(is_lost);
      break;
    }
  }
  assert_true(num_losses >= 3); /* at least create, write, sync and rename count */
}

static void cubin_unusable_default_folder_is_memory_only_and_told(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *path = temp_dir_join(*state, "file");
  assert_true(temp_dir_write(path, "x", 1));
  assert_int_equal(setenv("SWA_JIT_CACHE_DIR", path, 1), 0);
  sj_fail(SWA_JIT_INVALID, "before");
  build_fixture_open_in(&fixture, NULL, 0, NULL, NULL);
  assert_int_equal(unsetenv("SWA_JIT_CACHE_DIR"), 0);
  assert_string_equal(sj_message(), "before");
  assert_true(capture_log_has(&fixture.log, path));
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(kernel->info.store_status, SWA_JIT_STORE_ERROR);
  assert_int_equal(fixture.lib->stats.store_write_failures, 1);
  build_fixture_close(&fixture);
  free(path);
}

static void cubin_read_only_or_no_store_writes_nothing_and_is_well(void **state)
{
  static const uint32_t flags[] = {SWA_JIT_FLAG_READ_ONLY, SWA_JIT_FLAG_NO_STORE};
  char *cache_dir = temp_dir_join(*state, "store");
  assert_int_equal(mkdir(cache_dir, 0700), 0);
  free(cache_dir);
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    build_fixture_open(&fixture, *state, flags[i], NULL);
    build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_int_equal(kernel->info.store_status, SWA_JIT_OK);
    assert_int_equal(fixture.lib->stats.store_writes, 0);
    assert_int_equal(fixture.lib->stats.store_write_failures, 0);
    assert_int_equal(temp_dir_count(fixture.cache_dir, ""), 0);
    build_fixture_close(&fixture);
  }
}

static void cubin_corrupted_entry_is_set_aside_and_rebuilt(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *bytes = NULL;
  size_t count = 0;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  char *entry = temp_dir_find(fixture.cache_dir, ".cubin");
  assert_true(temp_dir_read(entry, &bytes, &count));
  bytes[count / 2] ^= 1;
  assert_true(temp_dir_write(entry, bytes, count));
  sj_fail(SWA_JIT_INVALID, "before");
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(sj_message(), "before");
  assert_int_equal(kernel->info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_int_equal(fixture.lib->stats.store_set_aside, 1);
  assert_int_equal(fixture.lib->stats.store_writes, 1);
  assert_int_equal(temp_dir_count(fixture.cache_dir, ".bad-"), 1);
  free(entry);
  free(bytes);
  build_fixture_close(&fixture);
}

static void cubin_same_compiler_takes_only_its_own_version(void **state)
{
  static const uint32_t versions[] = {13000, 12090};
  build_fixture_warm(*state);
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
    build_fixture fixture;
    struct swa_jit_kernel *kernel = NULL;
    build_fixture_open(&fixture, *state, SWA_JIT_FLAG_SAME_COMPILER, NULL);
    build_fixture_fake(&fixture, (fake_nvrtc_plan){.version_code = versions[i]});
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_int_equal(kernel->info.nvrtc_version, versions[i]);
    assert_int_equal(kernel->info.origin, i == 0 ? SWA_JIT_ORIGIN_STORE : SWA_JIT_ORIGIN_COMPILED);
    assert_int_equal(kernel->info.miss_reason[0] != '\0', i == 1);
    build_fixture_close(&fixture);
  }
}

static void cubin_same_compiler_without_compiler_is_no_compiler(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_SAME_COMPILER, NULL);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  build_fixture_close(&fixture);
}

static void cubin_dump_folder_gets_source_log_ptx_and_cubin(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *dump_dir = temp_dir_join(*state, "dump");
  char *bytes = NULL;
  size_t count = 0;
  assert_int_equal(mkdir(dump_dir, 0700), 0);
  build_fixture_open_in(&fixture, *state, 0, NULL, &(swa_jit_options){.dump_dir = dump_dir});
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(temp_dir_count(dump_dir, ""), 4);
  assert_int_equal(temp_dir_count(dump_dir, ".cu"), 2); /* .cu and .cubin */
  assert_int_equal(temp_dir_count(dump_dir, ".log"), 1);
  char *ptx = temp_dir_find(dump_dir, ".ptx");
  assert_true(temp_dir_read(ptx, &bytes, &count));
  assert_string_equal(bytes, FAKE_NVRTC_PTX);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(fixture.lib->stats.compiles, 1); /* the dump's PTX serves */
  free(bytes);
  free(ptx);
  free(dump_dir);
  build_fixture_close(&fixture);
}

static void cubin_failed_compile_leaves_source_and_log_in_the_dump_folder(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *dump_dir = temp_dir_join(*state, "dump");
  assert_int_equal(mkdir(dump_dir, 0700), 0);
  build_fixture_open_in(&fixture, *state, 0, NULL, &(swa_jit_options){.dump_dir = dump_dir});
  build_fixture_fake(&fixture,
                     (fake_nvrtc_plan){.call = FAKE_NVRTC_COMPILE_PROGRAM, .nth = 1, .result = ERROR_COMPILATION});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_COMPILE_FAILED);
  assert_int_equal(temp_dir_count(dump_dir, ""), 2);
  assert_int_equal(temp_dir_count(dump_dir, ".cu"), 1);
  assert_int_equal(temp_dir_count(dump_dir, ".log"), 1);
  free(dump_dir);
  build_fixture_close(&fixture);
}

static void cubin_ptx_not_had_is_a_warning_and_the_other_dumps_stand(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *dump_dir = temp_dir_join(*state, "dump");
  assert_int_equal(mkdir(dump_dir, 0700), 0);
  build_fixture_open_in(&fixture, *state, 0, NULL, &(swa_jit_options){.dump_dir = dump_dir});
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.call = FAKE_NVRTC_GET_PTX, .nth = 1, .result = 11});
  sj_fail(SWA_JIT_INVALID, "before");
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(sj_message(), "before");
  assert_true(fake_nvrtc_has_failed());
  assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), 1);
  assert_int_equal(temp_dir_count(dump_dir, ""), 3);
  assert_int_equal(temp_dir_count(dump_dir, ".ptx"), 0);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  assert_int_equal(fixture.lib->stats.compile_failures, 0);
  assert_int_equal(fixture.lib->stats.store_writes, 1);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK); /* compiled afresh */
  assert_string_equal(kernel->ptx, FAKE_NVRTC_PTX);
  free(dump_dir);
  build_fixture_close(&fixture);
}

static void cubin_missing_dump_folder_is_warnings_only(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *dump_dir = temp_dir_join(*state, "absent");
  build_fixture_open_in(&fixture, *state, 0, NULL, &(swa_jit_options){.dump_dir = dump_dir});
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(capture_log_count(&fixture.log, SWA_JIT_LOG_WARN), 4);
  free(dump_dir);
  build_fixture_close(&fixture);
}

static void cubin_asked_for_is_recorded_once(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  char *path = temp_dir_join(*state, "record");
  char *bytes = NULL;
  size_t count = 0;
  build_fixture_open_in(&fixture, *state, 0, NULL, &(swa_jit_options){.record_path = path});
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_describe(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(access(path, F_OK), -1);
  for (uint32_t window = 128; window <= 256; window += 128) {
    fixture.config.window_size = window;
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
    assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  }
  assert_true(temp_dir_read(path, &bytes, &count));
  unsigned num_lines = 0;
  for (const char *c = bytes; *c != '\0'; c++) {
    num_lines += *c == '\n';
  }
  assert_int_equal(num_lines, 2);
  assert_non_null(strstr(bytes, "window_size=128"));
  assert_non_null(strstr(bytes, "window_size=256"));
  free(bytes);
  free(path);
  build_fixture_close(&fixture);
}

static void ptx_is_compiled_once_and_needs_a_compiler(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_warm(*state);
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_string_equal(kernel->ptx, FAKE_NVRTC_PTX);
  assert_int_equal(fixture.lib->stats.compiles, 1);
  build_fixture_close(&fixture);
  build_fixture_open(&fixture, *state, SWA_JIT_FLAG_NO_COMPILE, NULL);
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "PTX"));
  assert_null(strstr(sj_message(), "swa-jit-warm")); /* it would not help: the entry is there */
  build_fixture_close(&fixture);
}

static void ptx_asked_for_and_not_had_is_an_error_also_with_a_dump_folder(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  build_fixture_open_in(&fixture, *state, 0, NULL, &(swa_jit_options){.dump_dir = *state});
  build_fixture_fake(&fixture, (fake_nvrtc_plan){.call = FAKE_NVRTC_GET_PTX_SIZE, .nth = 1, .result = 11});
  assert_int_equal(sj_build_ptx(fixture.lib, &fixture.config, &kernel), SWA_JIT_NO_COMPILER);
  assert_non_null(strstr(sj_message(), "nvrtcGetPTX failed with 11"));
  assert_null(kernel);
  build_fixture_close(&fixture);
}

static void is_stored_before_and_after_a_compile_is_told(void **state)
{
  build_fixture fixture;
  struct swa_jit_kernel *kernel = NULL;
  bool is_held = true;
  build_fixture_open(&fixture, *state, 0, NULL);
  build_fixture_fake(&fixture, (fake_nvrtc_plan){0});
  assert_int_equal(sj_build_is_stored(fixture.lib, &fixture.config, &kernel, &is_held), SWA_JIT_OK);
  assert_false(is_held);
  assert_int_equal(sj_build_cubin(fixture.lib, &fixture.config, &kernel), SWA_JIT_OK);
  assert_int_equal(sj_build_is_stored(fixture.lib, &fixture.config, &kernel, &is_held), SWA_JIT_OK);
  assert_true(is_held);
  assert_int_equal(fixture.lib->stats.store_hits, 0); /* looking counts nothing */
  build_fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  build_fixture_clear_environment();
  const struct CMUnitTest tests[] = {
      TEST(describe_without_compiler_makes_plan_source_and_key),
      TEST(describe_native_is_the_devices_architecture),
      TEST(describe_illegal_value_is_invalid),
      TEST(cubin_first_time_is_compiled_and_published),
      TEST(cubin_held_is_neither_compiled_nor_read_again),
      TEST(cubin_stored_is_a_hit_without_a_compiler),
      TEST(cubin_no_compile_names_entry_flag_and_reason),
      TEST(cubin_no_compiler_says_what_the_store_lacks_too),
      TEST(cubin_wrong_source_is_remembered),
      TEST(cubin_broken_compiler_is_tried_again),
      TEST(cubin_each_nvrtc_call_failing_is_cured_by_the_next_call),
      TEST(cubin_many_threads_compile_once),
      TEST(cubin_each_system_call_failing_is_given_all_the_same),
      TEST(cubin_unusable_default_folder_is_memory_only_and_told),
      TEST(cubin_read_only_or_no_store_writes_nothing_and_is_well),
      TEST(cubin_corrupted_entry_is_set_aside_and_rebuilt),
      TEST(cubin_same_compiler_takes_only_its_own_version),
      TEST(cubin_same_compiler_without_compiler_is_no_compiler),
      TEST(cubin_dump_folder_gets_source_log_ptx_and_cubin),
      TEST(cubin_failed_compile_leaves_source_and_log_in_the_dump_folder),
      TEST(cubin_ptx_not_had_is_a_warning_and_the_other_dumps_stand),
      TEST(cubin_missing_dump_folder_is_warnings_only),
      TEST(cubin_asked_for_is_recorded_once),
      TEST(ptx_is_compiled_once_and_needs_a_compiler),
      TEST(ptx_asked_for_and_not_had_is_an_error_also_with_a_dump_folder),
      TEST(is_stored_before_and_after_a_compile_is_told),
  };
  return SJ_TEST_RUN(tests);
}
