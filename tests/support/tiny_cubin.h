/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest bytes that pass for a cubin where no driver looks: an ELF header for CUDA, a little content and a
 * section table of two headers. */
#ifndef SJ_TINY_CUBIN_H
#define SJ_TINY_CUBIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TINY_CUBIN_BYTES 208  /* header 64, content 16, section headers 2 x 64 */
#define TINY_CUBIN_CONTENT 64 /* where the content begins */

/* seed: different seeds give different content. */
static inline void tiny_cubin_make(uint8_t seed, uint8_t bytes_out[TINY_CUBIN_BYTES])
{
  memset(bytes_out, 0, TINY_CUBIN_BYTES);
  memcpy(bytes_out, "\177ELF\2\1\1", 7);
  bytes_out[16] = 2;   /* executable */
  bytes_out[18] = 190; /* machine: CUDA */
  bytes_out[20] = 1;
  bytes_out[40] = 80; /* section table's offset */
  bytes_out[52] = 64; /* this header's bytes */
  bytes_out[54] = 56; /* a segment header's bytes */
  bytes_out[58] = 64; /* a section header's bytes */
  bytes_out[60] = 2;  /* section headers: the empty one and the content's */
  for (uint8_t i = 0; i < 16; i++) {
    bytes_out[64 + i] = (uint8_t)(seed + 31 * i);
  }
  uint8_t *section = bytes_out + 80 + 64;
  section[4] = 1;   /* program bits */
  section[24] = 64; /* offset */
  section[32] = 16; /* bytes */
}

#endif
