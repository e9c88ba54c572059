/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and the judge of D = A B^T, for kernels that are compiled: bf16 A [m, k] and B [n, k], float D [m, n]. */
#ifndef EMULATOR_TENSOR_TILE_H
#define EMULATOR_TENSOR_TILE_H

#include <stddef.h>
#include <stdint.h>

/* Numbers of either sign from 1/4 to 4, by the seed. */
void tensor_tile_fill(uint64_t seed, uint16_t *values, size_t count);

/* All NaN, so that what is not written is seen. */
void tensor_tile_poison(float *d, size_t count);

/* Values beyond the bound of f32 sums of k products. */
unsigned tensor_tile_count_wrong(const uint16_t *a, const uint16_t *b, const float *d, unsigned m, unsigned n,
                                 unsigned k);

#endif
