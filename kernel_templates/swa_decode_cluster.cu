/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding-window attention decode for few tokens: a cluster of four CTAs has one token and head_group query heads.
 *
 *   gather    a quarter of the positions' rows whole, and a quarter of head_dim of all rows
 *   scores    of that quarter of the positions
 *   exchange  weights to every CTA of the cluster, through its shared memory
 *   values    of that quarter of head_dim, normalised, rounded to bf16, stored; LSE
 *
 * The formula is in swa_jit.h, section 8; docs/kernels/cluster.md has the schedule and its arithmetic.
 */
#include "cluster/exchange.cuh"
#include "cluster/gather.cuh"
#include "cluster/scores.cuh"
#include "cluster/values.cuh"
#include "ptx/cluster.cuh"
#include "ptx/griddepcontrol.cuh"

namespace swa::cluster
{
/* Q's loads while lens is on its way, or behind the index, which rows wait for: which is faster was measured. */
constexpr bool q_goes_first = has_tail;

/* False: no position, or every one is masked, and nothing is stored. The cluster's CTAs agree. */
__device__ __forceinline__ bool decode(const swa_params &params, const cta_plan &plan, cta_smem &smem)
{
  score_warp w = make_score_warp();
  q_words q;
  if (q_goes_first) {
    load_q(params, plan, w, q);
  }
  if (plan.len == 0) {
    ptx::barrier_cluster_wait();
    return false;
  }
  index_type index = load_lane_index(params, plan);
  if (!q_goes_first) {
    load_q(params, plan, w, q);
  }
  //: if with_sinks
  float sink = load_sink(params, plan, threadIdx.x);
  //: end
  gather(params, plan, smem, index);
  //: if with_sinks
  if (threadIdx.x < pass_rows) {
    smem.sink[threadIdx.x] = sink;
  }
  //: end
  narrow_q(q, 0);
  ptx::cp_async_wait_group<1>();
  __syncthreads();
#pragma unroll 1
  for (unsigned pass = 0;; pass++) {
    make_part(params, plan, smem, w, q);
    ptx::bar_sync(1 + w.unit, unit_threads);
    //: if with_groups
    if (pass == 0 && mend_unit(smem, w.unit)) {
      continue;
    }
    //: end
    break;
  }
  ptx::barrier_cluster_wait();
  exchange_weights(params, smem);
  ptx::cp_async_wait_group<0>();
  __syncthreads();
  ptx::mbarrier_wait_cluster(ptx::shared_address(&smem.arrived));
  row_totals totals = make_totals(smem);
  if (!totals.has_position) {
    return false;
  }
  //: if with_lse
  store_lse(params, plan, totals);
  //: end
  //: if with_tail
  if (has_tail_columns()) {
    store_values(params, plan, smem, totals, make_tail_values(smem, totals));
    return true;
  }
  //: end
  store_values(params, plan, smem, totals, make_values(smem, totals));
  return true;
}
} // namespace swa::cluster

extern "C" __global__ void __cluster_dims__(swa::cluster_ctas, 1, 1)
    __launch_bounds__(swa::num_threads, swa::min_ctas_per_sm) swa_decode(const __grid_constant__ swa_params params)
{
  extern __shared__ __align__(128) unsigned char shared_memory[];
  swa::cluster::cta_smem &smem = *reinterpret_cast<swa::cluster::cta_smem *>(shared_memory);
  swa::ptx::griddepcontrol_wait(); /* before anything is read that a kernel before may have written */
  swa::prefetch_indices(params, swa::cta_token());
  swa::cta_plan plan = swa::make_plan(params);
  if (threadIdx.x == 0) {
    swa::ptx::mbarrier_init_expecting(swa::ptx::shared_address(&smem.arrived), swa::cluster::arriving_bytes);
  }
  if (threadIdx.x < swa::cluster::own_units) {
    smem.parts_with_rounds[threadIdx.x] = 0;
  }
  __syncwarp();
  swa::ptx::barrier_cluster_arrive_relaxed();
  swa::ptx::griddepcontrol_launch_dependents();
  if (!swa::cluster::decode(params, plan, smem)) {
    constexpr unsigned heads = swa::head_group / swa::cluster_ctas; /* of each CTA */
    unsigned first = swa::cluster::cta_rank() * heads;
    swa::store_empty(params, plan, first, first < plan.num_heads ? min(heads, plan.num_heads - first) : 0);
  }
}
