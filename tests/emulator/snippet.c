/* SPDX-License-Identifier: Apache-2.0 */
#include "snippet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    ".version 9.0\n.target %s\n.address_size 64\n"
    ".extern .shared .align 128 .b8 shared[];\n"
    ".visible .entry snippet(.param .u64 data)\n%s{\n"
    ".reg .b64 %%la<4>, %%ld<4>, %%base, %%scaled;\n.reg .b32 %%a<8>, %%d<8>, %%thread, %%rank;\n"
    ".reg .pred %%p<8>, %%q<8>;\n.reg .b16 %%h<16>;\n.reg .b32 %%t<16>;\n.reg .b64 %%l<16>;\n"
    "ld.param.u64 %%base, [data];\nmov.u32 %%rank, %%ctaid.x;\nmov.u32 %%thread, %%ntid.x;\n"
    "mul.lo.u32 %%thread, %%thread, %%rank;\nmov.u32 %%d7, %%tid.x;\nadd.u32 %%thread, %%thread, %%d7;\nmul.wide.u32 "
    "%%scaled, %%thread, 128;\n"
    "add.u64 %%base, %%base, %%scaled;\n";

/* The registers' names in the head, as printf leaves them, and the words of the data. */
static size_t write_text(char *to, size_t room, const emu_snippet *snippet)
{
  const char *arch = snippet->arch != NULL ? snippet->arch : "sm_90a";
  char cluster[64] = "";
  if (snippet->blocks > 1 && !snippet->apart) {
    snprintf(cluster, sizeof cluster, ".reqnctapercluster %u\n", snippet->blocks);
  }
  size_t at = (size_t)snprintf(to, room, head, arch, cluster);
  for (unsigned i = 0; i < SNIPPET_WORDS; i++) {
    at += (size_t)snprintf(to + at, room - at, "ld.global.u32 %%a%u, [%%base+%u];\nmov.u32 %%d%u, 0x55555555;\n", i,
                           8 * i, i);
  }
  for (unsigned i = 0; i < 4; i++) {
    at += (size_t)snprintf(to + at, room - at,
                           "ld.global.u64 %%la%u, [%%base+%u];\nmov.u64 %%ld%u, 0x5555555555555555;\n", i, 8 * i, i);
  }
  at += (size_t)snprintf(to + at, room - at, "%s\n", snippet->text);
  for (unsigned i = 0; i < 4; i++) {
    at += (size_t)snprintf(to + at, room - at, "st.global.u32 [%%base+%u], %%d%u;\n", 64 + 4 * i, i);
  }
  for (unsigned i = 0; i < 4; i++) {
    at += (size_t)snprintf(to + at, room - at, "st.global.u64 [%%base+%u], %%ld%u;\n", 96 + 8 * i, i);
  }
  return at + (size_t)snprintf(to + at, room - at, "ret;\n}\n");
}

int snippet_run_kernel(const char *arch, const char *ptx, void *data, size_t size, unsigned blocks, unsigned threads,
                       unsigned shared, emu_message *message)
{
  const emu_device *device = emu_device_find(arch);
  emu_module *module = NULL;
  int result = emu_module_load(ptx, strlen(ptx), device, &module, message);
  if (result != EMU_OK) {
    return result;
  }
  const uint64_t memory = emu_alloc(size);
  emu_copy_in(memory, data, size);
  const emu_launch launch = {.kernel = emu_module_kernel_at(module, 0),
                             .grid = {blocks, 1, 1},
                             .block = {threads, 1, 1},
                             .dynamic_shared = shared,
                             .params = &memory,
                             .params_size = sizeof memory};
  result = emu_run(device, &launch, NULL, message);
  emu_copy_out(data, memory, size);
  emu_free(memory);
  emu_module_free(module);
  return result;
}

void snippet_run(emu_snippet *snippet)
{
  enum { ROOM = 65536, STRIDE = 128 };
  static char text[ROOM];
  static uint8_t data[128 * STRIDE];
  const unsigned each = snippet->threads != 0 ? snippet->threads : SNIPPET_LANES;
  const unsigned blocks = snippet->blocks != 0 ? snippet->blocks : 1, threads = each * blocks;
  write_text(text, sizeof text, snippet);
  memset(data, 0, sizeof data);
  for (unsigned t = 0; t < threads; t++) {
    memcpy(data + (size_t)t * STRIDE, snippet->in[t], 64);
  }
  snippet->result = snippet_run_kernel(snippet->arch != NULL ? snippet->arch : "sm_90a", text, data, sizeof data,
                                       blocks, each, snippet->shared, &snippet->message);
  for (unsigned t = 0; t < threads; t++) {
    for (unsigned i = 0; i < 4; i++) {
      memcpy(&snippet->out[t][i + 4], data + (size_t)t * STRIDE + 96 + (size_t)8 * i, 8);
    }
    snippet->out[t][0] = snippet->out[t][1] = snippet->out[t][2] = snippet->out[t][3] = 0;
    for (unsigned i = 0; i < 4; i++) {
      memcpy(&snippet->out[t][i], data + (size_t)t * STRIDE + 64 + (size_t)4 * i, 4);
    }
  }
}
