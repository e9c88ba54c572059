/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void sj_digest_make(const void *bytes, size_t count, uint8_t bytes_out[SJ_DIGEST_BYTES])
{
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, count));
  for (size_t i = 0; i < SJ_DIGEST_BYTES; i++) {
    bytes_out[i] = canonical.digest[i];
  }
}

void sj_digest_hex(const uint8_t bytes[SJ_DIGEST_BYTES], char hex_out[SJ_DIGEST_HEX_SIZE])
{
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < SJ_DIGEST_BYTES; i++) {
    hex_out[2 * i] = digits[bytes[i] >> 4];
    hex_out[2 * i + 1] = digits[bytes[i] & 15];
  }
  hex_out[SJ_DIGEST_HEX_SIZE - 1] = '\0';
}
