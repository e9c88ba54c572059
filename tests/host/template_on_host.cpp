/* SPDX-License-Identifier: Apache-2.0 */
#include "template_on_host.h"

#include <cmath>
#include <cstring>

/* ---- what a kernel has of its compiler ------------------------------------------------------------------------- */

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

static struct {
  unsigned x, y;
} blockIdx, threadIdx;

static float __uint_as_float(unsigned bits)
{
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static float __int_as_float(int bits)
{
  return __uint_as_float(static_cast<unsigned>(bits));
}

/* ---- the wrappers of ptx/ that it uses ------------------------------------------------------------------------- */

#define SWA_PTX_LOAD_STORE_CUH
#define SWA_PTX_CONVERT_CUH
#define SWA_PTX_GRIDDEPCONTROL_CUH

namespace swa::ptx
{
struct alignas(16) words4 {
  unsigned w[4];
};

static void st_global_v4(void *address, const words4 &value)
{
  std::memcpy(address, &value, sizeof value);
}

static float ex2(float x)
{
  return std::exp2(x);
}

static float lg2(float x)
{
  return std::log2(x);
}

static float rcp(float x)
{
  return 1.0f / x;
}

/* To nearest even; NaN to the one that the instruction gives. */
static unsigned bf16(float value)
{
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return std::isnan(value) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static unsigned cvt_bf16x2(float low, float high)
{
  return bf16(high) << 16 | bf16(low);
}

static void griddepcontrol_wait() {}
static void griddepcontrol_launch_dependents() {}
} // namespace swa::ptx

#include "swa_merge.cu"

/* ---- the grid -------------------------------------------------------------------------------------------------- */

void template_run_merge(const swa_merge_params *params, unsigned num_tokens, unsigned num_shares, unsigned num_threads,
                        int is_backward)
{
  const unsigned long long count = 1ull * num_tokens * num_shares * num_threads;
  for (unsigned long long i = 0; i < count; i++) {
    const unsigned long long at = is_backward ? count - 1 - i : i;
    threadIdx.x = static_cast<unsigned>(at % num_threads);
    blockIdx.y = static_cast<unsigned>(at / num_threads % num_shares);
    blockIdx.x = static_cast<unsigned>(at / num_threads / num_shares);
    swa_merge(*params);
  }
}
