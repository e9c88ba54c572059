/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing with linear probing over an array of buckets. A reader takes the array that is current, walks it
 * and compares; it writes nothing. A writer, under the mutex, fills an empty bucket of the current array, or
 * publishes a copy of twice the size. An array that was replaced stays readable until the table is destroyed, for
 * readers still in it: all of them together are smaller than the current one. A reader in an old array can miss an
 * entry added since; it then comes to sj_kernel_table_add, which looks again under the mutex.
 */
#include "kernel_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_NUM_BUCKETS 64u /* a power of two */

typedef struct bucket {
  uint64_t hash;                         /* valid once kernel is not NULL */
  struct swa_jit_kernel *_Atomic kernel; /* release, acquire; set once */
} bucket;

typedef struct bucket_array {
  struct bucket_array *replaced; /* the array before this one */
  size_t num_buckets;            /* a power of two, at least twice the entries */
  bucket buckets[];
} bucket_array;

struct sj_kernel_table {
  bucket_array *_Atomic current;
  size_t num_kernels; /* under mutex */
  pthread_mutex_t mutex;
};

static bucket_array *create_array(size_t num_buckets, bucket_array *replaced)
{
  bucket_array *array = calloc(1, sizeof *array + num_buckets * sizeof array->buckets[0]);
  if (array != NULL) {
    array->num_buckets = num_buckets;
    array->replaced = replaced;
  }
  return array;
}

swa_jit_status sj_kernel_table_create(sj_kernel_table **table_out)
{
  sj_kernel_table *table = calloc(1, sizeof *table);
  bucket_array *array = create_array(FIRST_NUM_BUCKETS, NULL);
  if (table == NULL || array == NULL || pthread_mutex_init(&table->mutex, NULL) != 0) {
    free(array);
    free(table);
    return sj_fail_memory();
  }
  atomic_init(&table->current, array);
  *table_out = table;
  return SWA_JIT_OK;
}

static void destroy_kernel(struct swa_jit_kernel *kernel)
{
  if (atomic_load_explicit(&kernel->is_loaded, memory_order_acquire)) {
    sj_load_finish(kernel->cuda, &kernel->loaded);
  }
  sj_key_finish(&kernel->key);
  sj_entry_finish(&kernel->entry);
  sj_entry_finish(&kernel->replacement);
  sj_store_end_use(&kernel->use);
  free(kernel->source);
  free(kernel->log_text);
  free(kernel->ptx);
  free(kernel->compiled_cubin);
  free(kernel->miss_reason);
  free(kernel->failed_message);
  free(kernel->failed_log);
  pthread_mutex_destroy(&kernel->mutex);
  free(kernel);
}

void sj_kernel_table_destroy(sj_kernel_table *table)
{
  if (table == NULL) {
    return;
  }
  bucket_array *array = atomic_load_explicit(&table->current, memory_order_acquire);
  for (size_t i = 0; i < array->num_buckets; ++i) {
    struct swa_jit_kernel *kernel = atomic_load_explicit(&array->buckets[i].kernel, memory_order_relaxed);
    if (kernel != NULL) {
      destroy_kernel(kernel);
    }
  }
  while (array != NULL) {
    bucket_array *replaced = array->replaced;
    free(array);
    array = replaced;
  }
  pthread_mutex_destroy(&table->mutex);
  free(table);
}

/* The index of the bucket that holds the configuration, with its kernel; or, with NULL, of the empty bucket where it
 * belongs: half the buckets or more are empty. One load a bucket: an empty one may be filled for another meanwhile. */
static size_t find_bucket(const bucket_array *array, uint64_t hash, const swa_jit_config *config,
                          struct swa_jit_kernel **kernel_out)
{
  size_t mask = array->num_buckets - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const bucket *each = &array->buckets[i];
    struct swa_jit_kernel *kernel = atomic_load_explicit(&each->kernel, memory_order_acquire);
    if (kernel == NULL || (each->hash == hash && sj_config_equal(&kernel->config, config))) {
      *kernel_out = kernel;
      return i;
    }
  }
}

struct swa_jit_kernel *sj_kernel_table_find(const sj_kernel_table *table, const swa_jit_config *config)
{
  const bucket_array *array = atomic_load_explicit(&table->current, memory_order_acquire);
  struct swa_jit_kernel *kernel;
  find_bucket(array, sj_config_hash(config), config, &kernel);
  return kernel;
}

/* Under the mutex, or before array is published. Readers see the hash as soon as they see the kernel. */
static void fill_bucket(bucket_array *array, uint64_t hash, struct swa_jit_kernel *kernel)
{
  struct swa_jit_kernel *none;
  bucket *empty = &array->buckets[find_bucket(array, hash, &kernel->config, &none)];
  empty->hash = hash;
  atomic_store_explicit(&empty->kernel, kernel, memory_order_release);
}

/* A copy of twice the size, not yet published; NULL when memory is short. */
static bucket_array *copy_larger(bucket_array *array)
{
  bucket_array *larger = create_array(array->num_buckets * 2, array);
  for (size_t i = 0; larger != NULL && i < array->num_buckets; ++i) {
    struct swa_jit_kernel *kernel = atomic_load_explicit(&array->buckets[i].kernel, memory_order_relaxed);
    if (kernel != NULL) {
      fill_bucket(larger, array->buckets[i].hash, kernel);
    }
  }
  return larger;
}

static struct swa_jit_kernel *create_kernel(const swa_jit_config *config)
{
  struct swa_jit_kernel *kernel = aligned_alloc(_Alignof(struct swa_jit_kernel), sizeof *kernel);
  if (kernel == NULL) {
    return NULL;
  }
  memset(kernel, 0, sizeof *kernel);
  if (pthread_mutex_init(&kernel->mutex, NULL) != 0) {
    free(kernel);
    return NULL;
  }
  kernel->config = *config;
  return kernel;
}

/* Under the mutex; the configuration is not in the table. */
static swa_jit_status add_new(sj_kernel_table *table, uint64_t hash, const swa_jit_config *config,
                              struct swa_jit_kernel **kernel_out)
{
  bucket_array *array = atomic_load_explicit(&table->current, memory_order_relaxed);
  if ((table->num_kernels + 1) * 2 > array->num_buckets) {
    array = copy_larger(array);
    if (array == NULL) {
      return sj_fail_memory();
    }
    atomic_store_explicit(&table->current, array, memory_order_release);
  }
  struct swa_jit_kernel *kernel = create_kernel(config);
  if (kernel == NULL) {
    return sj_fail_memory();
  }
  fill_bucket(array, hash, kernel);
  ++table->num_kernels;
  *kernel_out = kernel;
  return SWA_JIT_OK;
}

swa_jit_status sj_kernel_table_add(sj_kernel_table *table, const swa_jit_config *config,
                                   struct swa_jit_kernel **kernel_out)
{
  swa_jit_status status = SWA_JIT_OK;
  pthread_mutex_lock(&table->mutex);
  struct swa_jit_kernel *kernel = sj_kernel_table_find(table, config);
  if (kernel == NULL) {
    status = add_new(table, sj_config_hash(config), config, &kernel);
  }
  pthread_mutex_unlock(&table->mutex);
  if (status == SWA_JIT_OK) {
    *kernel_out = kernel;
  }
  return status;
}
