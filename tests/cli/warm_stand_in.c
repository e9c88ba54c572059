/* SPDX-License-Identifier: Apache-2.0 */
#include "warm_stand_in.h"

#include <string.h>

#include "arch.h"
#include "config.h"
#include "pick.h"
#include "pick_splits.h"
#include "status.h"
#include "test_main.h"

stand_in warm_stand_in;

const char *swa_jit_version_text(void)
{
  return "1.2.3";
}

const char *swa_jit_status_name(swa_jit_status status)
{
  return sj_status_name(status);
}

const char *swa_jit_message(void)
{
  return sj_message();
}

void swa_jit_config_init_sized(swa_jit_config *config, size_t size)
{
  assert_int_equal(size, sizeof *config);
  sj_config_init(config);
}

swa_jit_status swa_jit_config_to_text(const swa_jit_config *config, char *text, size_t text_size)
{
  return sj_config_to_text(config, text, text_size);
}

swa_jit_status swa_jit_config_from_text(const char *text, swa_jit_config *config_out)
{
  return sj_config_from_text(text, config_out);
}

swa_jit_status swa_jit_arch_from_name(const char *name, uint32_t *arch_out)
{
  return sj_arch_read_name(name, strlen(name), arch_out);
}

swa_jit_status swa_jit_pick(uint32_t num_tokens, uint32_t num_heads, uint32_t num_sms, swa_jit_config *config_inout)
{
  return sj_pick_make(num_tokens, num_heads, num_sms, config_inout);
}

swa_jit_status swa_jit_pick_splits(const swa_jit_config *config, uint32_t num_tokens, uint32_t num_heads,
                                   uint32_t num_kv_heads, uint32_t num_sms, uint32_t *num_splits_out)
{
  swa_jit_decode_args counts = SWA_JIT_DECODE_ARGS_INIT;
  counts.num_tokens = num_tokens;
  counts.num_heads = num_heads;
  counts.num_kv_heads = num_kv_heads;
  return sj_pick_splits_make(config, &counts, num_sms, num_splits_out);
}

swa_jit_status swa_jit_config_check(const swa_jit_config *config, uint32_t *shared_memory_bytes_out)
{
  (void)shared_memory_bytes_out;
  return config->head_group == GROUP_REFUSED ? sj_fail(SWA_JIT_UNSUPPORTED, "needs 9 bytes, 8 are there") : SWA_JIT_OK;
}

swa_jit_status swa_jit_arch_native(swa_jit_lib *lib, uint32_t *arch_out)
{
  (void)lib;
  if (!warm_stand_in.has_device) {
    return sj_fail(SWA_JIT_NO_DRIVER, "no driver here");
  }
  *arch_out = SWA_JIT_ARCH_SM_90A;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_cubin_get(swa_jit_lib *lib, const swa_jit_config *config, const void **cubin_out,
                                 size_t *cubin_bytes_out, swa_jit_kernel_info *info_out)
{
  (void)lib;
  atomic_fetch_add(warm_stand_in.num_gets, 1);
  if (config->kv_tile == TILE_FAILS) {
    return sj_fail(SWA_JIT_COMPILE_FAILED, "error in line 7");
  }
  *cubin_out = "";
  *cubin_bytes_out = 1000;
  info_out->file_name = "name-1234.cubin";
  info_out->origin = config->kv_tile == TILE_HIT ? SWA_JIT_ORIGIN_STORE : SWA_JIT_ORIGIN_COMPILED;
  info_out->store_status = config->kv_tile == TILE_UNKEPT ? SWA_JIT_STORE_ERROR : SWA_JIT_OK;
  info_out->num_threads = 256;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_store_has(swa_jit_lib *lib, const swa_jit_config *config, const char **file_name_out,
                                 uint32_t *held_out)
{
  (void)lib;
  *file_name_out = "name-1234.cubin";
  *held_out = config->kv_tile == TILE_HIT || config->head_group != GROUP_UNHELD;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_store_has_ptx(swa_jit_lib *lib, const swa_jit_config *config, uint32_t *held_out)
{
  (void)lib;
  *held_out = config->head_group == 32;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_store_get_info(swa_jit_lib *lib, swa_jit_store_info *info_out)
{
  (void)lib;
  info_out->flags = warm_stand_in.is_ptx_kept ? SWA_JIT_FLAG_KEEP_PTX : 0;
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_store_check(swa_jit_lib *lib)
{
  (void)lib;
  return warm_stand_in.is_store_unwritable ? sj_fail(SWA_JIT_STORE_ERROR, "no pen") : SWA_JIT_OK;
}

swa_jit_status swa_jit_source(swa_jit_lib *lib, const swa_jit_config *config, const char **source_out)
{
  (void)lib;
  (void)config;
  *source_out = "source\n";
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_ptx(swa_jit_lib *lib, const swa_jit_config *config, const char **ptx_out)
{
  (void)lib;
  (void)ptx_out;
  return config->head_group == 16 ? sj_fail(SWA_JIT_NO_COMPILER, "no NVRTC") : SWA_JIT_OK;
}

const char *swa_jit_arch_name(uint32_t arch)
{
  return sj_arch_find(arch) != NULL ? sj_arch_find(arch)->name : NULL;
}

swa_jit_status swa_jit_key_text(swa_jit_lib *lib, const swa_jit_config *config, const char **key_text_out)
{
  (void)lib;
  (void)config;
  *key_text_out = "a:1=x\n";
  return SWA_JIT_OK;
}

swa_jit_status swa_jit_store_each(swa_jit_lib *lib, uint32_t flags, swa_jit_entry_fn call, void *entry_data)
{
  (void)lib;
  (void)flags;
  (void)call;
  (void)entry_data;
  return SWA_JIT_OK; /* an empty store */
}

swa_jit_status swa_jit_store_remove(swa_jit_lib *lib, const char *name, uint32_t *removed_out)
{
  (void)lib;
  (void)name;
  *removed_out = 1;
  return SWA_JIT_OK;
}
