/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that depend on a seed and a place only, so that a row is the same whatever else a case has. */
#ifndef DECODE_RANDOM_H
#define DECODE_RANDOM_H

#include <stdint.h>

typedef struct random_stream {
  uint64_t state;
} random_stream;

/* What a stream is for: tensors do not share numbers. */
enum random_purpose {
  RANDOM_FOR_GRID,
  RANDOM_FOR_LENS,
  RANDOM_FOR_SLOTS,
  RANDOM_FOR_STALE, /* what index rows hold beyond len */
  RANDOM_FOR_ROWS,
  RANDOM_FOR_SCALES,
  RANDOM_FOR_Q,
  RANDOM_FOR_BASE,
  RANDOM_FOR_SINKS,
  RANDOM_FOR_POOL_SCALES,
  RANDOM_FOR_V_SLOTS,
  RANDOM_FOR_V_STALE,
  RANDOM_FOR_V_ROWS,
  RANDOM_FOR_V_SCALES,
  RANDOM_FOR_EXTRA_LENS,
  RANDOM_FOR_EXTRA_SLOTS,
  RANDOM_FOR_EXTRA_STALE,
  RANDOM_FOR_EXTRA_ROWS,
  RANDOM_FOR_EXTRA_SCALES
};

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014 */
static inline uint64_t random_next(random_stream *stream)
{
  uint64_t z = stream->state += 0x9E3779B97F4A7C15u;

  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* at: the row of the tensor. */
static inline random_stream random_start(uint32_t seed, uint32_t purpose, uint64_t at)
{
  random_stream stream = {((uint64_t)seed << 32 | purpose) ^ 0xD6E8FEB86659FD93u};

  stream.state = random_next(&stream) ^ at * 0xA0761D6478BD642Fu;
  return stream;
}

/* 0 to limit - 1 */
static inline uint32_t random_below(random_stream *stream, uint32_t limit)
{
  return (uint32_t)((random_next(stream) >> 32) * limit >> 32);
}

/* Nearly normal, mean 0, deviation 1, at most 3.5: the sum of four uniform numbers. */
static inline double random_normal(random_stream *stream)
{
  uint64_t bits = random_next(stream);
  double sum =
      (double)(bits & 0xFFFF) + (double)(bits >> 16 & 0xFFFF) + (double)(bits >> 32 & 0xFFFF) + (double)(bits >> 48);

  return (sum / 65535.0 - 2.0) * 1.7320508075688772;
}

#endif
