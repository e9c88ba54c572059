/* SPDX-License-Identifier: Apache-2.0 */
/* KV format footer_584: a data row of 576 bytes has 448 e4m3 codes, in groups of 64, and 64 bf16 elements without a
 * scale, the tail; a scale row has 8 bytes: one for each group, and one of padding. */
#ifndef SWA_KV_FOOTER_584_CUH
#define SWA_KV_FOOTER_584_CUH

#include "e4m3_codes.cuh"
#include "e8m0.cuh"

namespace swa::kv
{
template <unsigned dims>
struct footer_584 : footer<576, 7, 64, 2> {
  static_assert(dims == 512, "the format has 512 elements");
};
} // namespace swa::kv

#endif
