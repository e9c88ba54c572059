/* SPDX-License-Identifier: Apache-2.0 */
/* How a cluster's CTAs share a token, and the shared memory of one of them. src/tile_plan.c has its size; an assertion
 * keeps them equal. */
#ifndef SWA_CLUSTER_SMEM_CUH
#define SWA_CLUSTER_SMEM_CUH

#include "../column.cuh"
#include "../ptx/load_store.cuh"
#include "../row_layout.cuh"
#include "../swa_config.cuh"

namespace swa::cluster
{
/* Positions of the window, as the cluster has them, and of one CTA. */
constexpr unsigned positions = 128;
constexpr unsigned own_positions = positions / cluster_ctas;

/* Of head_dim, whose values a CTA makes. */
constexpr unsigned own_dims = head_dim / cluster_ctas;

/* Scores: units of 16 positions, each made by four warps that have a quarter of head_dim; a unit is a k-step of the
 * values and has a top of its own. */
constexpr unsigned unit_positions = mma_k;
constexpr unsigned num_units = positions / unit_positions;
constexpr unsigned own_units = own_positions / unit_positions;
constexpr unsigned unit_warps = num_warps / own_units;
constexpr unsigned unit_threads = unit_warps * warp_size;
constexpr unsigned warp_chunks = num_chunks / unit_warps;

/* Rows with scales by group: factors of the groups, and of the tail where there is one as of one group more. */
constexpr unsigned group_dims = k_format::num_groups != 0 ? k_format::group_dims : head_dim;
constexpr unsigned num_factors = k_format::num_groups != 0 ? head_dim / group_dims : 0;
constexpr unsigned own_factors = num_factors / cluster_ctas;
constexpr bool has_tail = k_format::code_dims != head_dim;

/* Of a row, a CTA's part: the last one's has the tail, whose elements have two bytes. */
constexpr unsigned column_bytes = own_dims + (has_tail ? k_format::copied_bytes - head_dim : 0);

/* Values: every warp has the same number of own_dims, for all heads. */
constexpr unsigned warp_dims = own_dims / num_warps;

static_assert(head_dim == 512 && num_warps == 8 && cluster_ctas == 4, "the cut is of these");
static_assert(window_size <= positions && pass_rows == mma_m && v_row_bytes == 0, "src/config.c lets no other through");
static_assert(own_units == 2 && unit_warps == 4 && warp_chunks == 2 && warp_dims == 16, "what the code below assumes");

/* Of a unit and a row of heads, for every CTA: the unit's top, a whole number, and the sum of its exponentials; that
 * sum is -0 where the unit has no unmasked position. */
struct unit_figure {
  float top, sum;
};

struct alignas(128) cta_smem {
  unsigned char rows[own_positions][row_bytes];     /* whole KV rows of this CTA's positions, swizzled */
  unsigned char columns[positions][column_bytes];   /* of every row, this CTA's part of head_dim, swizzled */
  unsigned short weights[pass_rows][positions + 8]; /* f16, relative to their unit's top; from all CTAs */
  unit_figure figure[pass_rows][num_units + 2];     /* from all CTAs. Padded as weights are, against bank conflicts */
  ptx::words4 part[own_units][unit_warps][2]
                  [warp_size]; /* products over a warp's part of head_dim, in fragment order */
  unsigned char round[own_units][unit_warps][2][warp_size]; /* in which a row of them was finite, see scores.cuh */
  //: if with_groups
  unsigned short own_factor[num_factors][own_positions]; /* f16, of a tail bf16; of this CTA's rows, see groups.cuh */
  unsigned short factor[own_factors][positions];         /* of this CTA's part of head_dim; from all CTAs */
  k_format::row_scales scales[own_positions];
  alignas(16) unsigned char is_doubtful[own_positions];
  //: end
  column_info column[own_positions];
  //: if with_sinks
  float sink[pass_rows]; /* in units of log2 */
  //: end
  unsigned long long arrived;            /* mbarrier: weights, figures and factors are there */
  unsigned parts_with_rounds[own_units]; /* a bit a part: whose rounds are not all 0, and stand in `round` */
};
static_assert(sizeof(cta_smem) == shared_memory_bytes, "src/tile_plan.c has another size");

/* What arrives from all CTAs. */
constexpr unsigned arriving_bytes =
    pass_rows * (positions * 2 + num_units * sizeof(unit_figure)) + own_factors * positions * 2;

using k_layout = row_layout<row_bytes>;
using column_layout = row_layout<column_bytes>;

__device__ __forceinline__ unsigned cta_rank()
{
  return blockIdx.x % cluster_ctas;
}
} // namespace swa::cluster

#endif
