/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake device runs in place of the decode kernel: the float64 reference on the kernel's own parameter. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include "swa_jit/swa_jit.h"
#include "swa_params.h"

/* The configuration and the arguments that a parameter was made of. Of the configuration it has only what strides and
 * pointers show, so: int32 indices and lens, float32 scales, packed indices and heads of q, packed rows (footer blocks
 * may have a gap behind them), inv_scale only for e4m3_slot.
 * NULL, or what of the parameter fits no configuration under these terms. */
const char *fake_kernel_read(const swa_params *params, swa_jit_config *config_out, swa_jit_decode_args *args_out);

/* Whether a launch could be run: its parameter fits a configuration, and splits have a workspace of zeros.
 * Returns NULL, or why it could not. */
const char *fake_kernel_check(const swa_params *params);

/* Writes out and LSE of a launch that could be run; a workspace stays as it is. fault: as fake_libcuda.c's
 * "wrong", "lse", "alone", "unwritten" and "past"; "" for none. Returns NULL, or why it did not. */
const char *fake_kernel_run(const swa_params *params, const char *fault);

#endif
