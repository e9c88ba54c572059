/* SPDX-License-Identifier: Apache-2.0 */
#include "map_kernel.h"

#include "test_main.h"

#include <stdio.h>
#include <string.h>

enum { SHARED = MAP_BOX_ROOM + 2048 };

map_data map_kernel_data;
uint8_t map_tensor[MAP_TENSOR_ROOM];
uint64_t map_memory;
emu_message map_message;

static uint8_t draw(void)
{
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (uint8_t)(state >> 24);
}

/* ---- Kernels ---------------------------------------------------------------------------------------------- */

static const char head[] =
    ".version 9.0\n.target %s\n.address_size 64\n.extern .shared .align 1024 .b8 shared[];\n"
    ".visible .entry k(.param .u64 data)\n%s{\n.reg .b64 %%map, %%out, %%l<8>;\n.reg .b32 %%t<16>;\n"
    ".reg .pred %%p<8>;\n.reg .b16 %%h<4>;\nld.param.u64 %%map, [data];\nmov.u32 %%t0, shared;\n"
    "add.u32 %%t1, %%t0, 1024;\nmov.u32 %%t2, %%tid.x;\nmov.u32 %%t3, %%ctaid.x;\nsetp.eq.u32 %%p1, %%t2, 0;\n"
    "setp.eq.u32 %%p0, %%t3, 0;\nand.pred %%p0, %%p0, %%p1;\nmul.wide.u32 %%l0, %%t3, 16384;\n"
    "add.u64 %%out, %%map, %%l0;\nmov.u16 %%h0, 3;\nmov.u64 %%l5, 0;\nxor.b32 %%t4, %%t3, 1;\n%s\nret;\n}\n";

/* The text with BYTES, the box's bytes, as a number. */
static void fill_in(char *to, size_t room, const char *text, unsigned bytes)
{
  size_t used = 0;
  while (*text != 0 && used + 16 < room) {
    if (strncmp(text, "BYTES", 5) == 0) {
      used += (size_t)snprintf(to + used, room - used, "%u", bytes);
      text += 5;
    } else {
      to[used++] = *text++;
    }
  }
  to[used] = 0;
}

int map_run(const char *arch, const char *text, unsigned bytes, unsigned blocks, uint64_t seed)
{
  static char body[8192], all[16384];
  char cluster[64] = "";
  if (blocks > 1) {
    snprintf(cluster, sizeof cluster, ".reqnctapercluster %u\n", blocks);
  }
  fill_in(body, sizeof body, text, bytes);
  snprintf(all, sizeof all, head, arch, cluster, body);
  emu_configure(&(emu_settings){seed, 1});
  return snippet_run_kernel(arch, all, &map_kernel_data, sizeof map_kernel_data, blocks, 32, SHARED, &map_message);
}

/* ---- Tensors ---------------------------------------------------------------------------------------------- */

/* 5.5.7: which 16 bytes of a line of 128 stand where, by the line; the tables' rows repeat. */
static const uint8_t table_32[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}};
static const uint8_t table_64[4][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5}, {3, 2, 1, 0, 7, 6, 5, 4}};
static const uint8_t table_128[8][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}, {2, 3, 0, 1, 6, 7, 4, 5},
                                        {3, 2, 1, 0, 7, 6, 5, 4}, {4, 5, 6, 7, 0, 1, 2, 3}, {5, 4, 7, 6, 1, 0, 3, 2},
                                        {6, 7, 4, 5, 2, 3, 0, 1}, {7, 6, 5, 4, 3, 2, 1, 0}};
static const uint8_t table_atom_32[4][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
static const uint8_t table_atom_64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};

/* Where a byte of the box stands, which begins at a multiple of 1024. */
uint32_t map_place(uint32_t swizzle, uint32_t offset)
{
  static const struct {
    const uint8_t (*rows)[8];
    unsigned count;
  } tables[] = {{NULL, 0},          {table_32, 2},      {table_64, 4},     {table_128, 8},
                {table_atom_32, 4}, {table_atom_32, 4}, {table_atom_64, 2}};
  if (swizzle == EMU_MAP_SWIZZLE_NONE) {
    return offset;
  }
  const uint32_t line = offset / 128, chunk = offset / 16 % 8;
  uint32_t found = 0;
  while (tables[swizzle].rows[line % tables[swizzle].count][found] != chunk) {
    found++;
  }
  const uint32_t flip = swizzle == EMU_MAP_SWIZZLE_128_ATOM_32_FLIP_8 && line % 2 == 1 ? 8 : 0;
  return line * 128 + found * 16 + (offset % 16 ^ flip);
}

/* A tensor of random bytes in global memory, and the map of it. */
void map_set_up(const map_case *of)
{
  emu_tensor_map map = of->map;
  map_memory = emu_alloc(MAP_TENSOR_ROOM);
  for (unsigned i = 0; i < MAP_TENSOR_ROOM; i++) {
    map_tensor[i] = draw();
  }
  emu_copy_in(map_memory, map_tensor, MAP_TENSOR_ROOM);
  map.address = map_memory;
  const emu_device *device = emu_device_find(of->arch != NULL ? of->arch : "sm_90a");
  memset(&map_kernel_data, 0, sizeof map_kernel_data);
  if (!emu_tensor_map_check(&map, device, &map_message)) {
    fail_msg("%s: %s", of->what, map_message.text);
  }
  emu_tensor_map_encode(&map, map_kernel_data.map);
  for (unsigned b = 0; b < MAP_BOX_ROOM; b++) {
    map_kernel_data.box[0][b] = draw();
  }
}

void map_expect_ok(const map_case *of, int result)
{
  if (result != EMU_OK) {
    fail_msg("%s: result %d\n%s", of->what, result, map_message.text);
  }
}
