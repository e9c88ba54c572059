/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver LIBCUDA: what a driver answers, call by call. The suite runs it on libcuda-emulator.so, and whoever
 * has a device on the vendor's libcuda, so that the emulator's answers are known to be the driver's own. Needs no
 * test framework. Status: 0 all as expected, 1 not, 2 wrong use, 77 no device. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_driver.h"

enum { SKIPPED = 77, NO_DEVICE = 100 };

driver_calls cu;
static unsigned num_checks, num_failures;
static int major;
int has_clusters;

const char test_ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 add_p, .param .u32 add_v)\n{\n"
    "  .reg .b64 %rd<4>;\n  .reg .b32 %r<8>;\n"
    "  ld.param.u64 %rd1, [add_p];\n  ld.param.u32 %r1, [add_v];\n  cvta.to.global.u64 %rd1, %rd1;\n"
    "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n  mov.u32 %r4, %tid.x;\n  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  mul.wide.u32 %rd2, %r5, 4;\n  add.s64 %rd3, %rd1, %rd2;\n"
    "  ld.global.u32 %r6, [%rd3];\n  add.s32 %r7, %r6, %r1;\n  st.global.u32 [%rd3], %r7;\n  ret;\n}\n"
    ".visible .entry set(.param .u64 set_p, .param .u32 set_v)\n{\n"
    "  .reg .b64 %rd<4>;\n  .reg .b32 %r<6>;\n"
    "  ld.param.u64 %rd1, [set_p];\n  ld.param.u32 %r1, [set_v];\n  cvta.to.global.u64 %rd1, %rd1;\n"
    "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n  mov.u32 %r4, %tid.x;\n  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  mul.wide.u32 %rd2, %r5, 4;\n  add.s64 %rd3, %rd1, %rd2;\n  st.global.u32 [%rd3], %r1;\n  ret;\n}\n"
    ".visible .entry shared_48k(.param .u64 shared_p)\n{\n"
    "  .shared .align 16 .b8 room[49152];\n  .reg .b64 %rd<2>;\n  .reg .b32 %r<5>;\n"
    "  ld.param.u64 %rd1, [shared_p];\n  cvta.to.global.u64 %rd1, %rd1;\n"
    "  mov.u32 %r1, %tid.x;\n  shl.b32 %r2, %r1, 2;\n  mov.u32 %r3, room;\n  add.s32 %r3, %r3, %r2;\n"
    "  st.shared.u32 [%r3], %r1;\n  ld.shared.u32 %r4, [%r3];\n  st.global.u32 [%rd1], %r4;\n  ret;\n}\n"
    ".visible .entry few()\n.maxntid 64, 1, 1\n{\n  ret;\n}\n"
    ".visible .entry wild()\n{\n  .reg .b64 %rd<2>;\n  .reg .b32 %r<2>;\n"
    "  mov.u64 %rd1, 16;\n  mov.u32 %r1, 1;\n  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";

static void *module;
void *test_add, *test_set, *test_few, *test_wild, *test_shared_48k;
uint64_t test_memory;

/* ---- checking --------------------------------------------------------------------------------------------- */

bool expect_at(int line, const char *what, long long got, long long wanted)
{
  num_checks++;
  if (got != wanted) {
    num_failures++;
    printf("%d: %s gives %lld, and %lld is right\n", line, what, got, wanted);
  }
  return got == wanted;
}

bool test_holds(unsigned value, unsigned count)
{
  unsigned values[NUM_VALUES];
  if (cu.read(values, test_memory, sizeof values) != 0) {
    return false;
  }
  for (unsigned i = 0; i < count; i++) {
    if (values[i] != value) {
      return false;
    }
  }
  return true;
}

int test_launch(void *function, unsigned value, unsigned num_blocks, unsigned num_threads, void *stream)
{
  void *params[] = {&test_memory, &value};
  return cu.launch(function, num_blocks, 1, 1, num_threads, 1, 1, 0, stream, params, NULL);
}

/* ---- device and contexts ---------------------------------------------------------------------------------- */

static void check_before_init(void)
{
  int count = 0;
  void *context = NULL;
  EXPECT(cu.device_count(&count), 3);
  EXPECT(cu.ctx_get(&context), 3);
  EXPECT(cu.init(1), 1);
}

static void check_device(void)
{
  int value = 0;
  int count = 0;
  char name[64] = "";
  char cut[4];
  size_t bytes = 0;
  const char *text = NULL;
  OK(cu.init(0));
  OK(cu.driver_version(&value));
  EXPECT(value >= 12000, 1);
  OK(cu.device_count(&count));
  EXPECT(cu.device_get(&value, count), 101);
  OK(cu.device_get(&value, 0));
  OK(cu.device_name(name, sizeof name, 0));
  OK(cu.device_name(cut, sizeof cut, 0));
  EXPECT(strlen(cut), 3);
  OK(cu.device_total(&bytes, 0));
  EXPECT(bytes > (size_t)1 << 30, 1);
  EXPECT(cu.device_attribute(&value, 0, 0), 1);
  EXPECT(cu.device_attribute(&value, 100000, 0), 1);
  EXPECT(cu.device_attribute(&value, 16, 1000), 101);
  OK(cu.device_attribute(&major, 75, 0));
  OK(cu.device_attribute(&has_clusters, 120, 0));
  OK(cu.error_name(700, &text));
  EXPECT(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"), 0);
  EXPECT(cu.error_name(12345, &text), 1);
  OK(cu.error_string(1, &text));
}

static void check_contexts(void)
{
  void *current = NULL;
  void *own = NULL;
  void *primary = NULL;
  void *popped = NULL;
  unsigned long long id = 0;
  unsigned long long own_id = 0;
  int device = -1;
  uint64_t address = 0;
  EXPECT(cu.alloc(&address, 16), 201);
  EXPECT(cu.ctx_device(&device), 201);
  EXPECT(cu.ctx_id(NULL, &id), 201);
  EXPECT(cu.ctx_pop(&popped), 201);
  OK(cu.ctx_get(&current));
  EXPECT(current == NULL, 1);
  OK(cu.primary_retain(&primary, 0));
  OK(cu.ctx_get(&current));
  EXPECT(current == NULL, 1);
  OK(cu.ctx_push(primary));
  OK(cu.ctx_device(&device));
  EXPECT(device, 0);
  OK(cu.ctx_id(NULL, &id));
  OK(cu.ctx_create(&own, 0, 0));
  OK(cu.ctx_get(&current));
  EXPECT(current == own, 1);
  OK(cu.ctx_id(own, &own_id));
  EXPECT(own_id == id, 0);
  OK(cu.ctx_destroy(own));
  OK(cu.ctx_get(&current));
  EXPECT(current == primary, 1);
  OK(cu.ctx_create(&own, 0, 0));
  OK(cu.ctx_id(own, &id));
  EXPECT(own_id == id, 0);
  OK(cu.ctx_pop(&popped));
  EXPECT(popped == own, 1);
  OK(cu.ctx_destroy(own));
  OK(cu.ctx_pop(&popped));
  EXPECT(popped == primary, 1);
  OK(cu.primary_release(0));
}

static void enter_primary(void)
{
  void *primary = NULL;
  OK(cu.primary_retain(&primary, 0));
  OK(cu.ctx_set(primary));
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static void check_memory(void)
{
  unsigned char bytes[64];
  uint64_t address = 0;
  uint64_t other = 0;
  unsigned type = 0;
  uint64_t start = 0;
  void *pinned = NULL;
  EXPECT(cu.alloc(&address, 0), 1);
  EXPECT(cu.alloc(&address, (size_t)1 << 45), 2);
  OK(cu.alloc(&address, sizeof bytes));
  OK(cu.alloc(&other, sizeof bytes));
  EXPECT(address % 256, 0);
  OK(cu.fill8(address, 7, sizeof bytes));
  OK(cu.fill16(address + 2, 0x1234, 2));
  EXPECT(cu.fill16(address + 1, 0x1234, 2), 1);
  OK(cu.fill32(address + 8, 0x01020304, 1));
  OK(cu.move(other, address, sizeof bytes));
  OK(cu.read(bytes, other, sizeof bytes));
  EXPECT(bytes[0] == 7 && bytes[2] == 0x34 && bytes[3] == 0x12 && bytes[5] == 0x12 && bytes[8] == 4 && bytes[11] == 1,
         1);
  EXPECT(bytes[6] == 7 && bytes[12] == 7, 1);
  EXPECT(cu.read(bytes, 16, 4), 1);
  OK(cu.read(bytes, address, 0));
  OK(cu.pointer_attribute(&type, 2, address + 3));
  EXPECT(type, 2);
  OK(cu.pointer_attribute(&start, 11, address + 3));
  EXPECT(start == address, 1);
  EXPECT(cu.pointer_attribute(&type, 2, (uint64_t)(uintptr_t)bytes), 1);
  OK(cu.host_alloc(&pinned, 100, 0));
  OK(cu.pointer_attribute(&type, 2, (uint64_t)(uintptr_t)pinned));
  EXPECT(type, 1);
  OK(cu.host_free(pinned));
  EXPECT(cu.release(address + 1), 1);
  OK(cu.release(address));
  OK(cu.release(other));
  OK(cu.release(0));
}

/* ---- images ----------------------------------------------------------------------------------------------- */

static int load(const char *text)
{
  void *library = NULL;
  void *kernel = NULL;
  int result = cu.library_load(&library, text, NULL, NULL, 0, NULL, NULL, 0);
  if (result == 0) { /* some drivers look at it now */
    result = cu.library_kernel(&kernel, library, "any");
    cu.library_unload(library);
  }
  return result;
}

static void check_images(void)
{
  char cut[sizeof test_ptx];
  void *library = NULL;
  void *kernel = NULL;
  void *function = NULL;
  int value = 0;
  memcpy(cut, test_ptx, sizeof cut);
  cut[sizeof cut / 2] = '\0';
  EXPECT(load(cut), 218);
  EXPECT(load(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry any()\n{\n  frobnicate.u32;\n}\n"), 218);
  EXPECT(load(".version 99.0\n.target sm_80\n.address_size 64\n.visible .entry any()\n{\n  ret;\n}\n"), 222);
  EXPECT(load(major == 10 ? ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry any()\n{\n  ret;\n}\n"
                          : ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry any()\n{\n  ret;\n}\n"),
         218);
  EXPECT(load(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry other()\n{\n  ret;\n}\n"), 500);
  OK(cu.library_load(&library, test_ptx, NULL, NULL, 0, NULL, NULL, 0));
  OK(cu.library_kernel(&kernel, library, "set"));
  EXPECT(cu.library_kernel(&function, library, "missing"), 500);
  OK(cu.kernel_function(&function, kernel));
  OK(cu.func_load(function));
  OK(cu.kernel_get(&value, 8, kernel, 0));
  EXPECT(value, 49152);
  OK(cu.kernel_set(8, 65536, kernel, 0));
  OK(cu.kernel_get(&value, 8, kernel, 0));
  EXPECT(value, 65536);
  EXPECT(cu.kernel_set(8, 1 << 20, kernel, 0), 1);
  OK(test_launch(kernel, 21, 1, NUM_VALUES, NULL)); /* a kernel is taken for a function, too */
  EXPECT(test_holds(21, NUM_VALUES), 1);
  OK(test_launch(function, 22, 1, NUM_VALUES, NULL));
  EXPECT(test_holds(22, NUM_VALUES), 1);
  OK(cu.library_unload(library));
}

static void check_attributes(void)
{
  int value = 0;
  OK(cu.func_get(&value, 0, test_add));
  EXPECT(value, 1024);
  OK(cu.func_get(&value, 0, test_few));
  EXPECT(value, 64);
  OK(cu.func_get(&value, 1, test_shared_48k));
  EXPECT(value, 49152);
  OK(cu.func_get(&value, 3, test_add));
  EXPECT(value, 0);
  OK(cu.func_get(&value, 8, test_shared_48k));
  EXPECT(value, 0);
  OK(cu.func_get(&value, 9, test_add));
  EXPECT(value, -1);
  EXPECT(cu.func_get(&value, 1000, test_add), 1);
  EXPECT(cu.func_set(test_add, 0, 32), 1);
  OK(cu.func_set(test_shared_48k, 8, 1024));
  EXPECT(cu.func_set(test_shared_48k, 8, -1), 1);
  OK(cu.occupancy(&value, test_few, 64, 0));
  EXPECT(value, 32);
  OK(cu.occupancy(&value, test_shared_48k, 1024, 0));
  EXPECT(value, 2);
}

/* ---- odds ------------------------------------------------------------------------------------------------- */

static void check_symbols(void)
{
  void *symbol = NULL;
  int status = -1;
  OK(cu.proc_address("cuMemAlloc", &symbol, 12000, 0, &status));
  EXPECT(status, 0);
  EXPECT(symbol != NULL, 1);
  OK(cu.proc_address("cuInit", &symbol, 12000, 0, NULL));
  EXPECT(cu.proc_address("cuNoSuchCall", &symbol, 12000, 0, NULL), 500);
  OK(cu.proc_address("cuNoSuchCall", &symbol, 12000, 0, &status));
  EXPECT(status, 1);
}

/* The last: a context that a kernel has failed in is no use any more. */
static void check_fault(void)
{
  uint64_t address = 0;
  OK(cu.launch(test_wild, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  EXPECT(cu.ctx_wait(), 700);
  EXPECT(cu.ctx_wait(), 700);
  EXPECT(cu.alloc(&address, 16), 700);
  EXPECT(test_launch(test_add, 1, 1, 32, NULL), 700);
}

static bool open_driver(const char *path)
{
  static const char *const symbols[] = {
#define DRIVER_SYMBOL(member, symbol, parameters) #symbol,
      DRIVER_CALLS(DRIVER_SYMBOL)
#undef DRIVER_SYMBOL
  };
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library != NULL && i < sizeof symbols / sizeof symbols[0]; i++) {
    void *symbol = dlsym(library, symbols[i]);
    if (symbol == NULL) {
      printf("%s has no %s\n", path, symbols[i]);
      return false;
    }
    memcpy((char *)&cu + i * sizeof symbol, &symbol, sizeof symbol);
  }
  if (library == NULL) {
    printf("%s\n", dlerror());
  }
  return library != NULL;
}

static void load_module(void)
{
  OK(cu.module_load(&module, test_ptx));
  OK(cu.module_function(&test_add, module, "add"));
  OK(cu.module_function(&test_set, module, "set"));
  OK(cu.module_function(&test_few, module, "few"));
  OK(cu.module_function(&test_wild, module, "wild"));
  OK(cu.module_function(&test_shared_48k, module, "shared_48k"));
  OK(cu.alloc(&test_memory, NUM_VALUES * sizeof(unsigned)));
  OK(cu.fill8(test_memory, 0, NUM_VALUES * sizeof(unsigned)));
}

int main(int argc, char **argv)
{
  if (argc != 2) {
    fprintf(stderr, "usage: test_driver LIBCUDA\n");
    return 2;
  }
  if (!open_driver(argv[1])) {
    return 1;
  }
  check_before_init();
  if (cu.init(0) == NO_DEVICE) {
    printf("skipped: no device\n");
    return SKIPPED;
  }
  check_device();
  check_contexts();
  enter_primary();
  load_module();
  check_memory();
  check_images();
  check_attributes();
  check_work();
  check_tensor_maps();
  check_symbols();
  check_fault();
  printf("%u of %u answers are not as expected\n", num_failures, num_checks);
  return num_failures == 0 ? 0 : 1;
}
