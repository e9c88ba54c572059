/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_tile.h"

#include <math.h>

#include "numbers.h"

void tensor_tile_fill(uint64_t seed, uint16_t *values, size_t count)
{
  uint64_t state = seed;
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    values[i] = (uint16_t)((state >> 63) << 15 | (125 + (state >> 40) % 4) << 7 | (state >> 50 & 127));
  }
}

void tensor_tile_poison(float *d, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    d[i] = NAN;
  }
}

unsigned tensor_tile_count_wrong(const uint16_t *a, const uint16_t *b, const float *d, unsigned m, unsigned n,
                                 unsigned k)
{
  unsigned wrong = 0;
  for (unsigned row = 0; row < m; row++) {
    for (unsigned column = 0; column < n; column++) {
      double sum = 0, size = 0;
      for (unsigned i = 0; i < k; i++) {
        const double product = (double)emu_bf16_value(a[row * k + i]) * (double)emu_bf16_value(b[column * k + i]);
        sum += product;
        size += fabs(product);
      }
      wrong += !(fabs((double)d[row * n + column] - sum) <= (k / 16) * size * 0x1p-24);
    }
  }
  return wrong;
}
