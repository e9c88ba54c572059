/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <stdio.h>

#include "emulator.h"

static run_outcome complain(const char *message)
{
  fprintf(stderr, "%s: %s\n", run_cli.name, message);
  return RUN_BAD;
}

/* False: there is no emulator for this step, and no_emulator says why. */
static bool find_emulator(const run_options *options, run_device *device)
{
  if (options->emulator_arch == NULL) {
    (void)snprintf(device->no_emulator, sizeof device->no_emulator,
                   "the emulator has no %s, only sm_80, sm_90a and sm_100a", options->arch);
    return false;
  }
  if (options->place == RUN_ON_EMULATOR && options->cuda != NULL) {
    (void)snprintf(device->cuda_path, sizeof device->cuda_path, "%s", options->cuda);
    return true;
  }
  return sj_emulator_find(NULL, device->cuda_path, sizeof device->cuda_path, device->no_emulator,
                          sizeof device->no_emulator);
}

static run_outcome open_emulator(const run_options *options, run_device *device)
{
  if (!find_emulator(options, device)) {
    return options->place == RUN_ON_EMULATOR ? complain(device->no_emulator) : RUN_GOOD;
  }
  sj_emulator_choose(options->emulator_arch);
  if (sj_device_open(device->cuda_path, &device->device) != SJ_DEVICE_PRESENT) {
    return complain(device->device.message);
  }
  device->is_present = true;
  device->is_emulated = true;
  return RUN_GOOD;
}

run_outcome run_device_open(const run_options *options, run_device *device_out)
{
  *device_out = (run_device){0};
  if (options->place != RUN_ON_EMULATOR) {
    sj_presence presence = sj_device_open(options->cuda, &device_out->device);
    if (presence == SJ_DEVICE_BROKEN) {
      return complain(device_out->device.message);
    }
    device_out->is_present = presence == SJ_DEVICE_PRESENT;
    if (!device_out->is_present) {
      (void)snprintf(device_out->no_gpu, sizeof device_out->no_gpu, "%s", device_out->device.message);
    }
  }
  return device_out->is_present || options->place == RUN_ON_GPU ? RUN_GOOD : open_emulator(options, device_out);
}

const char *run_device_cuda(const run_device *device, const run_options *options)
{
  return device->is_emulated ? device->cuda_path : options->cuda;
}
