/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a .npy file: any bytes are refused with a message or give an array whose data lies inside them and is as
 * large as its type and shape say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "number.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  char message[256] = "";
  sj_npy npy;
  if (!sj_npy_parse(bytes, count, &npy, message, sizeof message)) {
    demand(message[0] != '\0' && memchr(message, '\0', sizeof message) != NULL);
    return 0;
  }
  uint64_t element_bytes = 0;
  uint64_t num_elements = 1;
  demand(npy.num_dims <= SJ_NPY_MAX_DIMS && memchr(npy.type, '\0', sizeof npy.type) != NULL);
  demand(sj_number_read(npy.type + 1, &element_bytes));
  for (unsigned i = 0; i < npy.num_dims; i++) {
    demand(!__builtin_mul_overflow(num_elements, npy.shape[i], &num_elements));
  }
  demand(npy.num_elements == num_elements && npy.data_bytes == num_elements * element_bytes);
  demand((const uint8_t *)npy.data >= bytes && (const uint8_t *)npy.data + npy.data_bytes == bytes + count);
  return 0;
}
