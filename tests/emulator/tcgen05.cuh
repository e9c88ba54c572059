/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of tcgen05 have in common: it stands before each of them. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;
/* The kernel's cta_group, as text. */
#ifndef GROUP
#define GROUP "1"
#endif
#ifndef SWIZZLE
#define SWIZZLE 2ull
#endif

__device__ u32 shared_address(const void *at)
{
  return (u32)__cvta_generic_to_shared(at);
}

__device__ void init(u32 bar, u32 count)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

__device__ void arrive(u32 bar)
{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

__device__ void wait(u32 bar, u32 parity)
{
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@!p bra AGAIN;\n}" ::"r"(bar),
               "r"(parity)
               : "memory");
}

__device__ void commit(u32 bar)
{
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}

__device__ void before()
{
#ifndef NO_BEFORE
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
#endif
}

__device__ void after()
{
#ifndef NO_AFTER
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
#endif
}

/* 128-byte swizzling; eight rows are 1024 bytes. */
__device__ u64 descriptor(u32 address)
{
  return (u64)((address & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 46 | SWIZZLE << 61;
}

/* bf16 to f32, m rows by n columns; b_turned: B is MN-major. */
__device__ u32 instruction(u32 m, u32 n, u32 b_turned)
{
  return 1u << 4 | 1u << 7 | 1u << 10 | b_turned << 16 | n / 8 << 17 | m / 16 << 24;
}

__device__ void multiply(u32 d, u64 a, u64 b, u32 how, u32 adds)
{
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n"
               "tcgen05.mma.cta_group::" GROUP ".kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d),
               "l"(a), "l"(b), "r"(how), "r"(adds)
               : "memory");
}

/* Rows of 128 bytes, 64 bf16, swizzled, by some threads. stride: of the source, in elements. */
__device__ void fill(unsigned char *to, const u16 *from, int stride, int rows, int thread, int threads)
{
  for (int i = thread; i < rows * 8; i += threads) {
    const int row = i / 8, chunk = i % 8;
    *(uint4 *)(to + row * 128 + ((chunk ^ row % 8) * 16)) = *(const uint4 *)(from + row * stride + chunk * 8);
  }
}

/* Writers of shared memory, before they tell of it. */
__device__ void proxy_fence()
{
#ifndef NO_PROXY_FENCE
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* A warp's rows of f32 from tensor memory to its threads' memory. */
__device__ void store_rows(float *to, u32 rows, int columns)
{
  for (int first = 0; first < columns; first += 8) {
    u32 r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
                 : "r"(rows + first));
#ifndef NO_LD_WAIT
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#endif
    for (int i = 0; i < 8; i++) {
      to[first + i] = __uint_as_float(r[i]);
    }
  }
}
