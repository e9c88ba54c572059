/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "values.h"

const char golden_module_head[] = ".version 8.7\n.target sm_90a\n.address_size 64\n"
                                  ".const .align 16 .b64 table[4] = {0x8182838485868788, 0x7172737475767778, "
                                  "0xf1e2d3c4b5a69788, 0x00ff00ff80017ffe};\n";

static void add(char *to, size_t *length, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(char *to, size_t *length, const char *format, ...)
{
  va_list list;
  va_start(list, format);
  const int added = vsnprintf(to + *length, GOLDEN_KERNEL_ROOM - *length, format, list);
  va_end(list);
  *length += added > 0 ? (size_t)added : 0;
}

static void declare(char *to, size_t *length, const char *letters, char prefix)
{
  for (unsigned i = 0; letters[i] != 0; i++) {
    const unsigned bytes = golden_bytes(letters[i]);
    if (bytes == 1) {
      add(to, length, ".reg .pred %c%u;\n", prefix, i);
    } else {
      add(to, length, ".reg .b%u %c%u;\n", 8 * bytes, prefix, i);
    }
  }
}

static void load(char *to, size_t *length, const golden_case *one)
{
  const unsigned threads = golden_num_threads(one);
  for (unsigned i = 0; i < one->num_sources; i++) {
    const unsigned bytes = golden_bytes(one->sources[i]);
    const unsigned long long at = 8ull * threads * i;
    if (bytes == 8) {
      add(to, length, "ld.global.b64 a%u, [input+%llu];\n", i, at);
    } else if (bytes == 1) {
      add(to, length, "ld.global.b64 u0, [input+%llu];\nsetp.ne.u64 a%u, u0, 0;\n", at, i);
    } else {
      add(to, length, "ld.global.b64 u0, [input+%llu];\ncvt.u%u.u64 a%u, u0;\n", at, 8 * bytes, i);
    }
  }
}

static void store(char *to, size_t *length, const golden_case *one)
{
  const unsigned threads = golden_num_threads(one);
  for (unsigned i = 0; i < one->num_results; i++) {
    const unsigned bytes = golden_bytes(one->results[i]);
    const unsigned long long at = 8ull * threads * i;
    if (bytes == 8) {
      add(to, length, "st.global.b64 [result+%llu], r%u;\n", at, i);
    } else if (bytes == 1) {
      add(to, length, "selp.b64 u0, 1, 0, r%u;\nst.global.b64 [result+%llu], u0;\n", i, at);
    } else {
      add(to, length, "cvt.u64.u%u u0, r%u;\nst.global.b64 [result+%llu], u0;\n", 8 * bytes, i, at);
    }
  }
}

/* The opcode with its operands in order. */
static void add_plain(char *to, size_t *length, const golden_case *one)
{
  add(to, length, "%s r0%s", one->opcode, one->num_results > 1 ? "|r1" : "");
  for (unsigned i = 0; i < one->num_sources; i++) {
    add(to, length, ", a%u", i);
  }
  add(to, length, ";\n");
}

static void add_text(char *to, size_t *length, const golden_case *one)
{
  for (const char *at = one->row->text; *at != 0; at++) {
    if (*at == '$') {
      add(to, length, "%s", one->opcode);
    } else {
      add(to, length, "%c", *at);
    }
  }
  add(to, length, "\n");
}

static const char places[] = "mov.u32 t0, pool;\nmad.lo.u32 spot, thread, 48, t0;\nmad.lo.u32 row, thread, 16, t0;\n"
                             "xor.b32 beside, thread, 1;\nmad.lo.u32 beside, beside, 16, t0;\n"
                             "xor.b32 across, thread, 65;\nmad.lo.u32 across, across, 16, t0;\n"
                             "mov.u32 lane, %laneid;\n";

size_t golden_kernel(const golden_case *one, size_t number, char *to)
{
  size_t length = 0;
  add(to, &length,
      ".visible .entry case%zu(.param .u64 inputs, .param .u64 results, .param .u64 memories, "
      ".param .align 16 .b8 words[32])\n{\n",
      number);
  add(to, &length,
      ".reg .pred q<4>;\n.reg .b16 s<8>;\n.reg .b32 t<8>, thread, global, lane, spot, row, beside, across;\n"
      ".reg .b64 u<8>, input, result, memory;\n");
  declare(to, &length, one->results, 'r');
  declare(to, &length, one->sources, 'a');
  if (one->row->text != NULL) {
    add(to, &length, ".shared .align 128 .b8 pool[8192];\n.local .align 16 .b8 own[64];\n");
  }
  add(to, &length,
      "mov.u32 thread, %%tid.x;\nmov.u32 global, %%ctaid.x;\nmad.lo.u32 global, global, %d, thread;\n"
      "ld.param.u64 u0, [inputs];\nmad.wide.u32 input, global, 8, u0;\n"
      "ld.param.u64 u0, [results];\nmad.wide.u32 result, global, 8, u0;\n",
      GOLDEN_BLOCK);
  if (one->row->text != NULL) {
    add(to, &length, "ld.param.u64 u0, [memories];\nmad.wide.u32 memory, global, %d, u0;\n%s", GOLDEN_THREAD_MEMORY,
        places);
  }
  load(to, &length, one);
  if (one->row->text != NULL) {
    add_text(to, &length, one);
  } else {
    add_plain(to, &length, one);
  }
  store(to, &length, one);
  add(to, &length, "ret;\n}\n");
  return length;
}
