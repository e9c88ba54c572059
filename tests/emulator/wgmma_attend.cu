/* SPDX-License-Identifier: Apache-2.0 */
/* Attention without a softmax, as Hopper kernels are written: a producer warpgroup that loads tiles by tensor maps, a
 * consumer warpgroup that multiplies them, a ring of stages with barriers between the two, registers that go from one
 * to the other. out = bf16(scale * Q K^T) V, for 64 queries. FAULT plants one: see test_wgmma_attend.c. */
#ifndef FAULT
#define FAULT 0
#endif

typedef unsigned u32;
typedef unsigned long long u64;
typedef unsigned short u16;

struct __align__(64) tensor_map
{
  char bytes[128];
};

constexpr u32 rows = 64, box_bytes = 64 * 128, stages = 2; /* a box: 64 rows of 64 elements */
constexpr u32 q_at = 0, k_at = 2 * box_bytes, v_at = k_at + stages * 2 * box_bytes;

__device__ u32 shared_address(const void *at)
{
  return (u32)__cvta_generic_to_shared(at);
}

__device__ void wait_for(u32 bar, u32 parity)
{
  u32 done = 0;
  while (!done) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(bar), "r"(parity)
                 : "memory");
  }
}

__device__ void arrive_at(u32 bar)
{
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory");
}

/* Both boxes of 64 rows from a row on. */
__device__ void load_rows(const tensor_map *from, u32 to, u32 bar, u32 row)
{
  for (u32 box = 0; box < 2; box++) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            to + box * box_bytes),
        "l"(from), "r"(box * 64), "r"(row), "r"(bar)
        : "memory");
  }
}

/* Swizzled by 128 bytes; stride: from eight lines to the next. */
__device__ u64 descriptor(u32 address, u32 leading)
{
  return (address & 0x3ffff) >> 4 | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

__device__ void fence_registers()
{
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ void commit()
{
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ void wait_for_products()
{
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* scores (+)= 16 columns of Q by 16 of K. */
__device__ void multiply_qk(float (&s)[32], u64 q, u64 k, int adds)
{
  asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %34, 0;"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "%32, %33, adds, 1, 1, 0, 0; }"
               : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), "+f"(s[6]), "+f"(s[7]),
                 "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]),
                 "+f"(s[16]), "+f"(s[17]), "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]),
                 "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), "+f"(s[30]), "+f"(s[31])
               : "l"(q), "l"(k), "r"(adds));
}

/* out += 16 columns of the weights by 16 rows of V, which lie along N. */
__device__ void multiply_pv(float (&o)[64], u32 p0, u32 p1, u32 p2, u32 p3, u64 v)
{
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
               "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
               "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
               "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
               : "+f"(o[0]), "+f"(o[1]), "+f"(o[2]), "+f"(o[3]), "+f"(o[4]), "+f"(o[5]), "+f"(o[6]), "+f"(o[7]),
                 "+f"(o[8]), "+f"(o[9]), "+f"(o[10]), "+f"(o[11]), "+f"(o[12]), "+f"(o[13]), "+f"(o[14]), "+f"(o[15]),
                 "+f"(o[16]), "+f"(o[17]), "+f"(o[18]), "+f"(o[19]), "+f"(o[20]), "+f"(o[21]), "+f"(o[22]), "+f"(o[23]),
                 "+f"(o[24]), "+f"(o[25]), "+f"(o[26]), "+f"(o[27]), "+f"(o[28]), "+f"(o[29]), "+f"(o[30]), "+f"(o[31]),
                 "+f"(o[32]), "+f"(o[33]), "+f"(o[34]), "+f"(o[35]), "+f"(o[36]), "+f"(o[37]), "+f"(o[38]), "+f"(o[39]),
                 "+f"(o[40]), "+f"(o[41]), "+f"(o[42]), "+f"(o[43]), "+f"(o[44]), "+f"(o[45]), "+f"(o[46]), "+f"(o[47]),
                 "+f"(o[48]), "+f"(o[49]), "+f"(o[50]), "+f"(o[51]), "+f"(o[52]), "+f"(o[53]), "+f"(o[54]), "+f"(o[55]),
                 "+f"(o[56]), "+f"(o[57]), "+f"(o[58]), "+f"(o[59]), "+f"(o[60]), "+f"(o[61]), "+f"(o[62]), "+f"(o[63])
               : "r"(p0), "r"(p1), "r"(p2), "r"(p3), "l"(v));
}

__device__ u32 pack(float low, float high)
{
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

__device__ void produce(const tensor_map *q, const tensor_map *k, const tensor_map *v, u32 shared, u32 full, u32 empty,
                        int tiles)
{
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  if (threadIdx.x != 128) {
    return;
  }
  for (int t = 0; t < tiles; t++) {
    const u32 stage = t % stages, bar = full + 8 * stage;
    if (t >= (int)stages) {
      wait_for(empty + 8 * stage, (t / stages - 1) & 1);
    }
    const u32 bytes = (t == 0 ? 6 : 4) * box_bytes;
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
    if (t == 0) {
      load_rows(q, shared + q_at, bar, 0);
    }
    load_rows(k, shared + k_at + stage * 2 * box_bytes, bar, t * rows);
    load_rows(v, shared + v_at + stage * 2 * box_bytes, bar, t * rows);
  }
}

__device__ void consume(u32 shared, u32 full, u32 empty, float *out, int tiles, float scale)
{
  asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
  float o[64], s[32];
#pragma unroll
  for (int i = 0; i < 64; i++) {
    o[i] = 0;
  }
  for (int t = 0; t < tiles; t++) {
    const u32 stage = t % stages, k = shared + k_at + stage * 2 * box_bytes, v = shared + v_at + stage * 2 * box_bytes;
    wait_for(full + 8 * stage, (FAULT == 1 ? 1 : 0) ^ (t / stages & 1));
    fence_registers();
#pragma unroll
    for (u32 i = 0; i < 8; i++) {
      const u32 at = i / 4 * box_bytes + i % 4 * 32;
      multiply_qk(s, descriptor(shared + q_at + at, 16), descriptor(k + at, 16), i != 0);
    }
    commit();
    if (FAULT != 2) {
      wait_for_products();
    }
    if (t > 0 && threadIdx.x % 32 == 0) {
      arrive_at(empty + 8 * ((t - 1) % stages)); /* the products of the last tile are over too */
    }
    u32 p[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
      p[i] = pack(s[2 * i] * scale, s[2 * i + 1] * scale);
    }
    if (FAULT == 3 && threadIdx.x % 32 == 0) {
      arrive_at(empty + 8 * stage); /* V is still to be read */
    }
    if (FAULT != 4) {
      fence_registers();
    }
#pragma unroll
    for (u32 i = 0; i < 4; i++) {
      multiply_pv(o, p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3], descriptor(v + i * 2048, box_bytes));
    }
    commit();
  }
  if (FAULT != 5) {
    wait_for_products();
  }
  const u32 row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (u32 i = 0; i < 64; i++) {
    out[(row + i / 2 % 2 * 8) * 128 + i / 4 * 8 + column + i % 2] = o[i];
  }
}

extern "C" __global__ void __launch_bounds__(256, 2)
    attend(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
           const __grid_constant__ tensor_map v, float *out, int tiles, float scale)
{
  extern __shared__ __align__(1024) char memory[];
  __shared__ u64 bars[2 * stages];
  const u32 full = shared_address(bars), empty = full + 8 * stages;
  if (threadIdx.x == 0) {
    for (u32 i = 0; i < stages; i++) {
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full + 8 * i) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], 4;" ::"r"(empty + 8 * i) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    produce(&q, &k, &v, shared_address(memory), full, empty, tiles);
  } else {
    consume(shared_address(memory), full, empty, out, tiles, scale);
  }
}
