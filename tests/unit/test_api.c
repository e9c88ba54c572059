/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface as a program sees it: documented errors, untouched outputs, structs of every size. The vendors'
 * libraries are stand-ins. */
#include "swa_jit/swa_jit.h"

#include <stdlib.h>
#include <string.h>

#include "build_fixture.h"
#include "recording_cuda.h"
#include "test_main.h"

static const recording_cuda *cuda;
static capture_log captured;

/* A library object with stand-ins for both vendors, its store in folder. */
static swa_jit_lib *open_lib(const char *folder)
{
  swa_jit_options options;
  swa_jit_lib *lib = NULL;
  char *cache_dir = temp_dir_join(folder, "store");
  cuda->reset();
  capture_log_init(&captured, SWA_JIT_LOG_ERROR);
  swa_jit_options_init(&options);
  options.cache_dir = cache_dir;
  options.nvrtc_path = NVRTC_FAKE;
  options.cuda_path = CUDA_RECORDING;
  options.log = capture_log_write;
  options.log_data = &captured;
  options.log_level = SWA_JIT_LOG_ERROR;
  assert_int_equal(swa_jit_open(&options, &lib), SWA_JIT_OK);
  free(cache_dir);
  return lib;
}

static void close_lib(swa_jit_lib **lib)
{
  swa_jit_close(lib);
  assert_null(*lib);
  capture_log_finish(&captured);
}

static swa_jit_config hopper_config(void)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.arch = SWA_JIT_ARCH_SM_90A;
  return config;
}

static void version_text_is_the_headers(void **state)
{
  (void)state;
  assert_string_equal(swa_jit_version_text(), SWA_JIT_VERSION_TEXT);
}

static void options_macro_and_init_agree_field_by_field(void **state)
{
  (void)state;
  swa_jit_options macro = SWA_JIT_OPTIONS_INIT;
  swa_jit_options made;
  memset(&made, 0xff, sizeof made);
  swa_jit_options_init(&made);
  assert_int_equal(made.size, sizeof made);
  assert_int_equal(made.size, macro.size);
  assert_int_equal(made.flags, macro.flags);
  assert_int_equal(made.log_level, macro.log_level);
  assert_int_equal(made.lock_wait_ms, macro.lock_wait_ms);
  assert_null(made.log);
  assert_null(macro.log);
  assert_ptr_equal(made.log_data, macro.log_data);
  assert_ptr_equal(made.cache_dir, macro.cache_dir);
  assert_ptr_equal(made.nvrtc_path, macro.nvrtc_path);
  assert_ptr_equal(made.cuda_path, macro.cuda_path);
  assert_ptr_equal(made.dump_dir, macro.dump_dir);
  assert_ptr_equal(made.record_path, macro.record_path);
  swa_jit_options_init(NULL);
}

static void config_macro_and_init_agree_field_by_field(void **state)
{
  (void)state;
  swa_jit_config macro = SWA_JIT_CONFIG_INIT;
  swa_jit_config made;
  memset(&made, 0xff, sizeof made);
  swa_jit_config_init(&made);
  assert_int_equal(made.size, sizeof made);
  assert_int_equal(made.size, macro.size);
  assert_int_equal(made.arch, macro.arch);
  assert_int_equal(made.head_dim, macro.head_dim);
  assert_int_equal(made.head_group, macro.head_group);
  assert_int_equal(made.kv_tile, macro.kv_tile);
  assert_int_equal(made.window_size, macro.window_size);
  assert_int_equal(made.kv_format, macro.kv_format);
  assert_int_equal(made.index_type, macro.index_type);
  assert_int_equal(made.lens_type, macro.lens_type);
  assert_int_equal(made.scale_type, macro.scale_type);
  assert_int_equal(made.lse, macro.lse);
  assert_int_equal(made.splits, macro.splits);
  assert_int_equal(made.cluster_size, macro.cluster_size);
  swa_jit_config_init(NULL);
}

static void config_defaults_are_the_documented_ones(void **state)
{
  (void)state;
  const swa_jit_config config = SWA_JIT_CONFIG_INIT;
  assert_int_equal(config.arch, 100);
  assert_int_equal(config.head_dim, 512);
  assert_int_equal(config.head_group, 16);
  assert_int_equal(config.kv_tile, 16);
  assert_int_equal(config.window_size, 128);
  assert_int_equal(config.kv_format, SWA_JIT_KV_E4M3_SLOT);
  assert_int_equal(config.index_type, SWA_JIT_INT32);
  assert_int_equal(config.lens_type, SWA_JIT_INT32);
  assert_int_equal(config.scale_type, SWA_JIT_FLOAT32);
  assert_int_equal(config.lse, 1);
  assert_int_equal(config.cluster_size, 0);
}

static void decode_args_macro_and_init_agree_field_by_field(void **state)
{
  (void)state;
  swa_jit_decode_args macro = SWA_JIT_DECODE_ARGS_INIT;
  swa_jit_decode_args made;
  memset(&made, 0xff, sizeof made);
  swa_jit_decode_args_init(&made);
  assert_int_equal(made.size, sizeof made);
  assert_int_equal(made.size, macro.size);
  assert_int_equal(made.num_tokens, macro.num_tokens);
  assert_int_equal(made.num_heads, macro.num_heads);
  assert_int_equal(made.block_size, 1);
  assert_int_equal(made.block_size, macro.block_size);
  assert_int_equal(made.num_blocks, macro.num_blocks);
  assert_ptr_equal(made.q, macro.q);
  assert_int_equal(made.q_token_stride, macro.q_token_stride);
  assert_int_equal(made.q_head_stride, macro.q_head_stride);
  assert_ptr_equal(made.kv, macro.kv);
  assert_int_equal(made.block_stride_bytes, macro.block_stride_bytes);
  assert_int_equal(made.slot_stride_bytes, macro.slot_stride_bytes);
  assert_ptr_equal(made.inv_scale, macro.inv_scale);
  assert_ptr_equal(made.indices, macro.indices);
  assert_int_equal(made.indices_token_stride, macro.indices_token_stride);
  assert_ptr_equal(made.lens, macro.lens);
  assert_ptr_equal(made.out, macro.out);
  assert_int_equal(made.out_token_stride, macro.out_token_stride);
  assert_int_equal(made.out_head_stride, macro.out_head_stride);
  assert_ptr_equal(made.lse, macro.lse);
  assert_int_equal(made.lse_token_stride, macro.lse_token_stride);
  assert_true(made.scale >= 1.0f && made.scale <= 1.0f);
  assert_true(macro.scale >= 1.0f && macro.scale <= 1.0f);
  assert_int_equal(made.num_splits, macro.num_splits);
  swa_jit_decode_args_init(NULL);
}

static void merge_args_macro_and_init_are_zeros_behind_their_size(void **state)
{
  (void)state;
  const swa_jit_merge_args macro = SWA_JIT_MERGE_ARGS_INIT;
  const swa_jit_merge_args zeros = {.size = sizeof zeros};
  swa_jit_merge_args made;
  memset(&made, 0xff, sizeof made);
  swa_jit_merge_args_init(&made);
  assert_memory_equal(&made, &zeros, sizeof made);
  assert_memory_equal(&macro, &zeros, sizeof macro);
  swa_jit_merge_args_init(NULL);
}

static void info_and_stats_macros_are_zeros_behind_their_size(void **state)
{
  (void)state;
  const swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  const swa_jit_stats stats = SWA_JIT_STATS_INIT;
  assert_int_equal(info.size, sizeof info);
  assert_int_equal(info.origin, SWA_JIT_ORIGIN_NONE);
  assert_int_equal(info.cubin_bytes, 0);
  assert_null(info.file_name);
  assert_null(info.miss_reason);
  assert_int_equal(stats.size, sizeof stats);
  assert_int_equal(stats.store_hits, 0);
  assert_int_equal(stats.load_ns, 0);
}

/* A program of another release than the library: its struct is shorter or longer, and not a byte behind it is
 * touched. */
static void initialisers_write_what_the_caller_has_room_for(void **state)
{
  (void)state;
  struct {
    swa_jit_config config;
    uint32_t newer, behind;
  } room;
  memset(&room, 0xa5, sizeof room);
  swa_jit_config_init_sized(&room.config, 3 * sizeof(uint32_t));
  assert_int_equal(room.config.size, 3 * sizeof(uint32_t));
  assert_int_equal(room.config.head_dim, 512);
  assert_int_equal(room.config.head_group, 0xa5a5a5a5);
  swa_jit_config_init_sized(&room.config, sizeof room.config + sizeof room.newer);
  assert_int_equal(room.config.size, sizeof room.config + sizeof room.newer);
  assert_int_equal(room.config.lse, 1);
  assert_int_equal(room.newer, 0);
  assert_int_equal(room.behind, 0xa5a5a5a5);
  swa_jit_config_init_sized(&room.config, 3); /* no room for a size: nothing is written */
  assert_int_equal(room.config.lse, 1);
  room.newer = 0;
  room.config.size = sizeof room.config + sizeof room.newer;
  assert_int_equal(swa_jit_config_from_text("head_dim=64", &room.config), SWA_JIT_OK);
  assert_int_equal(room.config.size, sizeof room.config + sizeof room.newer);
  assert_int_equal(room.config.head_dim, 64);
  assert_int_equal(room.behind, 0xa5a5a5a5);
  room.config.size = 8;
  assert_int_equal(swa_jit_config_from_text("head_dim=64", &room.config), SWA_JIT_INVALID);
}

static void open_bad_arguments_are_told(void **state)
{
  struct {
    swa_jit_options options;
    uint64_t tail;
  } newer = {.options = SWA_JIT_OPTIONS_INIT};
  swa_jit_lib *lib = NULL;
  char *cache_dir = temp_dir_join(*state, "store");
  newer.options.cache_dir = cache_dir;
  assert_int_equal(swa_jit_open(&newer.options, NULL), SWA_JIT_INVALID);
  newer.options.flags = 1u << 31;
  assert_int_equal(swa_jit_open(&newer.options, &lib), SWA_JIT_INVALID);
  newer.options.flags = 0;
  newer.options.log_level = 99;
  assert_int_equal(swa_jit_open(&newer.options, &lib), SWA_JIT_INVALID);
  newer.options.log_level = 0;
  newer.options.size = 8;
  assert_int_equal(swa_jit_open(&newer.options, &lib), SWA_JIT_INVALID);
  newer.options.size = sizeof newer;
  newer.tail = 1;
  assert_int_equal(swa_jit_open(&newer.options, &lib), SWA_JIT_NEWER);
  assert_null(lib);
  newer.tail = 0;
  assert_int_equal(swa_jit_open(&newer.options, &lib), SWA_JIT_OK);
  swa_jit_close(&lib);
  free(cache_dir);
}

static void close_of_nothing_is_fine(void **state)
{
  (void)state;
  swa_jit_lib *lib = NULL;
  swa_jit_close(NULL);
  swa_jit_close(&lib);
  assert_null(lib);
}

static void calls_without_lib_are_invalid(void **state)
{
  (void)state;
  swa_jit_config config = hopper_config();
  const swa_jit_kernel *kernel = NULL;
  const void *cubin = NULL;
  const char *text = NULL;
  size_t cubin_bytes = 0;
  uint32_t number = 0;
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  swa_jit_store_info store_info = SWA_JIT_STORE_INFO_INIT;
  assert_int_equal(swa_jit_arch_native(NULL, &number), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_kernel_get(NULL, &config, &kernel), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_cubin_get(NULL, &config, &cubin, &cubin_bytes, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_source(NULL, &config, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_key_text(NULL, &config, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_ptx(NULL, &config, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_log_text(NULL, &config, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_has(NULL, &config, &text, &number), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_check(NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_stats_get(NULL, &stats), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_has_ptx(NULL, &config, &number), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_get_info(NULL, &store_info), SWA_JIT_INVALID);
  assert_non_null(strstr(swa_jit_message(), "lib is NULL"));
}

static void calls_without_outputs_are_invalid_and_logged_once(void **state)
{
  swa_jit_lib *lib = open_lib(*state);
  swa_jit_config config = hopper_config();
  const void *cubin = NULL;
  const char *text = NULL;
  size_t cubin_bytes = 0;
  uint32_t number = 0;
  assert_int_equal(swa_jit_arch_native(lib, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_kernel_get(lib, &config, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_cubin_get(lib, &config, NULL, &cubin_bytes, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, NULL, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_source(lib, &config, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_key_text(lib, &config, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_ptx(lib, &config, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_log_text(lib, &config, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_has(lib, &config, NULL, &number), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_has(lib, &config, &text, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_stats_get(lib, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_has_ptx(lib, &config, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_get_info(lib, NULL), SWA_JIT_INVALID);
  assert_int_equal(capture_log_count(&captured, SWA_JIT_LOG_ERROR), 13);
  assert_true(capture_log_has(&captured, "swa_jit_source: SWA_JIT_INVALID: source_out is NULL"));
  close_lib(&lib);
}

static void calls_without_config_are_invalid(void **state)
{
  swa_jit_lib *lib = open_lib(*state);
  const swa_jit_kernel *kernel = NULL;
  const void *cubin = NULL;
  const char *text = NULL;
  size_t cubin_bytes = 7;
  uint32_t number = 7;
  assert_int_equal(swa_jit_kernel_get(lib, NULL, &kernel), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_cubin_get(lib, NULL, &cubin, &cubin_bytes, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_source(lib, NULL, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_key_text(lib, NULL, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_ptx(lib, NULL, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_log_text(lib, NULL, &text), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_store_has(lib, NULL, &text, &number), SWA_JIT_INVALID);
  assert_null(kernel);
  assert_null(cubin);
  assert_null(text);
  assert_int_equal(cubin_bytes, 7);
  assert_int_equal(number, 7);
  close_lib(&lib);
}

/* A whole life, in the order of the header's first page. */
static void life_of_a_kernel_goes_well(void **state)
{
  swa_jit_lib *lib = open_lib(*state);
  swa_jit_config config = hopper_config();
  const swa_jit_kernel *kernel = NULL;
  const char *file_name = NULL;
  const char *text = NULL;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  uint32_t number = 7;
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  assert_int_equal(swa_jit_arch_native(lib, &number), SWA_JIT_OK);
  assert_int_equal(number, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(swa_jit_store_check(lib), SWA_JIT_OK);
  assert_int_equal(swa_jit_store_has(lib, &config, &file_name, &number), SWA_JIT_OK);
  assert_int_equal(number, 0);
  assert_int_equal(swa_jit_kernel_get(lib, &config, &kernel), SWA_JIT_OK);
  assert_int_equal(swa_jit_kernel_get_info(kernel, &info), SWA_JIT_OK);
  assert_int_equal(info.origin, SWA_JIT_ORIGIN_COMPILED);
  assert_int_equal(info.size, sizeof info);
  assert_string_equal(info.file_name, file_name);
  assert_int_equal(swa_jit_store_has(lib, &config, &file_name, &number), SWA_JIT_OK);
  assert_int_equal(number, 1);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, &info), SWA_JIT_OK);
  assert_int_equal(cubin_bytes, info.cubin_bytes);
  assert_memory_equal(cubin, "\177ELF", 4);
  assert_int_equal(swa_jit_source(lib, &config, &text), SWA_JIT_OK);
  assert_non_null(strstr(text, "#line"));
  assert_int_equal(swa_jit_key_text(lib, &config, &text), SWA_JIT_OK);
  assert_string_equal(text, info.key_text);
  assert_int_equal(swa_jit_log_text(lib, &config, &text), SWA_JIT_OK);
  assert_non_null(strstr(text, "registers"));
  assert_int_equal(swa_jit_ptx(lib, &config, &text), SWA_JIT_OK);
  assert_string_equal(text, FAKE_NVRTC_PTX);
  assert_int_equal(swa_jit_stats_get(lib, &stats), SWA_JIT_OK);
  assert_int_equal(stats.compiles, 2); /* the cubin, and afresh for the PTX */
  assert_int_equal(stats.store_writes, 1);
  assert_int_equal(stats.loads, 1);
  assert_int_equal(capture_log_count(&captured, SWA_JIT_LOG_ERROR), 0);
  close_lib(&lib);
  assert_int_equal(cuda->num_loaded(), 0);
}

static void log_text_of_a_stored_kernel_is_empty(void **state)
{
  swa_jit_config config = hopper_config();
  const char *text = NULL;
  for (int i = 0; i < 2; i++) {
    swa_jit_lib *lib = open_lib(*state);
    assert_int_equal(swa_jit_log_text(lib, &config, &text), SWA_JIT_OK);
    assert_int_equal(text[0] == '\0', i == 1);
    close_lib(&lib);
  }
}

static void store_info_has_the_folder_and_the_flags_in_effect(void **state)
{
  struct {
    swa_jit_store_info info;
    uint64_t tail;
  } newer = {.info = SWA_JIT_STORE_INFO_INIT};
  swa_jit_lib *lib = open_lib(*state);
  char *folder = temp_dir_join(*state, "store");
  assert_int_equal(swa_jit_store_get_info(lib, &newer.info), SWA_JIT_OK);
  assert_int_equal(newer.info.state, SWA_JIT_STORE_OPEN);
  assert_int_equal(newer.info.flags, 0);
  assert_int_equal(newer.info.num_layers, 0);
  assert_string_equal(newer.info.folder, folder);
  assert_string_equal(newer.info.reason, "");
  newer.info.size = 8;
  assert_int_equal(swa_jit_store_get_info(lib, &newer.info), SWA_JIT_INVALID);
  newer.info.size = sizeof newer;
  newer.tail = 1;
  assert_int_equal(swa_jit_store_get_info(lib, &newer.info), SWA_JIT_NEWER);
  newer.tail = 0;
  assert_int_equal(swa_jit_store_get_info(lib, &newer.info), SWA_JIT_OK);
  assert_int_equal(newer.info.size, sizeof newer);
  free(folder);
  close_lib(&lib);
}

/* A kernel that is a hit gets its PTX where that is asked for. */
static void ptx_held_is_told_apart_from_the_kernel(void **state)
{
  swa_jit_config config = hopper_config();
  const void *cubin = NULL;
  const char *text = NULL;
  size_t cubin_bytes = 0;
  uint32_t is_held = 2;
  swa_jit_lib *lib = open_lib(*state);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  assert_int_equal(swa_jit_store_has_ptx(lib, &config, &is_held), SWA_JIT_OK);
  assert_int_equal(is_held, 0);
  close_lib(&lib);
  assert_int_equal(setenv("SWA_JIT_KEEP_PTX", "1", 1), 0);
  lib = open_lib(*state);
  assert_int_equal(unsetenv("SWA_JIT_KEEP_PTX"), 0);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  assert_int_equal(swa_jit_store_has_ptx(lib, &config, &is_held), SWA_JIT_OK);
  assert_int_equal(is_held, 0); /* a hit stays one: it needs no compiler */
  assert_int_equal(swa_jit_ptx(lib, &config, &text), SWA_JIT_OK);
  assert_int_equal(swa_jit_store_has_ptx(lib, &config, &is_held), SWA_JIT_OK);
  assert_int_equal(is_held, 1);
  assert_int_equal(swa_jit_store_has(lib, &config, &text, &is_held), SWA_JIT_OK);
  assert_int_equal(is_held, 1);
  close_lib(&lib);
}

static void info_of_another_size_follows_the_rule(void **state)
{
  struct {
    swa_jit_kernel_info info;
    uint64_t tail;
  } newer = {.info = SWA_JIT_KERNEL_INFO_INIT};
  swa_jit_lib *lib = open_lib(*state);
  swa_jit_config config = hopper_config();
  const swa_jit_kernel *kernel = NULL;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  assert_int_equal(swa_jit_kernel_get(lib, &config, &kernel), SWA_JIT_OK);
  assert_int_equal(swa_jit_kernel_get_info(NULL, &newer.info), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_kernel_get_info(kernel, NULL), SWA_JIT_INVALID);
  newer.info.size = 16;
  assert_int_equal(swa_jit_kernel_get_info(kernel, &newer.info), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, &newer.info), SWA_JIT_INVALID);
  assert_null(cubin);
  newer.info.size = sizeof newer;
  newer.tail = 1;
  assert_int_equal(swa_jit_kernel_get_info(kernel, &newer.info), SWA_JIT_NEWER);
  newer.tail = 0;
  assert_int_equal(swa_jit_kernel_get_info(kernel, &newer.info), SWA_JIT_OK);
  assert_int_equal(newer.info.size, sizeof newer);
  assert_int_equal(newer.info.arch, SWA_JIT_ARCH_SM_90A);
  assert_int_equal(newer.tail, 0);
  close_lib(&lib);
}

static void stats_of_another_size_follow_the_rule(void **state)
{
  struct {
    swa_jit_stats stats;
    uint64_t tail;
  } newer = {.stats = SWA_JIT_STATS_INIT};
  swa_jit_lib *lib = open_lib(*state);
  newer.stats.size = 8;
  assert_int_equal(swa_jit_stats_get(lib, &newer.stats), SWA_JIT_INVALID);
  newer.stats.size = sizeof newer;
  newer.tail = 1;
  assert_int_equal(swa_jit_stats_get(lib, &newer.stats), SWA_JIT_NEWER);
  newer.tail = 0;
  assert_int_equal(swa_jit_stats_get(lib, &newer.stats), SWA_JIT_OK);
  assert_int_equal(newer.stats.size, sizeof newer);
  close_lib(&lib);
}

static void decode_checks_and_launches(void **state)
{
  swa_jit_lib *lib = open_lib(*state);
  swa_jit_config config = hopper_config();
  const swa_jit_kernel *kernel = NULL;
  swa_jit_decode_args args = SWA_JIT_DECODE_ARGS_INIT;
  assert_int_equal(swa_jit_kernel_get(lib, &config, &kernel), SWA_JIT_OK);
  assert_int_equal(swa_jit_decode(NULL, &args, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_decode(kernel, NULL, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_decode(kernel, &args, NULL), SWA_JIT_OK); /* no token: nothing to launch */
  args.num_tokens = 1;
  assert_int_equal(swa_jit_decode(kernel, &args, NULL), SWA_JIT_INVALID); /* no heads */
  assert_int_equal(cuda->num_launches(), 0);
  close_lib(&lib);
}

static void merge_checks_its_kernel_and_arguments(void **state)
{
  swa_jit_lib *lib = open_lib(*state);
  swa_jit_config config = hopper_config();
  const swa_jit_kernel *decode = NULL, *merge = NULL;
  swa_jit_merge_args args = SWA_JIT_MERGE_ARGS_INIT;
  swa_jit_kernel_info info = SWA_JIT_KERNEL_INFO_INIT;
  assert_int_equal(swa_jit_kernel_get(lib, &config, &decode), SWA_JIT_OK);
  config.kernel = SWA_JIT_KERNEL_MERGE;
  assert_int_equal(swa_jit_kernel_get(lib, &config, &merge), SWA_JIT_OK);
  assert_int_equal(swa_jit_kernel_get_info(merge, &info), SWA_JIT_OK);
  assert_int_equal(info.num_threads, 128);
  assert_int_equal(info.shared_memory_bytes, 0);
  assert_non_null(strstr(info.file_name, "swa_merge-sm_90a-"));
  assert_int_equal(swa_jit_merge(NULL, &args, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_merge(merge, NULL, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_merge(decode, &args, NULL), SWA_JIT_INVALID);
  assert_int_equal(swa_jit_merge(merge, &args, NULL), SWA_JIT_OK); /* no token: nothing to launch */
  args.num_tokens = 1;
  assert_int_equal(swa_jit_merge(merge, &args, NULL), SWA_JIT_INVALID); /* no parts */
  assert_int_equal(cuda->num_launches(), 0);
  close_lib(&lib);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
  build_fixture_clear_environment();
  cuda = recording_cuda_open(CUDA_RECORDING);
  if (cuda == NULL) {
    fprintf(stderr, "%s: %s\n", CUDA_RECORDING, dlerror());
    return 1;
  }
  const struct CMUnitTest tests[] = {
      TEST(version_text_is_the_headers),
      TEST(options_macro_and_init_agree_field_by_field),
      TEST(config_macro_and_init_agree_field_by_field),
      TEST(config_defaults_are_the_documented_ones),
      TEST(decode_args_macro_and_init_agree_field_by_field),
      TEST(info_and_stats_macros_are_zeros_behind_their_size),
      TEST(merge_args_macro_and_init_are_zeros_behind_their_size),
      TEST(initialisers_write_what_the_caller_has_room_for),
      TEST(open_bad_arguments_are_told),
      TEST(close_of_nothing_is_fine),
      TEST(calls_without_lib_are_invalid),
      TEST(calls_without_outputs_are_invalid_and_logged_once),
      TEST(calls_without_config_are_invalid),
      TEST(life_of_a_kernel_goes_well),
      TEST(log_text_of_a_stored_kernel_is_empty),
      TEST(store_info_has_the_folder_and_the_flags_in_effect),
      TEST(ptx_held_is_told_apart_from_the_kernel),
      TEST(info_of_another_size_follows_the_rule),
      TEST(stats_of_another_size_follow_the_rule),
      TEST(decode_checks_and_launches),
      TEST(merge_checks_its_kernel_and_arguments),
  };
  return SJ_TEST_RUN(tests);
}
