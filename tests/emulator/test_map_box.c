/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of all ranks copied in both directions (PTX ISA, cp.async.bulk.tensor; 5.5.3 tiled mode; 5.5.7 swizzling modes)
 * against a model made element by element from the manual's words and tables. */
#include "test_main.h"

#include <stdio.h>
#include <string.h>

#include "map_kernel.h"

static uint32_t element_bytes(const emu_tensor_map *map)
{
  return emu_tensor_map_bits(map->type) / 8;
}

static uint32_t box_count(const emu_tensor_map *map, unsigned i)
{
  const uint32_t by = i == 0 ? 1 : map->steps[i];
  return i < map->rank ? (map->box[i] + by - 1) / by : 1;
}

static uint32_t box_bytes(const emu_tensor_map *map)
{
  uint32_t bytes = element_bytes(map);
  for (unsigned i = 0; i < map->rank; i++) {
    bytes *= box_count(map, i);
  }
  return bytes;
}

/* The place of element number of the box in the tensor's bytes; -1: outside. */
static int64_t in_tensor(const map_case *of, uint32_t number)
{
  int64_t at = 0;
  for (unsigned i = 0; i < of->map.rank; i++) {
    const uint32_t count = box_count(&of->map, i);
    const int64_t coordinate = of->at[i] + (int64_t)(number % count) * (i == 0 ? 1 : of->map.steps[i]);
    number /= count;
    if (coordinate < 0 || coordinate >= (int64_t)of->map.dims[i]) {
      return -1;
    }
    at += coordinate * (i == 0 ? element_bytes(&of->map) : (int64_t)of->map.strides[i - 1]);
  }
  return at;
}

/* ---- Boxes ------------------------------------------------------------------------------------------------ */

static const map_case cases[] = {
    {"1d", MAP(.type = EMU_MAP_U8, .rank = 1, .dims = {500}, .box = {256}, .steps = S1), {17}, NULL},
    {"1d past the end", MAP(.type = EMU_MAP_U16, .rank = 1, .dims = {100}, .box = {64}, .steps = S1), {70}, NULL},
    {"1d before the beginning",
     MAP(.type = EMU_MAP_S32, .rank = 1, .dims = {100}, .box = {64}, .steps = S1),
     {-10},
     NULL},
    {"1d outside", MAP(.type = EMU_MAP_U64, .rank = 1, .dims = {100}, .box = {32}, .steps = S1), {100}, NULL},
    {"2d",
     MAP(.type = EMU_MAP_F32, .rank = 2, .dims = {40, 20}, .strides = {192}, .box = {16, 8}, .steps = S1),
     {3, 5},
     NULL},
    {"2d over two ends",
     MAP(.type = EMU_MAP_BF16, .rank = 2, .dims = {40, 20}, .strides = {96}, .box = {16, 8}, .steps = S1),
     {33, 16},
     NULL},
    {"2d before both beginnings",
     MAP(.type = EMU_MAP_F64, .rank = 2, .dims = {40, 20}, .strides = {320}, .box = {8, 8}, .steps = S1),
     {-3, -2},
     NULL},
    {"2d with steps",
     MAP(.type = EMU_MAP_S64, .rank = 2, .dims = {20, 40}, .strides = {160}, .box = {8, 24}, .steps = {7, 3}),
     {2, 4},
     NULL},
    {"2d with a step that does not divide the box",
     MAP(.type = EMU_MAP_F16, .rank = 2, .dims = {40, 40}, .strides = {80}, .box = {16, 25}, .steps = {1, 8}),
     {2, 20},
     NULL},
    {"3d",
     MAP(.type = EMU_MAP_U16, .rank = 3, .dims = {24, 10, 6}, .strides = {48, 512}, .box = {16, 4, 3}, .steps = S1),
     {5, 8, 4},
     NULL},
    {"4d",
     MAP(.type = EMU_MAP_U8, .rank = 4, .dims = {32, 5, 6, 7}, .strides = {32, 160, 1024}, .box = {16, 2, 3, 4},
         .steps = {1, 1, 2, 1}),
     {7, -1, 2, 5},
     NULL},
    {"5d",
     MAP(.type = EMU_MAP_U32, .rank = 5, .dims = {8, 4, 5, 3, 3}, .strides = {32, 128, 640, 1920},
         .box = {4, 2, 2, 3, 2}, .steps = {1, 1, 1, 1, 2}),
     {2, 1, 3, 0, 1},
     NULL},
    {"swizzle of 32 bytes",
     MAP(.type = EMU_MAP_BF16, .rank = 2, .dims = {64, 40}, .strides = {128}, .box = {16, 32}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_32),
     {16, 3},
     NULL},
    {"swizzle of 64 bytes",
     MAP(.type = EMU_MAP_BF16, .rank = 2, .dims = {64, 40}, .strides = {128}, .box = {32, 32}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_64),
     {8, 3},
     NULL},
    {"swizzle of 128 bytes",
     MAP(.type = EMU_MAP_BF16, .rank = 2, .dims = {128, 40}, .strides = {256}, .box = {64, 32}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_128),
     {64, 3},
     NULL},
    {"swizzle of 128 bytes over the ends",
     MAP(.type = EMU_MAP_U8, .rank = 2, .dims = {200, 40}, .strides = {208}, .box = {128, 16}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_128),
     {99, 30},
     NULL},
    {"swizzle of 128 bytes, 3d",
     MAP(.type = EMU_MAP_F16, .rank = 3, .dims = {64, 9, 5}, .strides = {128, 1152}, .box = {64, 5, 3}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_128),
     {0, 1, 2},
     NULL},
    {"swizzle with atoms of 32 bytes",
     MAP(.type = EMU_MAP_F32, .rank = 2, .dims = {64, 40}, .strides = {256}, .box = {32, 16}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_128_ATOM_32),
     {5, 3},
     "sm_100a"},
    {"swizzle with atoms of 32 bytes, flipped",
     MAP(.type = EMU_MAP_F32, .rank = 2, .dims = {64, 40}, .strides = {256}, .box = {32, 16}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_128_ATOM_32_FLIP_8),
     {6, 3},
     "sm_100a"},
    {"swizzle with atoms of 64 bytes",
     MAP(.type = EMU_MAP_F64, .rank = 2, .dims = {64, 40}, .strides = {512}, .box = {16, 16}, .steps = S1,
         .swizzle = EMU_MAP_SWIZZLE_128_ATOM_64),
     {6, 3},
     "sm_100a"},
    {"a fill with NaN",
     MAP(.type = EMU_MAP_F32, .rank = 2, .dims = {20, 10}, .strides = {80}, .box = {16, 8}, .steps = S1,
         .fill = EMU_MAP_FILL_NAN),
     {10, 7},
     NULL},
};

enum { NUM_CASES = sizeof cases / sizeof cases[0] };

static void write_coordinates(char *to, size_t room, const map_case *of)
{
  size_t used = 0;
  for (unsigned i = 0; i < of->map.rank; i++) {
    used += (size_t)snprintf(to + used, room - used, "%s%d", i == 0 ? "" : ", ", of->at[i]);
  }
}

static int is_nan(const uint8_t *at, uint32_t bytes)
{
  double wide;
  float narrow;
  memcpy(&wide, at, bytes == 8 ? 8 : 0);
  memcpy(&narrow, at, bytes == 4 ? 4 : 0);
  return bytes == 8 ? wide != wide : narrow != narrow;
}

static void check_loaded(const map_case *of)
{
  const uint32_t size = element_bytes(&of->map), bytes = box_bytes(&of->map);
  static const uint8_t zeros[8];
  for (uint32_t number = 0; number * size < bytes; number++) {
    const int64_t from = in_tensor(of, number);
    uint8_t got[8];
    for (uint32_t i = 0; i < size; i++) {
      got[i] = map_kernel_data.box[0][map_place(of->map.swizzle, number * size + i)];
    }
    const int is_right = from < 0 && of->map.fill == EMU_MAP_FILL_NAN
                             ? is_nan(got, size)
                             : memcmp(got, from < 0 ? zeros : map_tensor + from, size) == 0;
    if (!is_right) {
      fail_msg("%s: element %u of the box is wrong", of->what, number);
    }
  }
}

static void boxes_are_loaded(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 3 * NUM_CASES; i++) {
    const map_case *of = &cases[i / 3];
    char text[2048], at[128];
    map_set_up(of);
    write_coordinates(at, sizeof at, of);
    snprintf(text, sizeof text,
             "%s@%%p1 cp.async.bulk.tensor.%ud.shared::%s.global%s" TX "%s [%%t1], [%%map, {%s}], [%%t0]%s;\n%s", INIT,
             of->map.rank, i % 2 == 0 ? "cluster" : "cta", i % 3 == 0 ? ".tile" : "",
             i % 3 == 1 ? ".L2::cache_hint" : "", at, i % 3 == 1 ? ", %l5" : "", LOOK TO_GLOBAL);
    map_expect_ok(of, map_run(of->arch != NULL ? of->arch : "sm_90a", text, box_bytes(&of->map), 1, i + 1));
    check_loaded(of);
    emu_free(map_memory);
  }
}

static void check_stored(const map_case *of)
{
  static uint8_t wanted[MAP_TENSOR_ROOM], got[MAP_TENSOR_ROOM];
  const uint32_t size = element_bytes(&of->map), bytes = box_bytes(&of->map);
  memcpy(wanted, map_tensor, sizeof wanted);
  for (uint32_t number = 0; number * size < bytes; number++) {
    const int64_t to = in_tensor(of, number);
    for (uint32_t i = 0; i < size && to >= 0; i++) {
      wanted[to + i] = map_kernel_data.box[0][map_place(of->map.swizzle, number * size + i)];
    }
  }
  emu_copy_out(got, map_memory, sizeof got);
  if (memcmp(wanted, got, sizeof wanted) != 0) {
    fail_msg("%s: the tensor is wrong", of->what);
  }
}

static void boxes_are_stored(void **state)
{
  (void)state;
  for (unsigned i = 0; i < NUM_CASES; i++) {
    const map_case *of = &cases[i];
    char text[2048], at[128];
    int is_negative = 0;
    map_set_up(of);
    for (unsigned d = 0; d < of->map.rank; d++) {
      is_negative |= of->at[d] < 0;
    }
    write_coordinates(at, sizeof at, of);
    snprintf(text, sizeof text,
             "%s@%%p1 cp.async.bulk.tensor.%ud.global.shared::cta%s.bulk_group%s [%%map, {%s}], [%%t1]%s;\n%s",
             TO_SHARED FENCE, of->map.rank, i % 2 == 0 ? ".tile" : "", i % 3 == 0 ? ".L2::cache_hint" : "", at,
             i % 3 == 0 ? ", %l5" : "", WAIT);
    const int result = map_run(of->arch != NULL ? of->arch : "sm_90a", text, box_bytes(&of->map), 1, i + 1);
    if (is_negative) {
      assert_int_equal(result, EMU_ILLEGAL_INSTRUCTION);
      assert_non_null(strstr(map_message.text, "a box to global memory begins at coordinate -"));
    } else {
      map_expect_ok(of, result);
      check_stored(of);
    }
    emu_free(map_memory);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes_are_loaded),
      cmocka_unit_test(boxes_are_stored),
  };
  return SJ_TEST_RUN(tests);
}
