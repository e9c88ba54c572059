/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the grid for the architecture given as the argument, through the public interface, without a GPU. */
#include "configs.h"

#include <string.h>

#include "temp_dir.h"
#include "test_main.h"

static swa_jit_lib *lib;
static uint32_t arch;

/* Compiles one configuration and compares what the compiler reports with what was promised before. */
static void check_compiled(const swa_jit_config *config, swa_jit_kernel_info *info_out)
{
  char text[512];
  assert_int_equal(swa_jit_config_to_text(config, text, sizeof text), SWA_JIT_OK);
  uint32_t promised = 0;
  assert_int_equal(swa_jit_config_check(config, &promised), SWA_JIT_OK);

  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  const swa_jit_kernel_info fresh = SWA_JIT_KERNEL_INFO_INIT;
  *info_out = fresh;
  const swa_jit_status status = swa_jit_cubin_get(lib, config, &cubin, &cubin_bytes, info_out);
  if (status != SWA_JIT_OK) {
    fail_msg("%s: %s", text, swa_jit_message());
  }
  print_message("%s: %u registers, %u bytes of shared memory, %u/%u bytes spilled, %llu ms\n", text,
                info_out->num_registers, info_out->shared_memory_bytes, info_out->spill_store_bytes,
                info_out->spill_load_bytes, (unsigned long long)(info_out->compile_ns / 1000000));
  assert_int_equal(info_out->arch, arch);
  assert_int_equal(info_out->shared_memory_bytes, promised);
  assert_int_equal(info_out->cubin_bytes, cubin_bytes);
  assert_true(cubin_bytes > 4 && memcmp(cubin, "\177ELF", 4) == 0);
  assert_in_range(info_out->num_registers, 1, 255);
  /* What was compiled must fit a multiprocessor: a launch would fail otherwise. */
  assert_in_range(info_out->num_threads, 32, 1024);
  assert_true(info_out->num_registers * info_out->num_threads <= 65536);
  /* Nothing stands between a reader of the log and what the compiler has to say of a change. */
  const char *log_text = NULL;
  assert_int_equal(swa_jit_log_text(lib, config, &log_text), SWA_JIT_OK);
  if (strstr(log_text, "warning") != NULL) {
    fail_msg("%s: the compiler warns:\n%s", text, log_text);
  }
}

static void presets_compiled_spill_nothing(void **state)
{
  (void)state;
  static configs presets;
  configs_presets(arch, &presets);
  assert_true(presets.count > 1);
  unsigned num_spilling = 0;
  for (unsigned i = 0; i < presets.count; i++) {
    swa_jit_kernel_info info;
    check_compiled(&presets.list[i], &info);
    num_spilling += info.spill_store_bytes != 0 || info.spill_load_bytes != 0;
  }
  assert_int_equal(num_spilling, 0);
}

static void every_value_compiled_uses_the_promised_shared_memory(void **state)
{
  (void)state;
  static configs spread;
  assert_int_equal(configs_spread(arch, &spread), 0);
  for (unsigned i = 0; i < spread.count; i++) {
    swa_jit_kernel_info info;
    check_compiled(&spread.list[i], &info);
  }
}

/* Two CTAs of a cluster, or of two, share a multiprocessor. Architectures before sm_90a refuse. */
static void clusters_compiled_spill_nothing_and_leave_room_for_two(void **state)
{
  (void)state;
  static configs clusters;
  configs_clusters(arch, &clusters);
  assert_true(clusters.count > 1);
  for (unsigned i = 0; i < clusters.count; i++) {
    if (arch < SWA_JIT_ARCH_SM_90A) {
      uint32_t bytes = 0;
      assert_int_equal(swa_jit_config_check(&clusters.list[i], &bytes), SWA_JIT_UNSUPPORTED);
      assert_non_null(strstr(swa_jit_message(), "set cluster_size to 0"));
      continue;
    }
    swa_jit_kernel_info info;
    check_compiled(&clusters.list[i], &info);
    assert_int_equal(info.spill_store_bytes + info.spill_load_bytes, 0);
    assert_int_equal(info.num_threads, 256);
    const bool has_footer = clusters.list[i].kv_format >= SWA_JIT_KV_FOOTER_584;
    if (arch != SWA_JIT_ARCH_SM_120A || !has_footer) { /* whose shared memory holds one CTA of a footer's rows */
      assert_true(2 * info.num_registers * info.num_threads <= 65536);
    }
  }
}

/* One configuration; the entry point's section tells that the name that is looked for is there. */
static void merge_compiled_spills_nothing_and_has_its_entry(void **state)
{
  (void)state;
  static const char entry[] = ".text.swa_merge";
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  swa_jit_kernel_info info;
  const void *cubin = NULL;
  size_t cubin_bytes = 0;
  config.arch = arch;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  check_compiled(&config, &info);
  assert_int_equal(info.shared_memory_bytes, 0);
  assert_int_equal(info.spill_store_bytes + info.spill_load_bytes, 0);
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  assert_non_null(memmem(cubin, cubin_bytes, entry, sizeof entry));
}

int main(int argc, char **argv)
{
  if (argc != 2 || swa_jit_arch_from_name(argv[1], &arch) != SWA_JIT_OK) {
    printf("usage: test_compile ARCH\n");
    return 1;
  }
  void *folder;
  if (temp_dir_setup(&folder) != 0) {
    return 1;
  }
  int result = configs_open(folder, arch, &lib);
  if (result == 0) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_compiled_spill_nothing),
        cmocka_unit_test(every_value_compiled_uses_the_promised_shared_memory),
        cmocka_unit_test(clusters_compiled_spill_nothing_and_leave_room_for_two),
        cmocka_unit_test(merge_compiled_spills_nothing_and_has_its_entry),
    };
    result = SJ_TEST_RUN(tests);
    swa_jit_close(&lib);
  }
  return temp_dir_teardown(&folder) == 0 ? result : 1;
}
