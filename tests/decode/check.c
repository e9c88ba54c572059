/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

/* 256 bytes even for an empty tensor, so that every pointer is real. */
static size_t room_for(size_t bytes)
{
  return bytes > 0 ? bytes : 256;
}

static const void *where_on_device(const void *context, enum decode_tensor tensor)
{
  return (const void *)(uintptr_t)((const decode_problem *)context)->addresses[tensor];
}

bool decode_problem_make(const decode_device *device, const decode_data *data, decode_problem *problem_out)
{
  memset(problem_out, 0, sizeof *problem_out);
  problem_out->device = device;
  for (unsigned i = 0; i < DECODE_NUM_TENSORS; i++) {
    problem_out->sizes[i] = data->tensors[i].size;
    if (!device->alloc(device->data, room_for(data->tensors[i].size), &problem_out->addresses[i])) {
      decode_problem_free(problem_out);
      return false;
    }
  }
  problem_out->args = data->args;
  decode_data_point(data, where_on_device, problem_out, &problem_out->args);
  if (!decode_problem_write(problem_out, data)) {
    decode_problem_free(problem_out);
    return false;
  }
  return true;
}

void decode_problem_free(decode_problem *problem)
{
  for (unsigned i = 0; i < DECODE_NUM_TENSORS; i++) {
    if (problem->addresses[i] != 0) {
      problem->device->release(problem->device->data, problem->addresses[i]);
      problem->addresses[i] = 0;
    }
  }
}

static bool write_range(decode_problem *problem, const decode_data *data, enum decode_tensor tensor, size_t offset,
                        size_t bytes)
{
  const decode_device *device = problem->device;

  return bytes == 0
         || device->write(device->data, problem->addresses[tensor] + offset, data->tensors[tensor].bytes + offset,
                          bytes);
}

/* Of a pool too large to be written whole. */
static bool write_candidates(decode_problem *problem, const decode_data *data, enum decode_pool_kind kind)
{
  const decode_pool *pool = &data->pools[kind];
  enum decode_tensor tensor = decode_data_rows_tensor(kind);

  for (uint32_t i = 0; i < pool->num_candidates; i++) {
    uint64_t slot = decode_pool_slot(pool, i);

    for (uint32_t kv_head = 0; kv_head < pool->num_kv_heads; kv_head++) {
      if (!write_range(problem, data, tensor, decode_pool_row_offset(pool, slot, kv_head), pool->row_bytes)) {
        return false;
      }
    }
    if (!write_range(problem, data, tensor, decode_pool_scale_row_offset(pool, slot), pool->scale_row_bytes)) {
      return false;
    }
  }
  return true;
}

static const decode_pool *find_sparse_pool(const decode_data *data, enum decode_tensor tensor)
{
  for (unsigned kind = 0; kind < DECODE_NUM_POOLS; kind++) {
    if (tensor == decode_data_rows_tensor(kind) && decode_pool_is_sparse(&data->pools[kind])) {
      return &data->pools[kind];
    }
  }
  return NULL;
}

bool decode_problem_write(decode_problem *problem, const decode_data *data)
{
  for (unsigned i = 0; i < DECODE_NUM_TENSORS; i++) {
    const decode_pool *sparse = find_sparse_pool(data, i);
    size_t size = data->tensors[i].size;

    if (size > problem->sizes[i]) {
      return false;
    }
    if (!(sparse != NULL ? write_candidates(problem, data, sparse->kind) : write_range(problem, data, i, 0, size))) {
      return false;
    }
  }
  return true;
}

bool decode_problem_read(const decode_problem *problem, decode_data *data)
{
  const decode_device *device = problem->device;
  decode_buffer *out = &data->tensors[DECODE_OUT];
  decode_buffer *lse = &data->tensors[DECODE_LSE];

  return device->read(device->data, out->bytes, problem->addresses[DECODE_OUT], out->size)
         && device->read(device->data, lse->bytes, problem->addresses[DECODE_LSE], lse->size);
}

bool decode_judge(const decode_data *data, unsigned num_threads, decode_verdict *verdict_out)
{
  size_t heads = (size_t)data->which.num_tokens * data->which.num_heads;
  double *out = malloc((heads * decode_data_out_dim(data) + 1) * sizeof *out);
  double *lse = malloc((heads + 1) * sizeof *lse);
  bool judged = out != NULL && lse != NULL;

  if (judged) {
    sj_reference_decode(&data->config, &data->args, num_threads, out, lse);
    judged = decode_compare(data, out, lse, verdict_out);
  }
  free(out);
  free(lse);
  return judged;
}

static decode_result fail(decode_verdict *verdict, const char *step, const char *reason)
{
  verdict->num_faults++;
  (void)snprintf(verdict->fault, sizeof verdict->fault, "%s: %s", step, reason);
  return DECODE_FAILED;
}

static decode_result check_problem(decode_problem *problem, decode_data *data, decode_verdict *verdict)
{
  const decode_device *device = problem->device;
  swa_jit_status status = device->decode(device->data, &data->config, &problem->args);
  const char *fault;

  if (status == SWA_JIT_UNSUPPORTED) {
    return DECODE_REFUSED;
  }
  if (status != SWA_JIT_OK) {
    return fail(verdict, "decode", device->message(device->data));
  }
  if (!decode_problem_read(problem, data)) {
    return fail(verdict, "reading out and lse", device->message(device->data));
  }
  if (!decode_judge(data, device->num_threads, verdict)) {
    return fail(verdict, "comparing", "no host memory");
  }
  fault = device->seen != NULL ? device->seen(device->data, data) : NULL;
  if (fault != NULL && verdict->num_faults == 0) {
    return fail(verdict, "beside another device", fault);
  }
  return verdict->num_faults == 0 ? DECODE_PASSED : DECODE_FAILED;
}

decode_result decode_check(const decode_device *device, const decode_case *which, decode_verdict *verdict_out)
{
  decode_data data;
  decode_problem problem;
  decode_result result;

  memset(verdict_out, 0, sizeof *verdict_out);
  if (!decode_data_make(which, &data)) {
    return fail(verdict_out, "making the data", "no host memory");
  }
  if (!decode_problem_make(device, &data, &problem)) {
    decode_data_free(&data);
    return fail(verdict_out, "writing the data", device->message(device->data));
  }
  result = check_problem(&problem, &data, verdict_out);
  decode_problem_free(&problem);
  decode_data_free(&data);
  return result;
}
