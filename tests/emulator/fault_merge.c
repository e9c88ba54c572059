/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "merge_case.h"
#include "swa_merge_params.h"

/* What the launch is handed through, as if it were the driver's handle. */
typedef struct launcher {
  kernel_machine *m;
  const emu_kernel *kernel;
  swa_jit_status status;
} launcher;

static int launch_kernel(sj_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned shared_bytes, swa_jit_stream stream,
                         void **params, void **extra)
{
  launcher *l = (launcher *)(void *)function;
  (void)stream;
  (void)extra;
  const emu_launch launch = {.kernel = l->kernel,
                             .grid = {grid_x, grid_y, grid_z},
                             .block = {block_x, block_y, block_z},
                             .dynamic_shared = shared_bytes,
                             .params = params[0],
                             .params_size = sizeof(swa_merge_params)};
  l->status = kernel_machine_launch(l->m, &launch);
  return SJ_CU_SUCCESS;
}

static swa_jit_status launch(kernel_machine *m, const swa_jit_merge_args *args)
{
  swa_jit_config config = SWA_JIT_CONFIG_INIT;
  sj_tile_plan plan;
  emu_module *module = NULL;
  config.kernel = SWA_JIT_KERNEL_MERGE;
  config.arch = m->arch->id;
  swa_jit_status status = sj_tile_plan_make(&config, m->arch, &plan);
  if (status == SWA_JIT_OK) {
    status = kernel_machine_compile(m, &config, &plan, &module);
  }
  if (status == SWA_JIT_OK) {
    launcher l = {m, emu_module_kernel(module, "swa_merge"), SWA_JIT_OK};
    const sj_cuda_api api = {.launch_kernel = launch_kernel};
    struct swa_jit_kernel kernel = {.cuda = &api, .arch = m->arch, .config = config, .plan = plan};
    kernel.loaded.kernel = (sj_cu_kernel)(void *)&l;
    status = sj_merge_launch(&kernel, args, NULL);
    status = status == SWA_JIT_OK ? l.status : status;
    emu_module_free(module);
  }
  return status;
}

static bool write_tensors(const decode_device *device, const merge_data *data, uint64_t addresses[MERGE_NUM_TENSORS])
{
  bool done = true;
  for (unsigned i = 0; i < MERGE_NUM_TENSORS && done; i++) {
    done = data->sizes[i] == 0
           || (device->alloc(device->data, data->sizes[i], &addresses[i])
               && device->write(device->data, addresses[i], data->tensors[i], data->sizes[i]));
  }
  return done;
}

static bool read_and_judge(const decode_device *device, const merge_data *data,
                           const uint64_t addresses[MERGE_NUM_TENSORS], decode_verdict *verdict)
{
  const merge_tensor out = merge_out_tensor(data);
  uint16_t *out_read = malloc(data->sizes[out]);
  float *lse = data->sizes[MERGE_LSE] == 0 ? NULL : malloc(data->sizes[MERGE_LSE]);
  const bool done = out_read != NULL && (lse != NULL || data->sizes[MERGE_LSE] == 0)
                    && device->read(device->data, out_read, addresses[out], data->sizes[out])
                    && (lse == NULL || device->read(device->data, lse, addresses[MERGE_LSE], data->sizes[MERGE_LSE]))
                    && merge_judge(data, out_read, lse, verdict);
  free(out_read);
  free(lse);
  return done;
}

static decode_result run(kernel_machine *m, const merge_data *data, decode_verdict *verdict)
{
  const decode_device device = kernel_machine_device(m, 1);
  uint64_t addresses[MERGE_NUM_TENSORS] = {0};
  bool done = write_tensors(&device, data, addresses);
  if (done) {
    const swa_jit_merge_args args = merge_args_at(data, addresses);
    done = launch(m, &args) == SWA_JIT_OK && read_and_judge(&device, data, addresses, verdict);
  }
  for (unsigned i = 0; i < MERGE_NUM_TENSORS; i++) {
    if (addresses[i] != 0) {
      device.release(device.data, addresses[i]);
    }
  }
  return done && verdict->num_faults == 0 ? DECODE_PASSED : DECODE_FAILED;
}

decode_result fault_run_merge(kernel_machine *m, const char *name, decode_verdict *verdict_out)
{
  for (size_t i = 0; i < num_merge_cases; i++) {
    if (strcmp(merge_cases[i].name, name) == 0) {
      merge_data data;
      if (!merge_data_make(&merge_cases[i], &data)) {
        break;
      }
      const decode_result result = run(m, &data, verdict_out);
      merge_data_free(&data);
      return result;
    }
  }
  (void)snprintf(m->message, sizeof m->message, "no case %s, or no memory for it", name);
  m->was_unsound = true;
  return DECODE_FAILED;
}
