/* SPDX-License-Identifier: Apache-2.0 */
#include "abi.h"

#include <string.h>

/* No struct of any release comes near it: a size above is an uninitialised one, and its bytes may not be there. */
enum { MAX_STRUCT_SIZE = 4096 };

swa_jit_status sj_abi_check(const void *given, size_t first_size, size_t known_size, const char *name)
{
  if (given == NULL) {
    return sj_fail(SWA_JIT_INVALID, "%s is NULL: pass a struct that its initialiser filled", name);
  }
  uint32_t size = 0;
  memcpy(&size, given, sizeof size);
  if (size < first_size) {
    return sj_fail(SWA_JIT_INVALID, "%s.size is %u: at least %zu is needed; fill the struct with its initialiser", name,
                   size, first_size);
  }
  if (size > MAX_STRUCT_SIZE) {
    return sj_fail(SWA_JIT_INVALID, "%s.size is %u: no struct is above %d; fill the struct with its initialiser", name,
                   size, MAX_STRUCT_SIZE);
  }
  const unsigned char *bytes = given;
  for (size_t i = known_size; i < size; i++) {
    if (bytes[i] != 0) {
      return sj_fail(SWA_JIT_NEWER,
                     "%s.size is %u and byte %zu is set: this library knows %zu bytes; update it, or leave the newer "
                     "fields zero",
                     name, size, i, known_size);
    }
  }
  return SWA_JIT_OK;
}

void sj_abi_fill(void *out, size_t out_size, const void *known, size_t known_size)
{
  uint32_t size = (uint32_t)out_size;
  memset(out, 0, out_size);
  memcpy(out, known, out_size < known_size ? out_size : known_size);
  memcpy(out, &size, sizeof size);
}
