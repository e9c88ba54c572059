/* SPDX-License-Identifier: Apache-2.0 */
/* The machine as a device of tests/decode, without the driver front: the stages render and compile a case's
 * configuration to PTX, and the machine runs it. For test_kernels.c and the faults. */
#ifndef KERNEL_MACHINE_H
#define KERNEL_MACHINE_H

#include "arch.h"
#include "check.h"
#include "machine.h"
#include "nvrtc_api.h"
#include "tile_plan.h"

typedef struct kernel_machine {
  const emu_device *device;
  const sj_arch *arch;
  sj_nvrtc_api nvrtc;
  /* Exchanges the rendered source for another, which is free'd like it; NULL: a failure, told in message. */
  char *(*change)(struct kernel_machine *m, const swa_jit_config *config, const sj_tile_plan *plan, char *source);
  const void *change_data;
  emu_run_stats stats;
  double seconds;   /* of emu_run */
  bool was_unsound; /* change has failed */
  bool was_refused; /* by the compiler */
  bool was_faulted; /* by a check of the machine */
  char message[3000];
} kernel_machine;

/* False: there is no NVRTC for the architecture, and message says what was tried. seed: the machine's. */
bool kernel_machine_open(kernel_machine *m, const char *arch, uint64_t seed, unsigned num_threads);
void kernel_machine_close(kernel_machine *m);

/* A module of the configuration's kernel; what is wrong is in message. */
swa_jit_status kernel_machine_compile(kernel_machine *m, const swa_jit_config *config, const sj_tile_plan *plan,
                                      emu_module **module_out);
swa_jit_status kernel_machine_launch(kernel_machine *m, const emu_launch *launch);

/* The functions of m as tests/decode wants them. */
decode_device kernel_machine_device(kernel_machine *m, unsigned num_threads);

#endif
