/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser makes of a text, and what it and the decoder say of one that is wrong: the place and the word. */
#include "test_main.h"

#include <string.h>

#include "machine.h"
#include "ptx_module.h"

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"
#define KERNEL(body)                                                                                                   \
  HEAD ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %l<4>;\n" body "\n}\n"

typedef struct bad_text {
  const char *text;
  const char *says;
} bad_text;

static const bad_text bad[] = {
    {"", "1:1: the text ends here: .version"},
    {".version", "a version such as 9.0"},
    {".version nine", "1:10: unexpected 'nine'"},
    {".version 9.0\n.target 90", "2:9: unexpected '90'"},
    {".version 9.0\n.target sm_90a\n.address_size 32\n", "3:15: addresses of 32 bits"},
    {HEAD "\x01", "4:1: byte 1 is none of PTX"},
    {HEAD "kernel", "4:1: unexpected 'kernel'"},
    {HEAD ".func f() { ret; }", "4:1: .func"},
    {HEAD ".global .u33 x;", "4:9: unexpected '.u33': a type"},
    {HEAD ".global .u32 x[4] = {1, 2, 3, 4, 5};", "larger than 'x'"},
    {HEAD ".global .u32 x = y;", "no addresses"},
    {HEAD ".global .u32 x;\n.global .u64 x;", "5:14: 'x' is declared at 4:14 already"},
    {HEAD ".global .align 3 .u32 x;", "a power of two"},
    {HEAD ".global .b8 x[268435456][2];", "a variable of more than"},
    {HEAD ".extern .global .u32 x;", "no other module"},
    {HEAD ".shared .u32 x = 1;", "only .global and .const"},
    {HEAD ".entry k(", ".param is missing"},
    {HEAD ".entry k()\n{\n", "6:1: the text ends here"},
    {HEAD ".entry k() { }\n.entry k() { }", "5:8: a kernel of this name"},
    {KERNEL("add.u32 %r0, %r1"), "';' is wanted"},
    {KERNEL("add.u32 %r0, %r9, 1;"), "9:14: '%r9' is not declared"},
    {KERNEL("add.u32 %r0, %r1, %tid.w;"), "9:23: unexpected '.w'"},
    {KERNEL("bra NOWHERE;"), "9:5: 'NOWHERE' is neither declared nor a label"},
    {KERNEL("L:\nL:\nret;"), "10:1: the label 'L' stands above"},
    {KERNEL("{ INNER: ret; }\nbra INNER;"), "10:5: 'INNER' is neither"},
    {KERNEL("@%r0 ret;"), "a predicate is wanted"},
    {KERNEL("mov.u32 %r0, !%r1;"), "'!' stands before predicates only"},
    {KERNEL("mov.u32 %r0, 0x;"), "9:14"},
    {KERNEL("mov.u32 %r0, 18446744073709551616;"), "9:14"},
    {KERNEL("mov.u32 %r0, 0f3f8;"), "9:14"},
    {KERNEL("mov.u32 %r0, {%r1, %r2;"), "'}' is wanted"},
    {KERNEL("ld.global.u32 %r0, [%l0;"), "']' is wanted"},
    /* The decoder. */
    {KERNEL("frobnicate.u32 %r0;"), "9:1: frobnicate.u32: the emulator for sm_90a does not know this instruction"},
    {KERNEL("add.u33 %r0, %r1, %r2;"), "9:1: add.u33"},
    {KERNEL("add.u32 %r0, %r1;"), "9:1: add.u32: an operand is missing"},
    {KERNEL("add.u32 %r0, %r1, %r2, %r3;"), "9:24: add.u32: an operand too many"},
    {KERNEL("add.u32 %r0, %l1, %r2;"), "9:14: add.u32: 32 bits is wanted here"},
    {KERNEL("add.u32 5, %r1, %r2;"), "9:9: add.u32: 32 bits is wanted here, as a result"},
    {KERNEL("ld.global.u32 %r0, %l0;"), "an address in brackets"},
    {KERNEL("ld.global.v4.u32 {%r0, %r1}, [%l0+4096];"), NULL},
    {KERNEL("fma.rn.f32x2 %l0, %l1, %l2, %l3;"), "9:1: fma.rn.f32x2: sm_90a does not have this instruction"},
    {KERNEL("mov.b32 %r0, {%r1, %r2};"), "9:15: mov.b32: 16 bits is wanted here"},
    {KERNEL("cp.async.cg.shared.global [%r0], [%l0], %r1;"), "a constant is wanted"},
    {KERNEL("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1}, {%r0}, {%r1}, {%r2};"),
     "4 values in braces"},
};

static int load(const char *text, emu_message *message)
{
  emu_module *module = NULL;
  const int result = emu_module_load(text, strlen(text), emu_device_find("sm_90a"), &module, message);
  if (result == EMU_OK) {
    emu_module_free(module);
  }
  return result;
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
  (void)state;
  for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    emu_message message = {""};
    const int result = load(bad[i].text, &message);
    const int right =
        bad[i].says == NULL ? result == EMU_OK : result == EMU_INVALID_PTX && strstr(message.text, bad[i].says) != NULL;
    if (!right) {
      print_message("%s\nresult %d: %s\nwanted: %s\n", bad[i].text, result, message.text, bad[i].says);
      fail();
    }
  }
}

/* Cut anywhere, a text is refused, and never as a success but at its end. */
static void a_text_that_is_cut_is_refused(void **state)
{
  (void)state;
  static const char whole[] =
      KERNEL("L: add.u32 %r0, %r1, 0x10;\n{ .reg .b16 a, b; mov.b32 {a, b}, %r0; }\n@%p0 bra L;");
  for (size_t length = 0; length < sizeof whole - 2; length++) {
    emu_module *module = NULL;
    emu_message message = {""};
    const int result = emu_module_load(whole, length, emu_device_find("sm_90a"), &module, &message);
    if (result == EMU_OK) {
      assert_true(length < sizeof HEAD + 1); /* nothing of the kernel was begun */
      emu_module_free(module);
    } else {
      assert_true(result == EMU_INVALID_PTX || result == EMU_NO_BINARY);
      assert_true(message.text[0] != 0);
    }
  }
}

static void another_target_is_refused_as_such(void **state)
{
  (void)state;
  emu_message message;
  assert_int_equal(load(".version 9.0\n.target sm_100a\n.entry k() { ret; }", &message), EMU_NO_BINARY);
  assert_non_null(strstr(message.text, "sm_100a"));
  assert_int_equal(load(".version 9.0\n.target sm_80a\n.entry k() { ret; }", &message), EMU_NO_BINARY);
  assert_int_equal(load(".version 9.0\n.target sm_80\n.entry k() { ret; }", &message), EMU_OK);
  assert_int_equal(load(".version 9.0\n.target sm_90, debug\n.entry k() { ret; }", &message), EMU_OK);
}

static const char whole_text[] =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.file 1 \"dir/a.cu\"\n"
    ".const .align 4 .f32 table[2] = {1.5, 0f40000000};\n.global .align 8 .u64 counter = 7;\n"
    ".extern .shared .align 128 .b8 dynamic[];\n.shared .align 4 .b8 fixed[20];\n"
    ".visible .entry first(.param .u32 n, .param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[12])\n"
    ".maxntid 96, 2, 1\n.minnctapersm 2\n{\n.local .align 8 .b8 depot[24];\n.reg .b32 %r<100>;\n.reg .b32 one;\n"
    ".reg .pred %p;\n.loc 1 42 7\nmov.u32 %r5, %tid.x;\n{\n.reg .b64 %r5;\nmov.u64 %r5, dynamic;\n}\n"
    "AGAIN: setp.lt.u32 %p, %r5, 10;\n@!%p bra AGAIN;\nmov.u32 one, 3;\nret;\n}\n"
    ".entry second()\n.reqntid 32\n.reqnctapercluster 2\n{\nexit;\n}\n";

static void kernels_and_variables_are_as_the_text_says(void **state)
{
  (void)state;
  emu_message message;
  emu_module *module = NULL;
  assert_int_equal(emu_module_load(whole_text, sizeof whole_text, emu_device_find("sm_90a"), &module, &message),
                   EMU_OK);
  assert_int_equal(emu_module_num_kernels(module), 2);
  assert_null(emu_module_kernel(module, "third"));
  const emu_kernel_info *first = emu_kernel_get_info(emu_module_kernel(module, "first"));
  assert_int_equal(first->max_threads, 192);
  assert_int_equal(first->num_params, 3);
  assert_int_equal(first->params[1].offset, 8);
  assert_int_equal(first->params[2].offset, 16);
  assert_int_equal(first->params[2].size, 12);
  assert_int_equal(first->param_bytes, 28);
  assert_int_equal(first->static_shared % 128, 0);
  assert_true(first->static_shared >= 20 && first->local_bytes >= 24);
  const emu_kernel_info *second = emu_kernel_get_info(emu_module_kernel(module, "second"));
  assert_int_equal(second->max_threads, 32);
  assert_int_equal(second->required_cluster[0], 2);
  uint64_t address = 0;
  size_t size = 0;
  assert_int_equal(emu_module_global(module, "table", &address, &size), EMU_OK);
  const float *table = emu_host(address, size);
  assert_true(size == 8 && table != NULL);
  assert_true(table[0] == 1.5f && table[1] == 2.0f);
  assert_int_equal(emu_module_global(module, "dynamic", &address, &size), EMU_NOT_FOUND);
  emu_module_free(module);
}

static void instructions_know_their_place_and_scope(void **state)
{
  (void)state;
  emu_message message;
  ptx_module *module = NULL;
  assert_int_equal(ptx_parse(whole_text, strlen(whole_text), &module, &message), EMU_OK);
  const ptx_kernel *kernel = module->kernels[0];
  assert_int_equal(kernel->num_instructions, 6);
  assert_int_equal(kernel->instructions[0].place.line, 18);
  assert_int_equal(kernel->instructions[0].source_line, 42);
  assert_int_equal(module->num_files, 2);
  const ptx_symbol *outer = kernel->instructions[0].operands[0].symbol,
                   *inner = kernel->instructions[1].operands[0].symbol;
  assert_true(outer != inner && outer->elem_size == 4 && inner->elem_size == 8);
  assert_ptr_equal(kernel->instructions[2].operands[1].symbol, outer);
  assert_true(kernel->instructions[2].is_target);
  assert_true(kernel->instructions[3].guard_negated);
  assert_int_equal(kernel->instructions[3].operands[0].target, 2);
  ptx_free(module);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_wrong_is_told_with_its_place),
      cmocka_unit_test(a_text_that_is_cut_is_refused),
      cmocka_unit_test(another_target_is_refused_as_such),
      cmocka_unit_test(kernels_and_variables_are_as_the_text_says),
      cmocka_unit_test(instructions_know_their_place_and_scope),
  };
  return SJ_TEST_RUN(tests);
}
