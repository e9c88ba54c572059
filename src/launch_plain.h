/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that are plainly right -> the kernel's parameter: the way of nearly every launch, with few conditions and
 * no words. What is not plainly right goes to launch_args's checks, which accept some of it and say of the rest what is
 * wrong. The hot path: allocates nothing, takes no lock, makes no system call. */
#ifndef SJ_LAUNCH_PLAIN_H
#define SJ_LAUNCH_PLAIN_H

#include <stdbool.h>

#include "launch_constants.h"
#include "launch_fill.h"

/* config: the kernel's. args: of this library's size or larger, num_tokens >= 1. True only for what launch_args's
 * checks accept, with the parameter that they would make; it is undefined otherwise. */
bool sj_launch_fill_plain(const swa_jit_config *config, const swa_jit_decode_args *args, swa_params *params_out);

/* After sj_usual_fill, which found nothing odd but a rest: looks at the rest and fills it in, as above. */
bool sj_launch_fill_rest(const sj_launch_constants *constants, const swa_jit_config *config,
                         const swa_jit_decode_args *args, swa_params *params);

#endif
