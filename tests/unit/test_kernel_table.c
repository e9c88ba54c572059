/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test_main.h"

#include "kernel_table.h"
#include "recording_cuda.h"

enum { NUM_CONFIGS = 600, NUM_THREADS = 6 };

/* The i-th of many different configurations. */
static swa_jit_config make_config(unsigned i)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  config.window_size = 1 + i;
  return config;
}

static void find_in_an_empty_table_is_null(void **state)
{
  (void)state;
  sj_kernel_table *table = NULL;
  swa_jit_config config = make_config(0);
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  assert_null(sj_kernel_table_find(table, &config));
  sj_kernel_table_destroy(table);
  sj_kernel_table_destroy(NULL);
}

static void add_gives_an_empty_entry_with_the_configuration(void **state)
{
  (void)state;
  sj_kernel_table *table = NULL;
  struct swa_jit_kernel *kernel = NULL;
  swa_jit_config config = make_config(7);
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  assert_int_equal(sj_kernel_table_add(table, &config, &kernel), SWA_JIT_OK);
  assert_true(sj_config_equal(&kernel->config, &config));
  assert_null(kernel->cuda);
  assert_null(kernel->source);
  assert_int_equal(kernel->has_cubin, 0);
  assert_int_equal(kernel->is_loaded, 0);
  assert_int_equal(pthread_mutex_trylock(&kernel->mutex), 0);
  assert_int_equal(pthread_mutex_unlock(&kernel->mutex), 0);
  sj_kernel_table_destroy(table);
}

static void add_twice_gives_the_same_entry(void **state)
{
  (void)state;
  sj_kernel_table *table = NULL;
  struct swa_jit_kernel *first = NULL;
  struct swa_jit_kernel *second = NULL;
  swa_jit_config config = make_config(7);
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  assert_int_equal(sj_kernel_table_add(table, &config, &first), SWA_JIT_OK);
  assert_int_equal(sj_kernel_table_add(table, &config, &second), SWA_JIT_OK);
  assert_ptr_equal(first, second);
  assert_ptr_equal(sj_kernel_table_find(table, &config), first);
  sj_kernel_table_destroy(table);
}

/* Report 56, in memory. */
static void find_tells_configurations_apart_by_every_field(void **state)
{
  (void)state;
  sj_kernel_table *table = NULL;
  struct swa_jit_kernel *kernel = NULL;
  swa_jit_config config = make_config(127);
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  assert_int_equal(sj_kernel_table_add(table, &config, &kernel), SWA_JIT_OK);
  const sj_config_field *field;
  unsigned num_fields = 0;
  for (; (field = sj_config_field_at(num_fields)) != NULL; ++num_fields) {
    swa_jit_config other = config;
    sj_config_set(&other, field, sj_config_get(&config, field) + 1);
    assert_null(sj_kernel_table_find(table, &other));
  }
  assert_true(num_fields >= 10);
  assert_ptr_equal(sj_kernel_table_find(table, &config), kernel);
  sj_kernel_table_destroy(table);
}

static void find_after_growth_gives_the_same_pointers(void **state)
{
  (void)state;
  static struct swa_jit_kernel *kernels[NUM_CONFIGS];
  sj_kernel_table *table = NULL;
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  for (unsigned i = 0; i < NUM_CONFIGS; ++i) {
    swa_jit_config config = make_config(i);
    assert_int_equal(sj_kernel_table_add(table, &config, &kernels[i]), SWA_JIT_OK);
  }
  for (unsigned i = 0; i < NUM_CONFIGS; ++i) {
    swa_jit_config config = make_config(i);
    assert_ptr_equal(sj_kernel_table_find(table, &config), kernels[i]);
    assert_int_equal(kernels[i]->config.window_size, i + 1);
  }
  swa_jit_config absent = make_config(NUM_CONFIGS);
  assert_null(sj_kernel_table_find(table, &absent));
  sj_kernel_table_destroy(table);
}

static void destroy_unloads_what_was_loaded_and_frees_all(void **state)
{
  (void)state;
  static const sj_tile_plan plan = {.shared_memory_bytes = 1024};
  const recording_cuda *cuda = recording_cuda_open(CUDA_RECORDING);
  assert_non_null(cuda);
  cuda->reset();
  sj_cuda_api api;
  sj_kernel_table *table = NULL;
  assert_int_equal(sj_cuda_api_open(CUDA_RECORDING, NULL, &api), SWA_JIT_OK);
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  for (unsigned i = 0; i < 3; ++i) {
    struct swa_jit_kernel *kernel = NULL;
    swa_jit_config config = make_config(i);
    assert_int_equal(sj_kernel_table_add(table, &config, &kernel), SWA_JIT_OK);
    kernel->source = strdup("source");
    kernel->log_text = strdup("");
    kernel->ptx = strdup("ptx");
    kernel->compiled_cubin = strdup("\177ELF");
    kernel->miss_reason = strdup("absent");
    kernel->failed_message = strdup("none");
    if (i < 2) {
      bool refused;
      kernel->cuda = &api;
      assert_int_equal(sj_load_make(&api, sj_arch_find(90), &plan, "swa_decode", "\177ELF", &refused, &kernel->loaded),
                       SWA_JIT_OK);
      kernel->is_loaded = 1;
    }
  }
  assert_int_equal(cuda->num_loaded(), 2);
  sj_kernel_table_destroy(table);
  assert_int_equal(cuda->num_loaded(), 0);
  sj_cuda_api_close(&api);
}

typedef struct worker {
  pthread_t thread;
  sj_kernel_table *table;
  unsigned first;
  struct swa_jit_kernel *kernels[NUM_CONFIGS];
  unsigned num_wrong;
} worker;

/* Finds or adds each configuration, beginning at its own, as swa_jit_kernel_get does; then finds them all again. */
static void *work(void *data)
{
  worker *self = data;
  for (unsigned n = 0; n < NUM_CONFIGS; ++n) {
    unsigned i = (self->first + n) % NUM_CONFIGS;
    swa_jit_config config = make_config(i);
    self->kernels[i] = sj_kernel_table_find(self->table, &config);
    if (self->kernels[i] == NULL) {
      self->num_wrong += sj_kernel_table_add(self->table, &config, &self->kernels[i]) != SWA_JIT_OK;
    }
    self->num_wrong += self->kernels[i] == NULL || self->kernels[i]->config.window_size != i + 1;
  }
  for (unsigned i = 0; i < NUM_CONFIGS; ++i) {
    swa_jit_config config = make_config(i);
    self->num_wrong += sj_kernel_table_find(self->table, &config) != self->kernels[i];
  }
  return NULL;
}

static void find_and_add_from_many_threads_agree_on_every_entry(void **state)
{
  (void)state;
  sj_kernel_table *table = NULL;
  worker *workers = calloc(NUM_THREADS, sizeof *workers);
  assert_non_null(workers);
  assert_int_equal(sj_kernel_table_create(&table), SWA_JIT_OK);
  for (unsigned i = 0; i < NUM_THREADS; ++i) {
    workers[i].table = table;
    workers[i].first = i / 2 * (NUM_CONFIGS / NUM_THREADS); /* in pairs, so that two race for each */
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (unsigned i = 0; i < NUM_THREADS; ++i) {
    assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    assert_int_equal(workers[i].num_wrong, 0);
    assert_memory_equal(workers[i].kernels, workers[0].kernels, sizeof workers[0].kernels);
  }
  sj_kernel_table_destroy(table);
  free(workers);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(find_in_an_empty_table_is_null),
      cmocka_unit_test(add_gives_an_empty_entry_with_the_configuration),
      cmocka_unit_test(add_twice_gives_the_same_entry),
      cmocka_unit_test(find_tells_configurations_apart_by_every_field),
      cmocka_unit_test(find_after_growth_gives_the_same_pointers),
      cmocka_unit_test(destroy_unloads_what_was_loaded_and_frees_all),
      cmocka_unit_test(find_and_add_from_many_threads_agree_on_every_entry),
  };
  return SJ_TEST_RUN(tests);
}
