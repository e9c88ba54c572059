/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gather: slots to row addresses and masks, rows into shared memory. Row l of a warp is position l * num_warps +
 * warp of the span, so that one index load by its lanes serves 32 rows. Masked rows are filled with zeros.
 */
#ifndef SWA_GATHER_CUH
#define SWA_GATHER_CUH

#include "kv/e4m3_slot.cuh"
#include "kv/mend.cuh"
#include "plan.cuh"
#include "ptx/cp_async.cuh"
#include "ptx/load_store.cuh"
#include "smem_plan.cuh"
#include "softmax.cuh"

namespace swa
{
constexpr unsigned round_positions = warp_size * num_warps;
constexpr unsigned no_column = 0xffffffffu;

/* A lane's row's column of scores, while its scales are on their way. */
template <class K, class V>
struct pending_column {
  unsigned column; /* no_column: none */
  bool is_masked;
  typename K::row_scales k_scales;
  typename V::row_scales v_scales;
};

template <class K, class V>
__device__ __forceinline__ void store_column(smem_plan &smem, const pending_column<K, V> &pending)
{
  if (pending.column != no_column) {
    float scale = K::row_scale(pending.k_scales);
    float weight_scale = has_own_v ? V::row_scale(pending.v_scales) : scale;
    smem.column[pending.column] = make_column(scale, weight_scale, pending.is_masked);
    //: if with_groups
    if constexpr (K::num_groups != 0) {
      kv::store_groups<K>(smem, pending.column, pending.k_scales, pending.is_masked);
    }
    //: end
  }
}

/* How a warp copies the units of its rows: the first 32 of a row, the next 32, or the rest. */
template <unsigned units>
struct copy_shape {
  static constexpr unsigned lanes = units <= 4 ? 4 : units <= 8 ? 8 : units <= 16 ? 16 : 32; /* of a row */
  static constexpr unsigned rows = warp_size / lanes;                                        /* at once */
};

/* Units first_unit to first_unit + units of the rows `row` to row + group_rows of a warp's warp_rows. source: the row
 * of this lane. */
template <unsigned data_bytes, unsigned first_unit, unsigned units, unsigned group_rows, unsigned warp_rows,
          class Layout>
__device__ __forceinline__ void copy_units(const char *source, unsigned masked_rows, unsigned row, unsigned target_rows,
                                           unsigned shared_row)
{
  using shape = copy_shape<units>;
  constexpr unsigned stride = Layout::stride_bytes;
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  unsigned row_in_copy = lane / shape::lanes, unit = first_unit + lane % shape::lanes;
  bool has_unit = units == shape::lanes || unit < first_unit + units;
  bool is_padding = data_bytes < (first_unit + units) * 16 && unit * 16 >= data_bytes;
  unsigned target = target_rows + Layout::unit_offset(shared_row + row_in_copy * num_warps + warp, unit);
#pragma unroll
  for (unsigned copied = 0; copied < group_rows; copied += shape::rows) {
    unsigned from = row + copied + row_in_copy;
    const char *row_source = reinterpret_cast<const char *>(
        __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(source), from % warp_size));
    if ((warp_rows % group_rows == 0 || from < warp_rows) && has_unit) {
      ptx::cp_async_16(target + (row + copied) * num_warps * stride, row_source + unit * 16,
                       is_padding || (masked_rows >> from % warp_size & 1) != 0 ? 0 : 16);
    }
  }
}

/* Of 64 heads a tail is copied ahead of the codes, as a group of its own: it is converted while they arrive. */
template <class F>
constexpr bool has_early_tail = !q_is_resident & (pass_rows <= 64) & (kv::tail_pairs<F> != 0);

/* All units of a group of rows, or those of codes. */
template <class F, class Layout, unsigned group_rows, unsigned warp_rows>
__device__ __forceinline__ void copy_rows(const char *source, unsigned masked_rows, unsigned row, unsigned target_rows,
                                          unsigned shared_row)
{
  constexpr unsigned units = has_early_tail<F> ? kv::code_units<F> : F::copied_bytes / 16;
  constexpr unsigned first = units < 32 ? units : 32;
  constexpr unsigned second = units - first < 32 ? units - first : 32;
  static_assert(first + second == units, "a row is at most 1,024 bytes");
  copy_units<F::data_bytes, 0, first, group_rows, warp_rows, Layout>(source, masked_rows, row, target_rows, shared_row);
  if constexpr (second != 0) {
    copy_units<F::data_bytes, first, second, group_rows, warp_rows, Layout>(source, masked_rows, row, target_rows,
                                                                            shared_row);
  }
}

__device__ __forceinline__ void note_positions(smem_plan &smem, unsigned masked_rows)
{
  if (masked_rows != 0xffffffffu && threadIdx.x % warp_size == 0) {
    atomicOr(&smem.has_position, 1u);
  }
}

/* A lane's slots: of K's pool and of V's, both masked or neither. */
struct row_slots {
  unsigned k, v;
};

/* Copies `positions` rows to shared rows `shared_row` and up. slots: of position lane * num_warps + warp of them. */
template <class K, class V, unsigned positions>
__device__ __forceinline__ pending_column<K, V> gather_rows(const swa_params &params, const swa_scope &scope,
                                                            const cta_plan &plan, smem_plan &smem, row_slots slots,
                                                            unsigned shared_row)
{
  static_assert(positions <= round_positions && positions % num_warps == 0, "at most 32 rows a warp, as many for each");
  static_assert(num_warps % swizzle_rows == 0, "a warp's rows are swizzled alike");
  constexpr unsigned warp_rows = positions / num_warps;
  constexpr unsigned group_rows = 8 * copy_shape<(K::copied_bytes / 16 < 32 ? K::copied_bytes / 16 : 32)>::rows;
  unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  pending_column<K, V> pending = {};
  pending.column = lane < warp_rows ? shared_row + lane * num_warps + warp : no_column;
  pending.is_masked = slots.k == masked_slot;
  const char *k_source = static_cast<const char *>(scope.pool.kv);
  [[maybe_unused]] const char *v_source = static_cast<const char *>(params.v.kv);
  if (slots.k != masked_slot) {
    kv::row_place at;
    k_source = place_row(params, scope, scope.pool, plan, slots.k, at);
    pending.k_scales = K::load_scales(scope.pool, at);
    if constexpr (has_own_v) {
      v_source = place_row(params, scope, params.v, plan, slots.v, at);
      pending.v_scales = V::load_scales(params.v, at);
    }
  }
  unsigned masked_rows = __ballot_sync(0xffffffffu, slots.k == masked_slot);
  //: if with_tail
  if constexpr (has_early_tail<K>) {
    constexpr unsigned units = 2 * kv::tail_pairs<K>, at_once = copy_shape<units>::rows;
    constexpr unsigned rows = (warp_rows + at_once - 1) / at_once * at_once;
    copy_units<K::data_bytes, kv::code_units<K>, units, rows, warp_rows, k_layout>(
        k_source, masked_rows, 0, ptx::shared_address(smem.rows), shared_row);
    ptx::cp_async_commit_group();
  }
  //: end
  if constexpr (!plans_ahead) {
    note_positions(smem, masked_rows);
  }
#pragma unroll 1
  for (unsigned first = 0; first < warp_rows; first += group_rows) {
    copy_rows<K, k_layout, group_rows, warp_rows>(k_source, masked_rows, first, ptx::shared_address(smem.rows),
                                                  shared_row);
    //: if with_own_v
    copy_rows<V, v_layout, group_rows, warp_rows>(v_source, masked_rows, first, ptx::shared_address(smem.v_rows),
                                                  shared_row);
    //: end
  }
  if constexpr (plans_ahead) { /* rows go first */
    note_positions(smem, masked_rows);
  }
  return pending;
}

/* The indices of this lane's row of a span that begins at position first. */
struct lane_index {
  index_type k, v;
};

__device__ __forceinline__ lane_index load_lane_index(const swa_params &params, const cta_plan &plan, unsigned first)
{
  unsigned position = first + threadIdx.x % warp_size * num_warps + threadIdx.x / warp_size;
  lane_index index;
  index.k = load_index(window_indices(params, plan), plan.len, position);
  index.v = has_own_v ? load_index(index_row(params.window, params.v, plan.token), plan.len, position) : index.k;
  return index;
}

__device__ __forceinline__ row_slots slots_of(const swa_scope &scope, const lane_index &index)
{
  row_slots slots = {slot_of(scope, index.k), 0};
  slots.v = slots.k;
  if constexpr (has_own_v) {
    slots.v = slot_of(scope, index.v);
    slots.k = slots.v == masked_slot ? masked_slot : slots.k;
  }
  return slots;
}

/* Until the rows of num_rows columns from first_row on are ready for products. This warp's share of them are all its
 * copies but the latest `most_pending` groups; the scales of its lanes' rows are stored. */
template <class K, unsigned most_pending>
__device__ __forceinline__ void settle_rows(smem_plan &smem, [[maybe_unused]] unsigned first_row,
                                            [[maybe_unused]] unsigned num_rows)
{
  //: if with_tail
  if constexpr (kv::tail_pairs<K> != 0) {
    ptx::cp_async_wait_group<has_early_tail<K> ? 1 : most_pending>();
    kv::convert_tails<K>(smem, first_row, num_rows);
  }
  //: end
  ptx::cp_async_wait_group<most_pending>();
  __syncthreads();
  //: if with_groups
  if constexpr (K::num_groups != 0) {
    kv::mend_rows<K>(smem, first_row, num_rows);
  }
  //: end
}

//: if with_exact_softmax
/* The whole window, for exact softmax. index: of this lane's first row. The last column of each lane is the caller's
 * to store. */
__device__ __forceinline__ pending_column<k_format, v_format>
gather_window(const swa_params &params, const cta_plan &plan, smem_plan &smem, lane_index index)
{
  constexpr unsigned rest = padded_window % round_positions;
  constexpr unsigned last = rest != 0 ? rest : round_positions;
  unsigned first = 0;
  if constexpr (padded_window > last) {
#pragma unroll 1
    for (; first + last < padded_window; first += round_positions) {
      lane_index next_index = load_lane_index(params, plan, first + round_positions);
      store_column(smem, gather_rows<k_format, v_format, round_positions>(params, params.window, plan, smem,
                                                                          slots_of(params.window, index), first));
      index = next_index;
    }
  }
  pending_column<k_format, v_format> pending =
      gather_rows<k_format, v_format, last>(params, params.window, plan, smem, slots_of(params.window, index), first);
  ptx::cp_async_commit_group();
  return pending;
}
//: end
} // namespace swa

#endif
