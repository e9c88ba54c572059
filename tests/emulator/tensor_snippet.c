/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_snippet.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snippet.h"

static const char head[] = ".version 9.0\n.target sm_100a\n.address_size 64\n"
                           ".extern .shared .align 1024 .b8 shared[];\n"
                           ".visible .entry snippet(.param .u64 data)%s\n{\n"
                           ".reg .b64 %%base, %%rd<32>;\n"
                           ".reg .b32 %%thread, %%warp, %%lane, %%smem, %%tm, %%mbar, %%r<200>;\n"
                           ".reg .b16 %%h<8>;\n.reg .pred %%p<16>, %%first, %%leader;\n"
                           "ld.param.u64 %%base, [data];\nmov.u32 %%thread, %%tid.x;\nshr.u32 %%warp, %%thread, 5;\n"
                           "and.b32 %%lane, %%thread, 31;\nmov.u32 %%smem, shared;\n"
                           "setp.eq.u32 %%first, %%warp, 0;\nsetp.eq.u32 %%leader, %%thread, 0;\n";

void tensor_add(tensor_text *text, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  const int more = vsnprintf(text->at + text->length, sizeof text->at - text->length, format, arguments);
  va_end(arguments);
  if (more < 0 || (size_t)more >= sizeof text->at - text->length) {
    printf("a text of more than %zu bytes\n", sizeof text->at);
    abort();
  }
  text->length += (size_t)more;
}

static tensor_text whole;

static void write_kernel(const char *body, unsigned blocks)
{
  char cluster[64] = "";
  if (blocks != 0) {
    snprintf(cluster, sizeof cluster, " .reqnctapercluster %u, 1, 1", blocks);
  }
  whole.length = 0;
  tensor_add(&whole, head, cluster);
  tensor_add(&whole, "%s\nret;\n}\n", body);
  const char *dump = getenv("EMULATOR_TEST_PTX");
  FILE *file = dump == NULL ? NULL : fopen(dump, "w");
  if (file != NULL) {
    (void)fputs(whole.at, file);
    (void)fclose(file);
  }
}

int tensor_load(const char *text, emu_message *message)
{
  write_kernel(text, 0);
  emu_module *module = NULL;
  const int result = emu_module_load(whole.at, whole.length, emu_device_find("sm_100a"), &module, message);
  if (result == EMU_OK) {
    emu_module_free(module);
  }
  return result;
}

void tensor_run(tensor_snippet *snippet)
{
  write_kernel(snippet->text, snippet->blocks);
  const unsigned blocks = snippet->blocks != 0 ? snippet->blocks : 1;
  snippet->result = snippet_run_kernel("sm_100a", whole.at, snippet->data, snippet->size, blocks,
                                       snippet->threads != 0 ? snippet->threads : 128,
                                       snippet->shared != 0 ? snippet->shared : 65536, &snippet->message);
}

static unsigned run_row(const tensor_row *row, uint64_t seed)
{
  static uint8_t data[65536];
  memset(data, 0, sizeof data);
  tensor_snippet snippet = {
      .text = row->text, .data = data, .size = sizeof data, .threads = row->threads, .blocks = row->blocks};
  const emu_settings settings = {seed, 1};
  emu_configure(&settings);
  tensor_run(&snippet);
  const char *said = snippet.message.text;
  const int right = row->result < 0 ? snippet.result != EMU_OK : snippet.result == row->result;
  if (right && (row->says == NULL ? said[0] == 0 : strstr(said, row->says) != NULL)) {
    return 0;
  }
  printf("%s, seed %llu: result %d instead of %d, \"%s\" wanted:\n%s\n", row->what, (unsigned long long)seed,
         snippet.result, row->result, row->says != NULL ? row->says : "nothing", snippet.message.text);
  return 1;
}

unsigned tensor_rows_run(const tensor_row *rows, size_t count)
{
  unsigned wrong = 0;
  for (size_t i = 0; i < count; i++) {
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= 12 && found == 0; seed++) {
      found = run_row(&rows[i], seed);
    }
    wrong += found;
  }
  return wrong;
}
