/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows with scales by group, of a cluster's CTA: factors of the groups of its own rows, relative to the row's scale as
 * in kv/e8m0.cuh, for its scores and, sent along with the weights, for every CTA's values. A tail's factor is one over
 * the row's scale, as bf16, which has that range; a tail becomes f16 in registers.
 *
 * Rows whose scale bytes or tails are doubtful, see kv/mend.cuh, are mended once their unit's products have been made,
 * which are then made again.
 */
#ifndef SWA_CLUSTER_GROUPS_CUH
#define SWA_CLUSTER_GROUPS_CUH

#include "../kv/row_byte.cuh"
#include "../ptx/bar_sync.cuh"
#include "../ptx/cluster.cuh"
#include "smem.cuh"

namespace swa::cluster
{
//: if with_groups
__device__ __forceinline__ void store_tail_factor(cta_smem &smem, unsigned row, unsigned row_byte)
{
  if (has_tail) {
    smem.own_factor[num_factors - 1][row] = static_cast<unsigned short>((254 - row_byte) << 7);
  }
}

/* Rare: a loop keeps it short. */
__device__ __forceinline__ void store_factors(cta_smem &smem, unsigned row, unsigned row_byte)
{
#pragma unroll 1
  for (unsigned group = 0; group < k_format::num_groups; group++) {
    smem.own_factor[group][row] = static_cast<unsigned short>(kv::group_factor(smem.scales[row].of(group), row_byte));
  }
  store_tail_factor(smem, row, row_byte);
}

/* Of a row whose scales have arrived. Factors that are not near are the mending's to store. */
__device__ __forceinline__ void store_groups(cta_smem &smem, unsigned row, const k_format::row_scales &scales,
                                             bool is_masked)
{
  unsigned row_byte = k_format::row_byte(scales);
  kv::group_factors<k_format> factors = kv::near_group_factors<k_format>(scales, row_byte);
#pragma unroll
  for (unsigned group = 0; group < k_format::num_groups; group++) {
    smem.own_factor[group][row] = factors.of(group);
  }
  store_tail_factor(smem, row, row_byte);
  smem.scales[row] = scales;
  smem.is_doubtful[row] = !kv::has_near_groups<k_format>(scales, row_byte) && !is_masked ? 1 : 0;
}

/* A thread's words of a row's factor, for codes or for a tail, in both halves. */
__device__ __forceinline__ unsigned own_factor_of(const cta_smem &smem, unsigned group, unsigned row)
{
  return smem.own_factor[group][row] * 0x10001u;
}

/* The unit's rows, by its threads, when one of them is doubtful. True: its products are to be made again. */
__device__ __forceinline__ bool mend_unit(cta_smem &smem, unsigned unit)
{
  ptx::words4 rows = ptx::ld_shared_v4(ptx::shared_address(&smem.is_doubtful[unit * unit_positions]));
  if ((rows.w[0] | rows.w[1] | rows.w[2] | rows.w[3]) == 0) {
    return false;
  }
  unsigned row = unit * unit_positions + threadIdx.x % unit_threads;
  if (threadIdx.x % unit_threads < unit_positions && smem.column[row].bias == 0.0f) {
    unsigned row_byte = kv::true_row_byte<k_format, k_layout>(smem.rows[0], row, smem.scales[row]);
    float scale = __uint_as_float(row_byte << 23);
    store_factors(smem, row, row_byte);
    smem.column[row] = make_column(scale, scale, false);
  }
  if (threadIdx.x % unit_threads == 0) {
    smem.parts_with_rounds[unit] = 0;
  }
  ptx::bar_sync(1 + unit, unit_threads);
  return true;
}

/* The unit's factors, 8 positions a thread, to the CTAs whose part of head_dim they are of. */
__device__ __forceinline__ void send_factors(cta_smem &smem, unsigned unit, unsigned thread)
{
  if (thread < num_factors * 2) {
    unsigned group = thread / 2, first = thread % 2 * 8, rank = group / own_factors;
    ptx::words4 factors =
        ptx::ld_shared_v4(ptx::shared_address(&smem.own_factor[group][unit * unit_positions + first]));
    const unsigned short *target =
        &smem.factor[group % own_factors][(cta_rank() * own_units + unit) * unit_positions + first];
    ptx::st_async_v4(ptx::mapa(ptx::shared_address(target), rank), factors,
                     ptx::mapa(ptx::shared_address(&smem.arrived), rank));
  }
}
//: end
} // namespace swa::cluster

#endif
