/* SPDX-License-Identifier: Apache-2.0 */
/* Products of wgmma to try: a kernel of one warpgroup for each, its operands, and what the documents say of its result.
 * Section names are those of "Asynchronous Warpgroup Level Matrix Instructions" in the PTX ISA. */
#ifndef EMU_WGMMA_CASE_H
#define EMU_WGMMA_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wgmma_type { F16, BF16, TF32, E4M3, E5M2, S8, U8, B1, F32, S32 } wgmma_type; /* the last two: of D alone */

/* "Matrix Descriptor Format": how a matrix lies in shared memory. Offsets are bytes. */
typedef struct wgmma_place {
  bool is_mn_major;
  unsigned swizzle;         /* 0 none, 1 of 128 bytes, 2 of 64, 3 of 32 */
  unsigned start;           /* of the pattern, from the beginning of shared memory */
  unsigned leading, stride; /* byte offsets */
  unsigned step;            /* the products along K that lie before this one in the same patterns */
} wgmma_place;

typedef struct wgmma_case {
  wgmma_type a_type, b_type, d_type;
  unsigned n;
  bool a_in_registers, accumulates, negates_a, negates_b, saturates;
  bool has_specials; /* infinities and NaN among the operands */
  wgmma_place a, b;
  unsigned used; /* bytes of shared memory */
  uint64_t seed;
} wgmma_case;

enum {
  WGMMA_THREADS = 128,
  WGMMA_SHARED = 98304, /* at most; a multiple of 2048, as what a case uses */
  /* In the data: the picture of shared memory, two descriptors whose start counts from its beginning, a thread's
   * fragments of A, and its accumulators before and after. */
  WGMMA_AT_DESCRIPTORS = WGMMA_SHARED,
  WGMMA_AT_A = WGMMA_AT_DESCRIPTORS + 128,
  WGMMA_AT_D = WGMMA_AT_A + WGMMA_THREADS * 16,
  WGMMA_D_BYTES = 512, /* of a thread, at most */
  WGMMA_DATA = WGMMA_AT_D + WGMMA_THREADS * WGMMA_D_BYTES,
  WGMMA_TEXT = 65536
};

/* A case without a place: matrices close together, K-major, without a swizzle. */
wgmma_case wgmma_case_of(wgmma_type a_type, wgmma_type b_type, wgmma_type d_type, unsigned n);
/* Places for its matrices, apart from each other; padded: with room between what the offsets lead to. */
void wgmma_case_place(wgmma_case *of, bool a_mn_major, bool b_mn_major, unsigned swizzle, bool padded, unsigned step);

/* The opcode alone; the kernel; its data. */
void wgmma_case_opcode(const wgmma_case *of, char *to, size_t room);
void wgmma_case_text(const wgmma_case *of, char *to, size_t room);
void wgmma_case_data(const wgmma_case *of, uint8_t data[WGMMA_DATA]);
/* How far D is from the exact sums at most; data: as the kernel left it. Beyond a rounding to D's type, as a part of
 * the sum of the magnitudes of all terms; infinite where an integer is not the same, or NaN stands for a number or the
 * reverse. place_out: m * 256 + n. */
double wgmma_case_error(const wgmma_case *of, const uint8_t data[WGMMA_DATA], unsigned *place_out);

/* How many elements of D are not, to the bit, what the emulator's rule of sums gives (matrix_sum.h), made here once
 * more from its words. Of every fifth row, from one on that the seed says. */
unsigned wgmma_case_differs(const wgmma_case *of, const uint8_t data[WGMMA_DATA]);

/* A sample of all that there is, for a run on a device: the i-th case and what it is about; false past the end. */
bool wgmma_sample(unsigned index, wgmma_case *of_out, const char **about_out);

#endif
