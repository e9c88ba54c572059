/* SPDX-License-Identifier: Apache-2.0 */
/* KV format footer_528: a data row of 512 e4m3 codes in groups of 32, a scale row of 16 bytes, one for each group. */
#ifndef SWA_KV_FOOTER_528_CUH
#define SWA_KV_FOOTER_528_CUH

#include "e4m3_codes.cuh"
#include "e8m0.cuh"

namespace swa::kv
{
template <unsigned dims>
struct footer_528 : footer<512, 16, 32, 4> {
  static_assert(dims == 512, "the format has 512 elements");
};
} // namespace swa::kv

#endif
