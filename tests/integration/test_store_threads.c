/* SPDX-License-Identifier: Apache-2.0 */
/* Hundreds of threads, several library objects and forked children on one store: one compile a configuration, however
 * many ask and however they are spread. Meant for the thread sanitizer too. */
#include "test_main.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "swa_jit/swa_jit.h"
#include "temp_dir.h"

enum { NUM_THREADS = 256, NUM_CONFIGS = 8, NUM_LIBS = 4, NUM_CHILDREN = 8, NUM_CLOSERS = 32 };

typedef struct thread_crew {
  char *folder;
  char *store;
  char *count_path;
  swa_jit_lib *libs[NUM_LIBS];
  pthread_barrier_t barrier;
} thread_crew;

typedef struct asker {
  thread_crew *crew;
  swa_jit_lib *lib;
  uint32_t first; /* which configuration it asks for first */
  uint32_t num_configs;
  unsigned num_ok;
  const void *cubins[NUM_CONFIGS];
} asker;

static swa_jit_lib *open_lib(const thread_crew *crew)
{
  swa_jit_options options = SWA_JIT_OPTIONS_INIT;
  swa_jit_lib *lib = NULL;
  options.cache_dir = crew->store;
  options.nvrtc_path = NVRTC_FAKE;
  return swa_jit_open(&options, &lib) == SWA_JIT_OK ? lib : NULL;
}

static swa_jit_status get(swa_jit_lib *lib, uint32_t which, const void **cubin_out)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  size_t cubin_bytes = 0;
  config.arch = SWA_JIT_ARCH_SM_90A;
  config.window_size = 32 * (which + 1);
  return swa_jit_cubin_get(lib, &config, cubin_out, &cubin_bytes, NULL);
}

/* Each asks while the others do; the counters are read meanwhile. */
static void *ask(void *argument)
{
  asker *self = argument;
  pthread_barrier_wait(&self->crew->barrier);
  for (uint32_t i = 0; i < self->num_configs; i++) {
    uint32_t which = (self->first + i) % self->num_configs;
    swa_jit_stats stats = SWA_JIT_STATS_INIT;
    self->num_ok +=
        get(self->lib, which, &self->cubins[which]) == SWA_JIT_OK && swa_jit_stats_get(self->lib, &stats) == SWA_JIT_OK;
  }
  return NULL;
}

static int setup(void **state)
{
  thread_crew *made = calloc(1, sizeof *made);
  void *folder = NULL;
  if (made == NULL || temp_dir_setup(&folder) != 0) {
    free(made);
    return -1;
  }
  made->folder = folder;
  made->store = temp_dir_join(folder, "store");
  made->count_path = temp_dir_join(folder, "compiles");
  setenv("FAKE_NVRTC_COUNT", made->count_path, 1);
  setenv("FAKE_NVRTC_MS", "20", 1); /* long enough for all to meet it */
  *state = made;
  return 0;
}

static int teardown(void **state)
{
  thread_crew *made = *state;
  void *folder = made->folder;
  for (unsigned i = 0; i < NUM_LIBS; i++) {
    swa_jit_close(&made->libs[i]);
  }
  free(made->store);
  free(made->count_path);
  free(made);
  return temp_dir_teardown(&folder);
}

/* By the stand-in itself. */
static unsigned num_compiles(const thread_crew *crew)
{
  struct stat status;
  return stat(crew->count_path, &status) == 0 ? (unsigned)status.st_size : 0;
}

/* All threads, spread over num_libs objects, ask for num_configs. */
static void ask_together(thread_crew *crew, unsigned num_libs, uint32_t num_configs)
{
  static pthread_t threads[NUM_THREADS];
  static asker askers[NUM_THREADS];
  for (unsigned i = 0; i < num_libs; i++) {
    crew->libs[i] = open_lib(crew);
    assert_non_null(crew->libs[i]);
  }
  assert_int_equal(pthread_barrier_init(&crew->barrier, NULL, NUM_THREADS), 0);
  for (unsigned i = 0; i < NUM_THREADS; i++) {
    askers[i] =
        (asker){.crew = crew, .lib = crew->libs[i % num_libs], .first = i / num_libs, .num_configs = num_configs};
    assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
  }
  for (unsigned i = 0; i < NUM_THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(askers[i].num_ok, num_configs);
    assert_memory_equal(askers[i].cubins, askers[i % num_libs].cubins, sizeof askers[i].cubins);
  }
  pthread_barrier_destroy(&crew->barrier);
  assert_int_equal(num_compiles(crew), num_configs);
  assert_int_equal(temp_dir_count(crew->store, ".cubin"), num_configs);
  assert_int_equal(temp_dir_count(crew->store, ".tmp-"), 0);
}

static void one_object_and_one_key_take_one_compile(void **state)
{
  ask_together(*state, 1, 1);
}

static void one_object_and_many_keys_take_one_compile_each(void **state)
{
  ask_together(*state, 1, NUM_CONFIGS);
}

static void many_objects_and_many_keys_take_one_compile_each(void **state)
{
  ask_together(*state, NUM_LIBS, NUM_CONFIGS);
}

/* ---- Closing while others read --------------------------------------------------------------------------- */

enum { NUM_ROUNDS = 8 };

/* Opens and closes objects of its own on the store that the others use. */
static void *open_and_close(void *argument)
{
  asker *self = argument;
  pthread_barrier_wait(&self->crew->barrier);
  for (uint32_t i = 0; i < NUM_ROUNDS; i++) {
    swa_jit_lib *lib = open_lib(self->crew);
    const void *cubin = NULL;
    self->num_ok += lib != NULL && get(lib, (self->first + i) % self->num_configs, &cubin) == SWA_JIT_OK
                    && memcmp(cubin, "\177ELF", 4) == 0;
    swa_jit_close(&lib);
  }
  return NULL;
}

/* Half of the threads read through one object all the while: what it gave stays. */
static void objects_that_close_take_nothing_from_those_that_read(void **state)
{
  static pthread_t threads[NUM_CLOSERS];
  static asker askers[NUM_CLOSERS];
  thread_crew *crew = *state;
  const void *held = NULL;
  crew->libs[0] = open_lib(crew);
  assert_non_null(crew->libs[0]);
  assert_int_equal(get(crew->libs[0], 0, &held), SWA_JIT_OK);
  assert_int_equal(pthread_barrier_init(&crew->barrier, NULL, NUM_CLOSERS), 0);
  for (unsigned i = 0; i < NUM_CLOSERS; i++) {
    askers[i] = (asker){.crew = crew, .lib = crew->libs[0], .first = i, .num_configs = NUM_CONFIGS};
    assert_int_equal(pthread_create(&threads[i], NULL, i % 2 == 0 ? ask : open_and_close, &askers[i]), 0);
  }
  for (unsigned i = 0; i < NUM_CLOSERS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(askers[i].num_ok, i % 2 == 0 ? NUM_CONFIGS : NUM_ROUNDS);
    assert_true(i % 2 != 0 || askers[i].cubins[0] == held);
  }
  pthread_barrier_destroy(&crew->barrier);
  assert_memory_equal(held, "\177ELF", 4);
  assert_int_equal(num_compiles(crew), NUM_CONFIGS);
}

/* ---- Fork after open ------------------------------------------------------------------------------------- */

/* In a child: its copy of the parent's object gives what was held, finds what is stored, and makes what is new. */
static int use_inherited(thread_crew *crew, swa_jit_lib *lib, const void *held)
{
  const void *cubin = NULL;
  if (get(lib, 0, &cubin) != SWA_JIT_OK || cubin != held) {
    return 1;
  }
  for (uint32_t which = 1; which < NUM_CONFIGS; which++) {
    if (get(lib, which, &cubin) != SWA_JIT_OK) {
      return 2;
    }
  }
  swa_jit_stats stats = SWA_JIT_STATS_INIT;
  if (swa_jit_stats_get(lib, &stats) != SWA_JIT_OK || stats.lock_failures != 0 || stats.store_set_aside != 0) {
    return 3;
  }
  swa_jit_close(&lib);
  lib = open_lib(crew); /* and one of its own */
  int result = lib != NULL && get(lib, NUM_CONFIGS - 1, &cubin) == SWA_JIT_OK ? 0 : 4;
  swa_jit_close(&lib);
  return result;
}

static void forked_children_use_the_object_and_compile_once(void **state)
{
  thread_crew *crew = *state;
  const void *held = NULL;
  pid_t children[NUM_CHILDREN];
  crew->libs[0] = open_lib(crew);
  assert_non_null(crew->libs[0]);
  assert_int_equal(get(crew->libs[0], 0, &held), SWA_JIT_OK);
  for (unsigned i = 0; i < NUM_CHILDREN; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      _exit(use_inherited(crew, crew->libs[0], held));
    }
  }
  const void *cubin = NULL;
  for (uint32_t which = NUM_CONFIGS; which-- > 0;) { /* the other way round */
    assert_int_equal(get(crew->libs[0], which, &cubin), SWA_JIT_OK);
  }
  for (unsigned i = 0; i < NUM_CHILDREN; i++) {
    int status = 0;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(num_compiles(crew), NUM_CONFIGS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(one_object_and_one_key_take_one_compile),
      TEST(one_object_and_many_keys_take_one_compile_each),
      TEST(many_objects_and_many_keys_take_one_compile_each),
      TEST(objects_that_close_take_nothing_from_those_that_read),
      TEST(forked_children_use_the_object_and_compile_once),
  };
  return SJ_TEST_RUN(tests);
}
