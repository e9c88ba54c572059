/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a case, made from its digest: nothing but results needs to be kept. */
#ifndef GOLDEN_VALUES_H
#define GOLDEN_VALUES_H

#include "cases.h"

/*
 * Letters, of sources and of results (which know their width and format by them):
 *   h w l    16, 32, 64 bits      n  a count, 32 bits       k K  0 to 3, of 32 and of 64 bits
 *   f d      f32, f64             e E  f16, two of them     b B  bf16, two of them
 *   p        a predicate          r  one that seldom holds
 *   q        f32 from -100 to 100, edges too               s L  shfl's bound and lane
 * and of matrices, in 32 bits, of small whole numbers:  i f16, j bf16, y e4m3, z e5m2, I f32, D bytes of any value;
 *   U X Y Z  the same with an infinity or a NaN now and then (f16, bf16, e4m3, e5m2);
 *   A C J F G H  numbers far apart: f16, bf16, bf16 of any size, e4m3, e5m2, f32;
 *   V W O    subnormal ones: f16, bf16, and 0;   M N P Q g  numbers of about 1: f16, bf16, e4m3, e5m2, f32.
 */
unsigned golden_bytes(char letter); /* as registers go: 1 a predicate, 2, 4, 8 */

/* Threads, a multiple of 128. */
unsigned golden_num_threads(const golden_case *one);
/* words: [source][thread], zero-extended. */
void golden_fill(const golden_case *one, uint64_t *words);

#endif
