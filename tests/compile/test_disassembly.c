/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into the machine code of the presets: products are on the tensor cores, rows are read 16 bytes at a time, and
 * nothing is read or written before a kernel has waited for its predecessor; and into that of clusters, which alone
 * store to another CTA and wait for one. Arguments: architecture, nvdisasm. */
#include "configs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "temp_dir.h"
#include "test_main.h"

typedef struct findings {
  unsigned instructions;
  unsigned tensor_core;      /* HMMA */
  unsigned wide_loads;       /* LDGSTS (cp.async) or LDG of 128 bits */
  unsigned wide_copies;      /* those that are LDGSTS and past L1: they leave no register and no line behind */
  unsigned copies;           /* LDGSTS of any width */
  unsigned waits;            /* ACQBULK (griddepcontrol.wait) */
  unsigned before_wait;      /* accesses of global memory above the first wait, and branches that could lead past it */
  unsigned remote_stores;    /* STAS (st.async) */
  unsigned cluster_arrivals; /* UCGABAR_ARV (barrier.cluster.arrive) */
  unsigned cluster_waits;    /* UCGABAR_WAIT (barrier.cluster.wait) */
} findings;

static swa_jit_lib *lib;
static uint32_t arch;
static const char *nvdisasm;
static const char *folder;

static bool has_any(const char *line, const char *const *words)
{
  while (*words != NULL && strstr(line, *words) == NULL) {
    words++;
  }
  return *words != NULL;
}

static void count_line(const char *line, findings *found)
{
  const char *address = line + strspn(line, " \t");
  if (strncmp(address, "/*", 2) != 0 || !isxdigit((unsigned char)address[2])) {
    return; /* a label or a directive */
  }
  static const char *const early[] = {" LD.",     " LDG",     " ST.",  " STG", " ATOM", " RED", " UBLK",
                                      " UTMALDG", " UTMASTG", " BRA ", " BRX", " CALL", NULL};
  found->instructions++;
  if (strstr(line, " ACQBULK") != NULL) {
    found->waits++;
  } else if (found->waits == 0 && has_any(line, early)) {
    found->before_wait++;
  }
  if (strstr(line, " HMMA.") != NULL) {
    found->tensor_core++;
  }
  found->remote_stores += strstr(line, " STAS.") != NULL;
  found->cluster_arrivals += strstr(line, " UCGABAR_ARV") != NULL;
  found->cluster_waits += strstr(line, " UCGABAR_WAIT") != NULL;
  found->copies += strstr(line, " LDGSTS.") != NULL;
  found->wide_copies += strstr(line, " LDGSTS.E.BYPASS.128") != NULL;
  const char *load = strstr(line, " LDGSTS.");
  if (load == NULL) {
    load = strstr(line, " LDG.");
  }
  if (load != NULL && strstr(load, ".128") != NULL) {
    found->wide_loads++;
  }
}

static void disassemble(const void *cubin, size_t cubin_bytes, findings *found)
{
  char *path = temp_dir_join(folder, "kernel.cubin");
  assert_true(temp_dir_write(path, cubin, cubin_bytes));
  char command[4096];
  const int length = snprintf(command, sizeof command, "'%s' -c '%s'", nvdisasm, path);
  assert_in_range(length, 1, (int)sizeof command - 1);
  FILE *output = popen(command, "r");
  assert_non_null(output);
  char line[1024];
  memset(found, 0, sizeof *found);
  while (fgets(line, sizeof line, output) != NULL) {
    count_line(line, found);
  }
  assert_int_equal(pclose(output), 0);
  free(path);
}

/* Report 48: a read before the wait sees what the predecessor has not written yet. Architectures before sm_90a have no
 * such launches. */
static void assert_waits_first(const findings *found)
{
  if (arch < SWA_JIT_ARCH_SM_90A) {
    assert_int_equal(found->waits, 0);
    return;
  }
  assert_int_equal(found->waits, 1);
  assert_int_equal(found->before_wait, 0);
}

static void disassemble_config(const swa_jit_config *config, findings *found)
{
  char text[512];
  assert_int_equal(swa_jit_config_to_text(config, text, sizeof text), SWA_JIT_OK);
  const void *cubin;
  size_t cubin_bytes;
  assert_int_equal(swa_jit_cubin_get(lib, config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  disassemble(cubin, cubin_bytes, found);
  print_message("%s: %u instructions, %u HMMA, %u loads of 16 bytes\n", text, found->instructions, found->tensor_core,
                found->wide_loads);
}

static void check_decode(const swa_jit_config *config)
{
  findings found;
  disassemble_config(config, &found);
  assert_true(found.instructions > 100);
  assert_true(found.tensor_core > 0);
  assert_true(found.wide_loads > 0);
  assert_waits_first(&found);
  if (config->cluster_size == 0) {
    assert_int_equal(found.remote_stores + found.cluster_arrivals + found.cluster_waits, 0);
    return;
  }
  assert_true(found.wide_copies > 0);
  assert_int_equal(found.copies, found.wide_copies);
  const bool has_groups = config->kv_format >= SWA_JIT_KV_FOOTER_584;
  assert_int_equal(found.remote_stores, has_groups ? 3 : 2); /* of weights, of a unit's figure, of groups' factors */
  assert_int_equal(found.cluster_arrivals, 1);               /* by every thread, whatever its length is */
  assert_int_equal(found.cluster_waits, 2);                  /* with positions, and without */
}

static void presets_disassembled_use_tensor_cores_and_wide_loads(void **state)
{
  (void)state;
  static configs presets;
  configs_presets(arch, &presets);
  assert_true(presets.count > 1);
  for (unsigned i = 0; i < presets.count; i++) {
    check_decode(&presets.list[i]);
  }
}

/* Plain, and with every option. */
static void clusters_disassembled_copy_wide_and_store_to_each_other(void **state)
{
  (void)state;
  static configs clusters;
  configs_clusters(arch, &clusters);
  assert_true(clusters.count > 1);
  if (arch < SWA_JIT_ARCH_SM_90A) {
    const void *cubin;
    size_t cubin_bytes;
    assert_int_equal(swa_jit_cubin_get(lib, &clusters.list[0], &cubin, &cubin_bytes, NULL), SWA_JIT_UNSUPPORTED);
    return;
  }
  check_decode(&clusters.list[0]);
  check_decode(&clusters.list[clusters.count - 1]);
}

static void merge_disassembled_loads_16_bytes_at_a_time(void **state)
{
  (void)state;
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  const void *cubin;
  size_t cubin_bytes;
  findings found;
  config.arch = arch;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  assert_int_equal(swa_jit_cubin_get(lib, &config, &cubin, &cubin_bytes, NULL), SWA_JIT_OK);
  disassemble(cubin, cubin_bytes, &found);
  assert_int_equal(found.wide_loads, 8); /* one a part */
  assert_int_equal(found.remote_stores + found.cluster_arrivals + found.cluster_waits, 0);
  assert_waits_first(&found);
}

/* Lines as nvdisasm prints them, and what stands in an e4m3 row's way: a narrower load and a label do not count. */
static void lines_counted_tell_wide_loads_from_narrow_ones(void **state)
{
  (void)state;
  findings found = {0};
  count_line("        /*0a10*/                   LDG.E.U8 R4, desc[UR4][R2.64] ;\n", &found);
  count_line("        /*0a20*/                   LDG.E.64 R4, desc[UR4][R2.64] ;\n", &found);
  count_line(".L_x_128: /* LDG.E.128 */\n", &found);
  assert_int_equal(found.wide_loads, 0);
  count_line("        /*0a30*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;\n", &found);
  count_line("        /*0a40*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n", &found);
  count_line("        /*1a50*/                   HMMA.16816.F32.BF16 R8, R4, R2, R8 ;\n", &found);
  assert_int_equal(found.wide_loads, 2);
  assert_int_equal(found.tensor_core, 1);
  assert_int_equal(found.instructions, 5);
}

static void lines_counted_tell_what_is_between_ctas(void **state)
{
  (void)state;
  findings found = {0};
  count_line("        /*0a10*/                   STS.128 [R5], R8 ;\n", &found);
  count_line("        /*0a20*/                   LDGSTS.E [R5], desc[UR4][R2.64] ;\n", &found);
  count_line("        /*0a30*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;\n", &found);
  assert_int_equal(found.remote_stores + found.cluster_arrivals + found.cluster_waits + found.wide_copies, 0);
  count_line("        /*0a40*/                   STAS.128 [R5.64], R8 ;\n", &found);
  count_line("        /*0a50*/                   LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;\n", &found);
  count_line("        /*0a60*/                   UCGABAR_ARV ;\n", &found);
  count_line("        /*0a70*/                   UCGABAR_WAIT ;\n", &found);
  assert_int_equal(found.remote_stores, 1);
  assert_int_equal(found.cluster_arrivals, 1);
  assert_int_equal(found.cluster_waits, 1);
  assert_int_equal(found.wide_copies, 1);
  assert_int_equal(found.copies, 2);
}

static void lines_counted_tell_what_stands_before_the_wait(void **state)
{
  (void)state;
  findings found = {0};
  count_line("        /*0010*/                   LDC R1, c[0x0][0x28] ;\n", &found);
  count_line("        /*0020*/               @P0 EXIT ;\n", &found);
  assert_int_equal(found.before_wait, 0);
  count_line("        /*0030*/                   LDG.E R6, desc[UR10][R2.64] ;\n", &found);
  count_line("        /*0040*/               @P0 BRA `(.L_x_1) ;\n", &found);
  assert_int_equal(found.before_wait, 2);
  count_line("        /*0050*/                   ACQBULK ;\n", &found);
  count_line("        /*0060*/                   LDG.E R6, desc[UR10][R2.64] ;\n", &found);
  assert_int_equal(found.waits, 1);
  assert_int_equal(found.before_wait, 2);
}

int main(int argc, char **argv)
{
  if (argc < 2 || argc > 3 || swa_jit_arch_from_name(argv[1], &arch) != SWA_JIT_OK) {
    printf("usage: test_disassembly ARCH [NVDISASM]\n");
    return 1;
  }
  if (argc == 2) {
    printf("skipped: nvdisasm is not there (the wheel nvidia-cuda-nvdisasm has it)\n");
    return SJ_TEST_SKIPPED;
  }
  nvdisasm = argv[2];
  void *temporary;
  if (temp_dir_setup(&temporary) != 0) {
    return 1;
  }
  folder = temporary;
  char *store = temp_dir_join(folder, "store");
  int result = configs_open(store, arch, &lib);
  free(store);
  if (result == 0) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_counted_tell_what_is_between_ctas),
        cmocka_unit_test(lines_counted_tell_wide_loads_from_narrow_ones),
        cmocka_unit_test(lines_counted_tell_what_stands_before_the_wait),
        cmocka_unit_test(presets_disassembled_use_tensor_cores_and_wide_loads),
        cmocka_unit_test(clusters_disassembled_copy_wide_and_store_to_each_other),
        cmocka_unit_test(merge_disassembled_loads_16_bytes_at_a_time),
    };
    result = SJ_TEST_RUN(tests);
    swa_jit_close(&lib);
  }
  return temp_dir_teardown(&temporary) == 0 ? result : 1;
}
