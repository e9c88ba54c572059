/* SPDX-License-Identifier: Apache-2.0 */
/* Programmatic dependent launch (PTX ISA, griddepcontrol): what a launch may see and touch of the one before, which may
 * not have ended if it said launch_dependents. Every pair of kernels runs with several seeds. */
#include "test_main.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

enum { THREADS = 64, WORDS = 4 * THREADS, SEEDS = 4 };

/* %l1: the thread's word among those of part 0; parts 1 to 3 lie 256 bytes apart. */
static const char text[] =
    ".version 9.0\n.target sm_90a\n.address_size 64\n"
    "%s.visible .entry first(.param .u64 data)\n{\n"
    ".reg .b64 %%l<8>; .reg .b32 %%t<8>; .reg .pred %%p<4>; ld.param.u64 %%l0, [data]; mov.u32 %%t0, %%tid.x;\n"
    "mul.wide.u32 %%l1, %%t0, 4; add.u64 %%l1, %%l0, %%l1;\n%s\nret;\n}\n"
    ".visible .entry second(.param .u64 data)%s\n{\n"
    ".reg .b64 %%l<8>; .reg .b32 %%t<8>; .reg .pred %%p<4>; ld.param.u64 %%l0, [data]; mov.u32 %%t0, %%tid.x;\n"
    "mul.wide.u32 %%l1, %%t0, 4; add.u64 %%l1, %%l0, %%l1; setp.eq.u32 %%p0, %%t0, 0;\n%s\nret;\n}\n";

typedef struct pair_row {
  const char *what, *first, *second;
  int result;
  const char *says; /* NULL: no fault */
} pair_row;

#define LET "griddepcontrol.launch_dependents;"
#define AWAIT "griddepcontrol.wait;"
#define WRITE "add.u32 %t1, %t0, 7; st.global.u32 [%l1], %t1;"
#define GIVE "ld.global.u32 %t2, [%l1]; st.global.u32 [%l1+512], %t2;"

static const pair_row rows[] = {
    {"waits before it reads", LET WRITE, AWAIT GIVE, EMU_OK, NULL},
    {"reads before it waits", LET WRITE, GIVE AWAIT, EMU_ILLEGAL_ADDRESS, "read of global memory at 0x"},
    {"never waits", WRITE LET, GIVE, EMU_ILLEGAL_ADDRESS,
     ", which the launch before writes: it may not have ended, and no griddepcontrol.wait has come before"},
    {"nothing lets it begin early", WRITE, GIVE, EMU_OK, NULL},
    {"one thread of the first lets it begin", "setp.eq.u32 %p0, %t0, 5; @%p0 " LET WRITE, GIVE, EMU_ILLEGAL_ADDRESS,
     "which the launch before writes"},
    {"writes what the first writes", LET WRITE, "st.global.u32 [%l1], %t0;" AWAIT, EMU_ILLEGAL_ADDRESS,
     "write of global memory at 0x"},
    {"writes what the first reads", LET "ld.global.u32 %t1, [%l1];", "st.global.u32 [%l1], %t0;" AWAIT,
     EMU_ILLEGAL_ADDRESS, "which the launch before reads"},
    {"an atomic on what the first reads", LET "ld.global.u32 %t1, [%l1];", "red.global.add.u32 [%l1], 1;" AWAIT,
     EMU_ILLEGAL_ADDRESS, "atomic access of global memory at 0x"},
    {"reads what the first reads", LET "ld.global.u32 %t1, [%l1]; st.global.u32 [%l1+512], %t1;",
     "ld.global.u32 %t2, [%l1]; " AWAIT "st.global.u32 [%l1+512], %t2;", EMU_OK, NULL},
    {"other words", LET WRITE, "ld.global.u32 %t2, [%l1+256]; st.global.u32 [%l1+768], %t2;" AWAIT GIVE, EMU_OK, NULL},
    {"one thread waits, and a barrier hands it on", LET WRITE, "@%p0 " AWAIT "bar.sync 0;" GIVE, EMU_OK, NULL},
    {"one thread waits, and nothing hands it on", LET WRITE, "@%p0 " AWAIT GIVE, EMU_ILLEGAL_ADDRESS,
     "no griddepcontrol.wait has come before"},
    {"a barrier, and then the wait of one", LET WRITE, "bar.sync 0; @%p0 " AWAIT GIVE, EMU_ILLEGAL_ADDRESS,
     "no griddepcontrol.wait has come before"},
    {"a copy of what was written", LET WRITE,
     "mov.u32 %t3, room; mad.lo.u32 %t3, %t0, 4, %t3; cp.async.ca.shared.global [%t3], [%l1], 4;"
     "cp.async.wait_all;" AWAIT,
     EMU_ILLEGAL_ADDRESS, "read of global memory at 0x"},
    {"its own writes", LET WRITE, "st.global.u32 [%l1+512], %t0; ld.global.u32 %t2, [%l1+512];" AWAIT GIVE, EMU_OK,
     NULL},
};

enum { COUNT = sizeof rows / sizeof rows[0] };

static emu_message message;

static emu_module *load(const pair_row *row, const char *cluster)
{
  static char all[8192];
  emu_module *module = NULL;
  snprintf(all, sizeof all, text, ".shared .align 16 .b8 room[256];\n", row->first, cluster, row->second);
  if (emu_module_load(all, strlen(all), emu_device_find("sm_90a"), &module, &message) != EMU_OK) {
    fail_msg("%s: %s", row->what, message.text);
  }
  return module;
}

static int launch(const emu_module *module, const char *name, uint64_t memory, unsigned blocks, uint32_t chain,
                  bool is_followed)
{
  const emu_launch how = {.kernel = emu_module_kernel(module, name),
                          .grid = {blocks, 1, 1},
                          .block = {THREADS, 1, 1},
                          .params = &memory,
                          .params_size = sizeof memory,
                          .chain = chain,
                          .is_followed = is_followed};
  return emu_run(emu_device_find("sm_90a"), &how, NULL, &message);
}

static uint64_t make_memory(void)
{
  uint32_t words[WORDS];
  const uint64_t memory = emu_alloc(sizeof words);
  for (unsigned i = 0; i < WORDS; i++) {
    words[i] = 100 + i;
  }
  emu_copy_in(memory, words, sizeof words);
  return memory;
}

static void each_pair_does_and_says_what_it_should(void **state)
{
  (void)state;
  for (unsigned i = 0; i < COUNT * SEEDS; i++) {
    const pair_row *row = &rows[i / SEEDS];
    uint32_t words[WORDS];
    emu_configure(&(emu_settings){i % SEEDS + 1, 1});
    emu_module *module = load(row, "");
    const uint64_t memory = make_memory();
    assert_int_equal(launch(module, "first", memory, 1, 1, true), EMU_OK);
    const int result = launch(module, "second", memory, 1, 2, false);
    if (result != row->result || (row->says != NULL && strstr(message.text, row->says) == NULL)) {
      fail_msg("%s: result %d instead of %d\n%s", row->what, result, row->result, message.text);
    }
    emu_copy_out(words, memory, sizeof words);
    for (unsigned t = 0; t < THREADS && strstr(row->second, GIVE) != NULL && result == EMU_OK; t++) {
      assert_int_equal(words[128 + t], t + 7);
    }
    /* Nothing is left of it for others. */
    assert_int_equal(launch(module, "second", memory, 1, 0, false), EMU_OK);
    emu_free(memory);
    emu_module_free(module);
  }
}

/* Three in a chain: the third waits for the second alone, which has waited for the first. */
static void a_chain_of_three(void **state)
{
  (void)state;
  static const pair_row row = {"three", LET WRITE,
                               AWAIT LET "ld.global.u32 %t2, [%l1]; add.u32 %t2, %t2, 1; st.global.u32 [%l1], %t2;",
                               EMU_OK, NULL};
  uint32_t words[WORDS];
  emu_module *module = load(&row, "");
  const uint64_t memory = make_memory();
  assert_int_equal(launch(module, "first", memory, 1, 1, true), EMU_OK);
  for (uint32_t chain = 2; chain <= 5; chain++) {
    assert_int_equal(launch(module, "second", memory, 1, chain, chain < 5), EMU_OK);
  }
  emu_copy_out(words, memory, sizeof words);
  for (unsigned t = 0; t < THREADS; t++) {
    assert_int_equal(words[t], t + 7 + 4);
  }
  emu_free(memory);
  emu_module_free(module);
}

/* The wait of a thread of one block is handed on to the other by the cluster's barrier, and by nothing less. */
static void a_wait_is_handed_on_in_a_cluster(void **state)
{
  (void)state;
  static const pair_row ways[] = {
      {"met", LET WRITE,
       "mov.u32 %t4, %ctaid.x; setp.eq.u32 %p1, %t4, 0; @%p1 " AWAIT
       "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ld.global.u32 %t2, [%l1];",
       EMU_OK, NULL},
      {"not met", LET WRITE, "mov.u32 %t4, %ctaid.x; setp.eq.u32 %p1, %t4, 0; @%p1 " AWAIT "ld.global.u32 %t2, [%l1];",
       EMU_ILLEGAL_ADDRESS, "no griddepcontrol.wait"},
  };
  for (unsigned i = 0; i < 2; i++) {
    emu_module *module = load(&ways[i], "\n.reqnctapercluster 2");
    const uint64_t memory = make_memory();
    assert_int_equal(launch(module, "first", memory, 1, 1, true), EMU_OK);
    assert_int_equal(launch(module, "second", memory, 2, 2, false), ways[i].result);
    assert_true(ways[i].says == NULL || strstr(message.text, ways[i].says) != NULL);
    emu_free(memory);
    emu_module_free(module);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_pair_does_and_says_what_it_should),
      cmocka_unit_test(a_chain_of_three),
      cmocka_unit_test(a_wait_is_handed_on_in_a_cluster),
  };
  return SJ_TEST_RUN(tests);
}
