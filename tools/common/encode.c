/* SPDX-License-Identifier: Apache-2.0 */
#include "encode.h"

#include <math.h>
#include <string.h>

uint16_t sj_encode_bf16(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (isnan(value)) {
    return 0x7FC0;
  }
  /* Half a unit of the last kept place, less one when that place is even: a tie then stays. A carry into the exponent
   * is the right one, up to infinity. */
  return (uint16_t)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

uint8_t sj_encode_e4m3(float value)
{
  uint8_t sign = signbit(value) ? 0x80 : 0;
  float magnitude = fabsf(value);
  int exponent = 0;
  if (isnan(value)) {
    return 0x7F;
  }
  if (magnitude >= 448.0f) {
    return sign | 0x7E;
  }
  if (magnitude < 0x1p-6f) { /* subnormal: steps of 2^-9; 8 steps are the smallest normal number's code */
    return sign | (uint8_t)rintf(magnitude * 0x1p9f);
  }
  (void)frexpf(magnitude, &exponent);                           /* magnitude = f * 2^exponent with f in [0.5, 1) */
  int steps = (int)rintf(ldexpf(magnitude, 4 - exponent));      /* 8 to 16: significand with its leading one */
  return sign | (uint8_t)(((exponent + 6) << 3) + (steps - 8)); /* 16 carries into the exponent */
}
