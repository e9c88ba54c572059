/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the kernels' inputs hold them. */
#ifndef SJ_ENCODE_H
#define SJ_ENCODE_H

#include <stdint.h>

/* bf16: to nearest, ties to even; too large becomes infinity, NaN becomes the quiet NaN 0x7FC0. */
uint16_t sj_encode_bf16(float value);

/* e4m3 (OCP 8-bit floating point, 2023, without infinity): to nearest, ties to even; magnitudes above 448 become
 * 448, the largest; NaN becomes 0x7F. */
uint8_t sj_encode_e4m3(float value);

#endif
