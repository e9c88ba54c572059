/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor copies (PTX ISA, cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, cp.async.bulk.prefetch.tensor) beside
 * plain boxes: gather4 and scatter4, clusters, reductions, and what each check says. */
#include "test_main.h"

#include <stdio.h>
#include <string.h>

#include "map_kernel.h"

/* ---- gather4, scatter4 ------------------------------------------------------------------------------------ */

static const map_case rows4 = {"rows",
                               MAP(.type = EMU_MAP_BF16, .rank = 2, .dims = {128, 20}, .strides = {256}, .box = {64, 1},
                                   .steps = S1, .swizzle = EMU_MAP_SWIZZLE_128),
                               {0},
                               "sm_100a"};
static const int32_t some_rows[4] = {7, 3, 25, -1};

/* 5.5.3.4: four rows by their coordinates in dimension 1, one behind the other in shared memory. */
static void four_rows_are_gathered(void **state)
{
  (void)state;
  map_set_up(&rows4);
  map_expect_ok(&rows4, map_run("sm_100a",
                                INIT "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4" TX
                                     " [%t1], [%map, {64, 7, 3, 25, -1}], [%t0];\n" LOOK TO_GLOBAL,
                                512, 1, 3));
  for (unsigned r = 0; r < 4; r++) {
    for (unsigned b = 0; b < 128; b++) {
      const uint8_t wanted = some_rows[r] < 0 || some_rows[r] >= 20 ? 0 : map_tensor[some_rows[r] * 256 + 128 + (int)b];
      assert_int_equal(map_kernel_data.box[0][map_place(EMU_MAP_SWIZZLE_128, r * 128 + b)], wanted);
    }
  }
  emu_free(map_memory);
}

static void four_rows_are_scattered(void **state)
{
  (void)state;
  static uint8_t got[MAP_TENSOR_ROOM];
  map_set_up(&rows4);
  map_expect_ok(&rows4,
                map_run("sm_100a",
                        TO_SHARED FENCE "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"
                                        " [%map, {64, 7, 3, 25, 0}], [%t1];\n" WAIT,
                        512, 1, 3));
  emu_copy_out(got, map_memory, sizeof got);
  static const int rows[4] = {7, 3, 25, 0};
  for (unsigned r = 0; r < 4; r++) {
    for (unsigned b = 0; b < 128 && rows[r] < 20; b++) {
      map_tensor[rows[r] * 256 + 128 + (int)b] = map_kernel_data.box[0][map_place(EMU_MAP_SWIZZLE_128, r * 128 + b)];
    }
  }
  assert_memory_equal(got, map_tensor, sizeof got);
  emu_free(map_memory);
}

/* ---- Clusters --------------------------------------------------------------------------------------------- */

static const map_case small = {
    "small",
    MAP(.type = EMU_MAP_U8, .rank = 2, .dims = {128, 20}, .strides = {128}, .box = {128, 4}, .steps = S1),
    {0},
    NULL};

typedef struct cluster_row {
  const char *what, *arch, *text;
} cluster_row;

#define OTHER "mapa.shared::cluster.u32 %t5, %t0, %t4; mapa.shared::cluster.u32 %t6, %t1, %t4;\n"

/* Each leaves rows 2 to 5 in both blocks. */
static const cluster_row clusters[] = {
    {"multicast", "sm_90a",
     INIT MEET "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global" TX
               ".multicast::cluster [%t1], [%map, {0, 2}], [%t0], %h0;\n" LOOK TO_GLOBAL MEET},
    {"multicast with a hint", "sm_90a",
     INIT MEET "@%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile" TX
               ".multicast::cluster.L2::cache_hint [%t1], [%map, {0, 2}], [%t0], %h0, %l5;\n" LOOK TO_GLOBAL MEET},
    {"into the other block", "sm_90a",
     OTHER INIT MEET "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global" TX
                     " [%t6], [%map, {0, 2}], [%t5];\n" LOOK TO_GLOBAL MEET},
    {"a pair, each with its own mbarrier", "sm_100a",
     OTHER INIT MEET "@%p1 cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global" TX
                     " [%t1], [%map, {0, 2}], [%t0];\n" LOOK TO_GLOBAL MEET},
    {"a pair, with the mbarrier of the other", "sm_100a",
     OTHER INIT MEET "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global" TX
                     ".cta_group::2 [%t6], [%map, {0, 2}], [%t0];\n" LOOK MEET TO_GLOBAL MEET},
    {"a pair, multicast to the even block's mbarrier", "sm_100a",
     "@%p1 mbarrier.init.shared.b64 [%t0], 1; @%p0 mbarrier.arrive.expect_tx.shared.b64 _, [%t0], 1024;\n" MEET
     "@%p0 cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global" TX
     ".multicast::cluster [%t1], [%map, {0, 2}], [%t0], %h0;\n"
     "setp.eq.u32 %p4, %t3, 0; @!%p4 bra OVER;\n" LOOK "OVER:\n" MEET TO_GLOBAL MEET},
};

static void copies_reach_the_blocks_of_a_cluster(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 4 * sizeof clusters / sizeof clusters[0]; i++) {
    const cluster_row *row = &clusters[i / 4];
    map_set_up(&small);
    const int result = map_run(row->arch, row->text, 512, 2, i + 1);
    if (result != EMU_OK) {
      fail_msg("%s: result %d\n%s", row->what, result, map_message.text);
    }
    for (unsigned block = 0; block < 2; block++) {
      assert_memory_equal(map_kernel_data.box[block], map_tensor + (size_t)2 * 128, 512);
    }
    emu_free(map_memory);
  }
}

/* ---- Reductions ------------------------------------------------------------------------------------------- */

static void a_box_is_added(void **state)
{
  (void)state;
  static const map_case of = {
      "u32",
      MAP(.type = EMU_MAP_U32, .rank = 2, .dims = {20, 20}, .strides = {80}, .box = {8, 4}, .steps = S1),
      {15, 18},
      NULL};
  static uint32_t words[MAP_TENSOR_ROOM / 4], got[MAP_TENSOR_ROOM / 4];
  uint32_t box[32];
  map_set_up(&of);
  memcpy(words, map_tensor, sizeof words);
  for (unsigned i = 0; i < 32; i++) {
    box[i] = 1000u * i;
    memcpy(map_kernel_data.box[0] + (size_t)4 * i, &box[i], 4);
    if (i % 8 < 5 && i / 8 < 2) {
      words[(18 + i / 8) * 20 + 15 + i % 8] += box[i];
    }
  }
  map_expect_ok(&of,
                map_run("sm_90a",
                        TO_SHARED FENCE "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
                                        "[%map, {15, 18}], [%t1];\n" WAIT,
                        128, 1, 9));
  emu_copy_out(got, map_memory, sizeof got);
  assert_memory_equal(got, words, sizeof got);
  emu_free(map_memory);
}

/* The table of cp.reduce.async.bulk.tensor: which operations which types have. */
static void reductions_have_their_types(void **state)
{
  (void)state;
  static const char *const operations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  static const char *const allowed[EMU_MAP_NUM_TYPES] = {[EMU_MAP_U32] = "add min max inc dec and or xor",
                                                         [EMU_MAP_S32] = "add min max and or xor",
                                                         [EMU_MAP_U64] = "add min max and or xor",
                                                         [EMU_MAP_S64] = "min max and or xor",
                                                         [EMU_MAP_F16] = "add min max",
                                                         [EMU_MAP_F32] = "add",
                                                         [EMU_MAP_BF16] = "add min max"};
  for (unsigned type = EMU_MAP_U8; type <= EMU_MAP_BF16; type++) {
    for (unsigned i = 0; i < 8; i++) {
      map_case of = {"types", MAP(.rank = 1, .dims = {64}, .box = {16}, .steps = S1), {0}, NULL};
      of.map.type = type;
      char text[1024];
      map_set_up(&of);
      snprintf(text, sizeof text,
               "%s@%%p1 cp.reduce.async.bulk.tensor.1d.global.shared::cta.%s.bulk_group.L2::cache_hint [%%map, {0}], "
               "[%%t1], %%l5;%s",
               TO_SHARED FENCE, operations[i], WAIT);
      const int result = map_run("sm_90a", text, 64, 1, 1);
      const int is_allowed = allowed[type] != NULL && strstr(allowed[type], operations[i]) != NULL;
      assert_int_equal(result, is_allowed ? EMU_OK : EMU_ILLEGAL_INSTRUCTION);
      assert_true(is_allowed || strstr(map_message.text, "does not have this reduction") != NULL);
      emu_free(map_memory);
    }
  }
}

/* ---- Faults ----------------------------------------------------------------------------------------------- */

typedef struct fault_row {
  const char *what, *text;
  int result;
  const char *says;
  const char *arch;
} fault_row;

#define LOAD(words, operands) "@%p1 cp.async.bulk.tensor." words TX " " operands ";\n"

static const fault_row faults[] = {
    {"no map", INIT LOAD("2d.shared::cluster.global", "[%t1], [%out+256, {0, 0}], [%t0]"), EMU_ILLEGAL_INSTRUCTION,
     "no tensor map at 0x", NULL},
    {"a map that was changed",
     "st.global.u8 [%map+17], 3;" INIT LOAD("2d.shared::cluster.global", "[%t1], [%map, {0, 0}], [%t0]"),
     EMU_ILLEGAL_INSTRUCTION, "its bytes are not as this driver encodes one", NULL},
    {"a misaligned map", INIT LOAD("2d.shared::cluster.global", "[%t1], [%map+32, {0, 0}], [%t0]"),
     EMU_MISALIGNED_ADDRESS, "misaligned: tensor map at 0x", NULL},
    {"a map in shared memory",
     "mov.u64 %l2, shared; cvta.shared.u64 %l3, %l2;" INIT LOAD("2d.shared::cluster.global",
                                                                "[%t1], [%l3, {0, 0}], [%t0]"),
     EMU_INVALID_ADDRESS_SPACE, "parameters, constant or global memory are wanted", NULL},
    {"another rank", INIT LOAD("3d.shared::cluster.global", "[%t1], [%map, {0, 0, 0}], [%t0]"), EMU_ILLEGAL_INSTRUCTION,
     "a tensor map of rank 2 for an instruction of 3 dimensions", NULL},
    {"too few coordinates", INIT LOAD("2d.shared::cluster.global", "[%t1], [%map, {0}], [%t0]"),
     EMU_ILLEGAL_INSTRUCTION, "1 coordinates where 2 are wanted", NULL},
    {"shared memory misaligned", INIT LOAD("2d.shared::cluster.global", "[%t1+64], [%map, {0, 0}], [%t0]"),
     EMU_MISALIGNED_ADDRESS, "misaligned: the destination of a bulk operation at 0x840: a multiple of 128", NULL},
    {"shared memory out of bounds", INIT LOAD("2d.shared::cluster.global", "[%t1+17152], [%map, {0, 0}], [%t0]"),
     EMU_ILLEGAL_ADDRESS, "out of bounds: bulk operation on 512 bytes of shared memory", NULL},
    {"no mbarrier", LOAD("2d.shared::cluster.global", "[%t1], [%map, {0, 0}], [%t0]"), EMU_ILLEGAL_INSTRUCTION,
     "no mbarrier was initialised", NULL},
    {"not waited for", INIT LOAD("2d.shared::cluster.global", "[%t1], [%map, {0, 0}], [%t0]") "bar.sync 0;" TO_GLOBAL,
     EMU_ILLEGAL_ADDRESS, "is not ordered with a write by an asynchronous operation", NULL},
    {"bytes outside of the tensor count too",
     INIT LOAD("2d.shared::cluster.global", "[%t1], [%map, {120, 18}], [%t0]") LOOK TO_GLOBAL, EMU_OK, NULL, NULL},
    {"a store without the proxy's fence",
     TO_SHARED "bar.sync 0; @%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {0, 0}], [%t1];" WAIT,
     EMU_ILLEGAL_ADDRESS, "race: read of shared memory at 0x", NULL},
    {"a store's source used again too early",
     TO_SHARED FENCE "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {0, 0}], [%t1];"
                     "@%p1 st.shared.u32 [%t1], 5;" WAIT,
     EMU_ILLEGAL_ADDRESS, "is not ordered with a read by an asynchronous operation", NULL},
    {"a store that nobody waits for",
     TO_SHARED FENCE "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {0, 0}], [%t1];",
     EMU_ILLEGAL_ADDRESS, "the block has ended, and its shared memory at 0x", NULL},
    {"gather4 before sm_100",
     INIT LOAD("2d.shared::cluster.global.tile::gather4", "[%t1], [%map, {0, 0, 0, 0, 0}], [%t0]"), EMU_INVALID_PTX,
     "sm_90a does not have this instruction", NULL},
    {"gather4 with a box of several rows",
     INIT LOAD("2d.shared::cluster.global.tile::gather4", "[%t1], [%map, {0, 0, 0, 0, 0}], [%t0]"),
     EMU_ILLEGAL_INSTRUCTION, "gather4 and scatter4 want rank 2 and a box of one row", "sm_100a"},
    {"im2col", INIT LOAD("3d.shared::cluster.global.im2col", "[%t1], [%map, {0, 0, 0}], [%t0], {0}"), EMU_INVALID_PTX,
     "cp.async.bulk.tensor.3d.shared::cluster.global.im2col", NULL},
    {"a prefetch",
     "@%p1 cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {0, 0}]; prefetch.tensormap [%map];"
     "@%p1 cp.async.bulk.prefetch.tensor.2d.L2.global.L2::cache_hint [%map, {0, 0}], %l5;",
     EMU_OK, NULL, NULL},
    {"a prefetch of gathered rows with a box of several",
     "@%p1 cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%map, {0, 0, 1, 2, 3}];", EMU_ILLEGAL_INSTRUCTION,
     "gather4 and scatter4", "sm_100a"},
    {"a prefetch of no map", "prefetch.tensormap [%out+256];", EMU_ILLEGAL_INSTRUCTION, "no tensor map at 0x", NULL},
};

static void run_faults(const fault_row *list, size_t count)
{
  for (size_t i = 0; i < 4 * count; i++) {
    const fault_row *row = &list[i / 4];
    map_set_up(&small);
    const int result = map_run(row->arch != NULL ? row->arch : "sm_90a", row->text, 512, 1, i + 1);
    if (result != row->result || (row->says != NULL && strstr(map_message.text, row->says) == NULL)) {
      fail_msg("%s: result %d instead of %d\n%s", row->what, result, row->result, map_message.text);
    }
    emu_free(map_memory);
  }
}

static void each_fault_is_told(void **state)
{
  (void)state;
  run_faults(faults, sizeof faults / sizeof faults[0]);
}

/* What a map may say and a copy does not do. */
static void what_is_not_emulated_is_refused(void **state)
{
  (void)state;
  static const struct {
    emu_tensor_map map;
    const char *says;
  } refused[] = {
      {MAP(.type = EMU_MAP_F32_FTZ, .rank = 1, .dims = {64}, .box = {16}, .steps = S1), "types that a copy converts"},
      {MAP(.type = EMU_MAP_16U4_ALIGN16, .rank = 1, .dims = {128}, .box = {128}, .steps = S1),
       "packed elements with gaps"},
      {MAP(.type = EMU_MAP_BF16, .rank = 1, .dims = {64}, .box = {16}, .steps = S1, .swizzle = EMU_MAP_SWIZZLE_128),
       "a box narrower than its swizzle"},
  };
  for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    const map_case of = {"refused", refused[i].map, {0}, "sm_100a"};
    map_set_up(&of);
    assert_int_equal(map_run("sm_100a", INIT LOAD("1d.shared::cluster.global", "[%t1], [%map, {0}], [%t0]"), 64, 1, 1),
                     EMU_ILLEGAL_INSTRUCTION);
    assert_non_null(strstr(map_message.text, refused[i].says));
    emu_free(map_memory);
  }
}

/* ---- tensormap.replace ------------------------------------------------------------------------------------ */

#define ACQUIRE "fence.proxy.tensormap::generic.acquire.gpu [%map], 128;\n"
#define CHANGE(words, operands) "@%p1 tensormap.replace.tile." words " " operands ";"
#define CHANGED ACQUIRE "bar.sync 0;"

/* The map of a box of 128 x 4 at (0, 0) becomes that of one of 64 x 8 at row 3 of the columns from 64 on. */
static void a_map_is_changed_in_global_memory(void **state)
{
  (void)state;
  for (unsigned seed = 1; seed <= 4; seed++) {
    map_set_up(&small);
    map_expect_ok(
        &small,
        map_run(
            "sm_90a",
            "ld.global.u64 %l3, [%map+8]; add.u64 %l3, %l3, 64;" CHANGE(
                "global_address.global.b1024.b64", "[%map], %l3") CHANGE("box_dim.global.b1024.b32", "[%map], 0, 64")
                CHANGE("box_dim.b1024.b32", "[%map], 1, 8") CHANGE("global_dim.global.b1024.b32", "[%map], 0, 64")
                    CHANGE("global_stride.global.b1024.b64", "[%map], 0, 128") CHANGE("element_stride.global.b1024.b32",
                                                                                      "[%map], 1, 1")
                        CHANGE("rank.global.b1024.b32", "[%map], 1") CHANGE("elemtype.global.b1024.b32", "[%map], 0")
                            CHANGE("interleave_layout.global.b1024.b32", "[%map], 0")
                                CHANGE("swizzle_mode.global.b1024.b32", "[%map], 0")
                                    CHANGE("fill_mode.global.b1024.b32", "[%map], 0") CHANGED INIT LOAD(
                                        "2d.shared::cluster.global", "[%t1], [%map, {0, 3}], [%t0]") LOOK TO_GLOBAL,
            512, 1, seed));
    for (unsigned i = 0; i < 512; i++) {
      assert_int_equal(map_kernel_data.box[0][i], map_tensor[(3 + i / 64) * 128 + 64 + i % 64]);
    }
    emu_free(map_memory);
  }
}

/* The example of tensormap.cp_fenceproxy: changed in shared memory, copied out, acquired. */
#define IN_SHARED                                                                                                      \
  "shl.b32 %t8, %t2, 2; cvt.u64.u32 %l2, %t8; add.u64 %l2, %map, %l2; ld.global.u32 %t9, [%l2];"                       \
  "add.u32 %t10, %t0, 512; add.u32 %t8, %t10, %t8; st.shared.u32 [%t8], %t9; bar.sync 0;"
#define OUT                                                                                                            \
  "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [%t10], 128;\n"

static void a_map_is_changed_in_shared_memory(void **state)
{
  (void)state;
  static const map_case of = {
      "f32",
      MAP(.type = EMU_MAP_F32, .rank = 2, .dims = {32, 20}, .strides = {128}, .box = {32, 4}, .steps = S1),
      {0},
      "sm_100a"};
  map_set_up(&of);
  map_expect_ok(
      &of, map_run("sm_100a",
                   IN_SHARED CHANGE("swizzle_mode.shared::cta.b1024.b32", "[%t10], 3")
                       CHANGE("swizzle_atomicity.shared.b1024.b32", "[%t10], 1") "bar.sync 0;" OUT CHANGED INIT LOAD(
                           "2d.shared::cluster.global", "[%t1], [%map, {0, 5}], [%t0]") LOOK TO_GLOBAL,
                   512, 1, 7));
  for (unsigned i = 0; i < 512; i++) {
    assert_int_equal(map_kernel_data.box[0][map_place(EMU_MAP_SWIZZLE_128_ATOM_32, i)], map_tensor[5 * 128 + i]);
  }
  emu_free(map_memory);
}

static const fault_row changes[] = {
    {"no fence behind a change",
     CHANGE("box_dim.global.b1024.b32", "[%map], 1, 4") "bar.sync 0;" INIT LOAD("2d.shared::cluster.global",
                                                                                "[%t1], [%map, {0, 3}], [%t0]"),
     EMU_ILLEGAL_INSTRUCTION, "was changed, and no fence.proxy.tensormap::generic.acquire has followed", NULL},
    {"the fence's other half alone",
     CHANGE("box_dim.global.b1024.b32", "[%map], 1, 4") "fence.proxy.tensormap::generic.release.gpu; bar.sync 0;" INIT
         LOAD("2d.shared::cluster.global", "[%t1], [%map, {0, 3}], [%t0]"),
     EMU_ILLEGAL_INSTRUCTION, "has followed", NULL},
    {"a change that makes the map illegal",
     CHANGE("box_dim.global.b1024.b32", "[%map], 0, 8")
         CHANGED INIT LOAD("2d.shared::cluster.global", "[%t1], [%map, {0, 3}], [%t0]"),
     EMU_ILLEGAL_INSTRUCTION, "tensor map: a box of 8 elements in dimension 0, no multiple of 16 bytes", NULL},
    {"a rank of six", CHANGE("rank.global.b1024.b32", "[%map], 5"), EMU_ILLEGAL_INSTRUCTION,
     "a value of 5, which a tensor map does not have", NULL},
    {"an ordinal of five", CHANGE("box_dim.global.b1024.b32", "[%map], 5, 4"), EMU_ILLEGAL_INSTRUCTION,
     "an ordinal of 5", NULL},
    {"a swizzle of 96 bytes", CHANGE("swizzle_mode.global.b1024.b32", "[%map], 4"), EMU_ILLEGAL_INSTRUCTION,
     "a value of 4", NULL},
    {"a change of what is no map", CHANGE("rank.global.b1024.b32", "[%out+256], 1"), EMU_ILLEGAL_INSTRUCTION,
     "no tensor map at 0x", NULL},
    {"a fence of another size", "fence.proxy.tensormap::generic.acquire.gpu [%map], 64;", EMU_ILLEGAL_INSTRUCTION,
     "a size of 64: 128, of a tensor map, is wanted", NULL},
    {"atoms before sm_100", CHANGE("swizzle_atomicity.global.b1024.b32", "[%map], 0"), EMU_INVALID_PTX,
     "sm_90a does not have this instruction", NULL},
};

static void wrong_changes_are_told(void **state)
{
  (void)state;
  run_faults(changes, sizeof changes / sizeof changes[0]);
}

/* Pairs of four bits without gaps are bytes. */
static void packed_elements_are_bytes(void **state)
{
  (void)state;
  static const map_case of = {
      "u4",
      MAP(.type = EMU_MAP_16U4_ALIGN8, .rank = 2, .dims = {96, 20}, .strides = {64}, .box = {64, 4}, .steps = S1),
      {0},
      "sm_100a"};
  map_set_up(&of);
  map_expect_ok(&of,
                map_run("sm_100a", INIT LOAD("2d.shared::cta.global", "[%t1], [%map, {64, 1}], [%t0]") LOOK TO_GLOBAL,
                        128, 1, 1));
  for (unsigned i = 0; i < 128; i++) {
    assert_int_equal(map_kernel_data.box[0][i], i % 32 < 16 ? map_tensor[(1 + i / 32) * 64 + 32 + i % 32] : 0);
  }
  emu_free(map_memory);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(four_rows_are_gathered),
      cmocka_unit_test(four_rows_are_scattered),
      cmocka_unit_test(copies_reach_the_blocks_of_a_cluster),
      cmocka_unit_test(a_box_is_added),
      cmocka_unit_test(reductions_have_their_types),
      cmocka_unit_test(each_fault_is_told),
      cmocka_unit_test(what_is_not_emulated_is_refused),
      cmocka_unit_test(packed_elements_are_bytes),
      cmocka_unit_test(a_map_is_changed_in_global_memory),
      cmocka_unit_test(a_map_is_changed_in_shared_memory),
      cmocka_unit_test(wrong_changes_are_told),
  };
  return SJ_TEST_RUN(tests);
}
