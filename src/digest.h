/* SPDX-License-Identifier: Apache-2.0 */
/* The 128-bit digest of the key and of an entry's bytes: XXH3 (the xxHash library, in its canonical byte order). It
 * guards against accidents, not attackers: who may write to the store is the folder's permission's matter. */
#ifndef SJ_DIGEST_H
#define SJ_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define SJ_DIGEST_BYTES 16
#define SJ_DIGEST_HEX_SIZE 33 /* with the terminating zero */

void sj_digest_make(const void *bytes, size_t count, uint8_t bytes_out[SJ_DIGEST_BYTES]);
void sj_digest_hex(const uint8_t bytes[SJ_DIGEST_BYTES], char hex_out[SJ_DIGEST_HEX_SIZE]);

#endif
