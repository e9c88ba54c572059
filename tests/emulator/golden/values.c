/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <string.h>

/* ---- Edges ------------------------------------------------------------------------------------------------ */

#define EDGES(name, type, ...)                                                                                         \
  static const type name[] = {__VA_ARGS__};                                                                            \
  enum { name##_count = sizeof name / sizeof name[0] }

EDGES(edges_16, uint16_t, 0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 63, 64, 100, 127, 128, 129, 255, 256, 257, 0x0fff,
      0x1000, 0x5555, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xaaaa, 0xff00, 0xff7f, 0xff80, 0xff81, 0xfffe, 0xffff);
EDGES(edges_32, uint32_t, 0, 1, 2, 3, 7, 8, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000,
      0x7fffff, 0x800000, 0xffffff, 0x1000000, 0x1000001, 0x1000003, 0x7fffff80, 0x7ffffffe, 0x7fffffff, 0x80000000,
      0x80000001, 0x80000080, 0xaaaaaaaa, 0x55555555, 0xff7fffff, 0xff800000, 0xffff0000, 0xffff7fff, 0xffff8000,
      0xffffff7f, 0xffffff80, 0xfffffffe, 0xffffffff, 0x01020304, 0x3210, 0x7654, 0xfedcba98);
EDGES(edges_64, uint64_t, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
      0x80000000, 0x80000001, 0xffffffff, 0x100000000, 0x100000001, 0x1fffffffffffff, 0x20000000000000,
      0x20000000000001, 0x20000000000003, 0x7ffffffffffffbff, 0x7ffffffffffffc00, 0x7ffffffffffffe00,
      0x7fffff8000000000, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001, 0x8000004000000000,
      0xaaaaaaaaaaaaaaaa, 0xffffffff00000000, 0xffffffff7fffffff, 0xffffffff80000000, 0xffffffffffff7fff,
      0xffffffffffff8000, 0xffffffffffffff7f, 0xffffffffffffff80, 0xfffffffffffffffe, 0xffffffffffffffff);
EDGES(edges_count, uint32_t, 0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 30, 31, 32, 33, 47, 48, 62, 63, 64, 65, 127, 128, 255,
      256, 257, 511, 0x7fffffff, 0x80000000, 0xffffff00, 0xffffffe0, 0xffffffff);
/* Zeros, ones, subnormals, the largest, infinities, NaNs with payloads; where rounding to fewer bits or to whole
 * numbers is halfway, where it saturates: f16's, bf16's, e4m3's and e5m2's limits, 2^7 to 2^64. */
EDGES(edges_f32, uint32_t, 0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0xbf000000, 0x3fc00000,
      0xc0200000, 0x40600000, 0x3f800001, 0x3f7fffff, 0x00800000, 0x80800000, 0x007fffff, 0x807fffff, 0x00000001,
      0x80000001, 0x00400000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7fffffff,
      0x7f800001, 0xffbfffff, 0x7f7f8000, 0x7f7f7fff, 0x3f808000, 0x3f818000, 0x3f802000, 0x3f801000, 0x3f803000,
      0x477fe000, 0x477fefff, 0x477ff000, 0xc77ff000, 0x38800000, 0x387fe000, 0x33800000, 0x33000000, 0x33000001,
      0x43e00000, 0x43e80000, 0x43e7ffff, 0x43f00000, 0x47600000, 0x47700000, 0x3b000000, 0x3a800000, 0x37800000,
      0x37000000, 0x42fe0000, 0x42ff0000, 0x437f8000, 0xc3008000, 0x46fffe00, 0x477fff80, 0x4f000000, 0xcf000000,
      0x4effffff, 0x4f800000, 0x4f7fffff, 0x5f000000, 0xdf000000, 0x5f800000, 0x5f7fffff, 0x4b000001, 0x4a800001,
      0x7e800000, 0x7e800001, 0x7f000000, 0x7e000000, 0x01000000, 0x00ffffff);
EDGES(edges_f64, uint64_t, 0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
      0xbfe0000000000000, 0x3ff8000000000000, 0xc004000000000000, 0x3ff0000000000001, 0x3fefffffffffffff,
      0x0010000000000000, 0x000fffffffffffff, 0x800fffffffffffff, 1, 0x8000000000000001, 0x7fefffffffffffff,
      0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8123456789abc,
      0x7ff0000000000001, 0xfff7ffffffffffff, 0x7fffffffffffffff, 0x47efffffefffffff, 0x47efffffe0000000,
      0x47effffff0000000, 0xc7effffff0000000, 0x47f0000000000000, 0x3ff0000010000000, 0x3ff0000030000000,
      0x3ff0000010000001, 0x3810000000000000, 0x380fffffc0000000, 0x36a0000000000000, 0x3690000000000000,
      0x3690000000000001, 0x40effc0000000000, 0x40effe0000000000, 0x3e70000000000000, 0x3e60000000000000,
      0x3f10000000000000, 0x405fc00000000000, 0x405fe00000000000, 0x406ff00000000000, 0xc060100000000000,
      0x41dfffffffc00000, 0x41dfffffffe00000, 0x41e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000,
      0x41f0000000000000, 0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000, 0x43efffffffffffff,
      0x43f0000000000000, 0x4330000000000001, 0x3ff0100000000000, 0x3ff0200000000000);
EDGES(edges_f16, uint16_t, 0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0xb800, 0x3e00, 0xc100, 0x4300, 0x3c01, 0x3bff, 0x0400,
      0x8400, 0x03ff, 0x83ff, 1, 0x8001, 0x0200, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xfe12, 0x7c01, 0xfdff,
      0x57f0, 0x57f8, 0x7000, 0x7800, 0x6400, 0x6401, 0x4c00);
EDGES(edges_bf16, uint16_t, 0, 0x8000, 0x3f80, 0xbf80, 0x3f00, 0xbf00, 0x3fc0, 0xc020, 0x4060, 0x3f81, 0x3f7f, 0x0080,
      0x8080, 0x007f, 0x807f, 1, 0x8001, 0x0040, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7fff, 0xffc1, 0x7f81, 0xffbf,
      0x4300, 0x42ff, 0x4f00, 0xcf00, 0x5f00, 0x477f, 0x4780);

typedef struct edge_list {
  const void *at;
  unsigned count, bytes;
} edge_list;

static edge_list edges_of(char letter)
{
  switch (letter) {
  case 'h':
    return (edge_list){edges_16, edges_16_count, 2};
  case 'n':
    return (edge_list){edges_count, edges_count_count, 4};
  case 'l':
    return (edge_list){edges_64, edges_64_count, 8};
  case 'f':
  case 'q':
    return (edge_list){edges_f32, edges_f32_count, 4};
  case 'd':
    return (edge_list){edges_f64, edges_f64_count, 8};
  case 'e':
  case 'E':
    return (edge_list){edges_f16, edges_f16_count, 2};
  case 'b':
  case 'B':
    return (edge_list){edges_bf16, edges_bf16_count, 2};
  default:
    return (edge_list){edges_32, edges_32_count, 4};
  }
}

static uint64_t edge(edge_list edges, unsigned index)
{
  uint64_t value = 0;
  memcpy(&value, (const char *)edges.at + (size_t)(index % edges.count) * edges.bytes, edges.bytes);
  return value;
}

/* ---- Random values ---------------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* A number of about 1 in a format of so many exponent and mantissa bits, spread 2^-range to 2^range. */
static uint64_t mild(uint64_t random, unsigned exponent_bits, unsigned mantissa_bits, unsigned range)
{
  const uint64_t bias = (1ull << (exponent_bits - 1)) - 1, sign = random & 1;
  const uint64_t exponent = bias - range + (random >> 1) % (2 * range + 1);
  return sign << (exponent_bits + mantissa_bits) | exponent << mantissa_bits
         | (random >> 8 & ((1ull << mantissa_bits) - 1));
}

/* A small whole number, -3 to 3, in such a format. */
static uint64_t small_whole(uint64_t random, unsigned exponent_bits, unsigned mantissa_bits)
{
  const uint64_t bias = (1ull << (exponent_bits - 1)) - 1, size = random % 4;
  const uint64_t sign = (random >> 8 & 1) << (exponent_bits + mantissa_bits);
  const uint64_t bits = size == 0   ? 0
                        : size == 1 ? bias << mantissa_bits
                                    : (bias + 1) << mantissa_bits | (size & 1) << (mantissa_bits - 1);
  return sign | bits;
}

/* A matrix's word: so many elements of so many bits. */
static uint64_t word_of(uint64_t *state, char letter)
{
  uint64_t word = 0;
  const char *of_8 = strchr("yzYZPQFG", letter), *of_16 = strchr("ijUXVWMNACJ", letter);
  const unsigned width = of_8 != NULL ? 8 : of_16 != NULL ? 16 : 32;
  for (unsigned at = 0; at < 32; at += width) {
    const uint64_t random = draw(state), special = random >> 40 & 63;
    uint64_t bits = 0;
    switch (letter) {
    case 'i':
    case 'U':
      bits = small_whole(random, 5, 10);
      bits = letter == 'U' && special < 2 ? (special == 0 ? 0x7c00 : 0x7e01) | (random >> 50 & 1) << 15 : bits;
      break;
    case 'j':
    case 'X':
      bits = small_whole(random, 8, 7);
      bits = letter == 'X' && special < 2 ? (special == 0 ? 0x7f80 : 0x7fc1) | (random >> 50 & 1) << 15 : bits;
      break;
    case 'y':
    case 'Y':
      bits = letter == 'Y' && special < 1 ? 0x7f | (random >> 50 & 1) << 7 : small_whole(random, 4, 3);
      break;
    case 'z':
    case 'Z':
      bits = small_whole(random, 5, 2);
      bits = letter == 'Z' && special < 2 ? (special == 0 ? 0x7c : 0x7d) | (random >> 50 & 1) << 7 : bits;
      break;
    case 'I':
      bits = small_whole(random, 8, 23);
      break;
    case 'V':
    case 'W':
      bits = random % 4 | (random >> 8 & 1) << 15;
      break;
    case 'M':
      bits = mild(random, 5, 10, 2);
      break;
    case 'N':
      bits = mild(random, 8, 7, 2);
      break;
    case 'P':
      bits = mild(random, 4, 3, 2);
      break;
    case 'Q':
      bits = mild(random, 5, 2, 2);
      break;
    case 'g':
      bits = mild(random, 8, 23, 2);
      break;
    case 'A':
      bits = (random & 0x7c00) == 0x7c00 ? random & 0x83ff : random & 0xffff;
      break;
    case 'C':
      bits = mild(random, 8, 7, 20);
      break;
    case 'J':
      bits = (random & 0x7f80) == 0x7f80 ? random & 0x807f : random & 0xffff;
      break;
    case 'F':
      bits = (random & 0x7f) == 0x7f ? random & 0xf0 : random & 0xff;
      break;
    case 'G':
      bits = (random & 0x7c) == 0x7c ? random & 0x83 : random & 0xff;
      break;
    case 'H':
      bits = mild(random, 8, 23, 20);
      break;
    case 'O':
      break;
    default:
      bits = random & 0xffffffff;
    }
    word |= bits << at;
  }
  return word;
}

static const char matrix_letters[] = "ijyzIDUXYZVWOMNPQgACJFGH";

static uint64_t scalar_mild(uint64_t random, char letter)
{
  switch (letter) {
  case 'f':
    return (random >> 60) < 6   ? mild(random, 8, 23, 20)
           : (random >> 60) < 8 ? mild(random, 8, 23, 120)
                                : mild(random, 8, 23, 2);
  case 'q':
    return mild(random, 8, 23, 6);
  case 'd':
    return (random >> 60) < 6 ? mild(random, 11, 52, 80) : mild(random, 11, 52, 2);
  case 'e':
    return (random >> 60) < 8 ? mild(random, 5, 10, 13) : mild(random, 5, 10, 2);
  case 'b':
    return (random >> 60) < 8 ? mild(random, 8, 7, 20) : mild(random, 8, 7, 2);
  case 'n':
    return random % 80;
  default:
    return (random & 1) != 0 ? (random >> 1) % 1000 : 0 - (random >> 1) % 1000;
  }
}

static uint64_t cut(uint64_t value, char letter)
{
  const unsigned bytes = golden_bytes(letter);
  return bytes == 1 ? value & 1 : bytes == 8 ? value : value & ((1ull << 8 * bytes) - 1);
}

/* One of: any bits; an edge; a number near 1; the operand before it with a little changed. */
static uint64_t scalar(uint64_t *state, char letter, uint64_t before)
{
  const uint64_t how = draw(state), random = draw(state);
  switch (how % 8) {
  case 0:
  case 1:
    return random;
  case 2:
  case 3:
    return edge(edges_of(letter), (unsigned)(random >> 16 & 0xffff));
  case 4:
    return before ^ (random & 1) << (random >> 8) % (8 * golden_bytes(letter));
  case 5:
    return (before ^ (random >> 3 & 1) << (8 * golden_bytes(letter) - 1)) + random % 3 - 1;
  default:
    return scalar_mild(random, letter);
  }
}

static uint64_t one_value(uint64_t *state, char letter, uint64_t before)
{
  static const uint16_t bounds[] = {0x1f,   0x1f,   0,      0x181f, 0x1c1f, 0x1807,
                                    0x101f, 0x1e1f, 0x1800, 0x0803, 0x1c00, 0x000f};
  switch (letter) {
  case 'p':
    return draw(state) >> 63;
  case 'r': /* for about half of all warps no lane */
    return draw(state) % 45 == 0;
  case 'k':
  case 'K':
    return draw(state) >> 62;
  case 's':
    return bounds[draw(state) % (sizeof bounds / sizeof bounds[0])];
  case 'L':
    return draw(state) % 40;
  case 'E':
  case 'B': {
    const char half = letter == 'E' ? 'e' : 'b';
    const uint64_t low = cut(scalar(state, half, before & 0xffff), half);
    return low | cut(scalar(state, half, before >> 16), half) << 16;
  }
  default:
    return strchr(matrix_letters, letter) != NULL ? word_of(state, letter) : scalar(state, letter, before);
  }
}

/* ---- A case's operands ------------------------------------------------------------------------------------ */

unsigned golden_bytes(char letter)
{
  return strchr("pr", letter) != NULL ? 1 : strchr("heb", letter) != NULL ? 2 : strchr("ldK", letter) != NULL ? 8 : 4;
}

static bool is_matrix(const golden_case *one)
{
  return one->num_sources > 0 && strchr(matrix_letters, one->sources[0]) != NULL;
}

unsigned golden_num_threads(const golden_case *one)
{
  const bool has_number = one->num_sources > 0 && strchr("hwlfdeEbBqn", one->sources[0]) != NULL;
  if (is_matrix(one)) {
    return 256;
  }
  if (one->num_sources == 1 && golden_bytes(one->sources[0]) == 2) {
    return golden_is_exact(one) ? 65536 : 4096;
  }
  if (one->row->text != NULL || !has_number) {
    return 512;
  }
  return 4096;
}

/* Of all pairs of edges the first ones, then random ones; of 16 bits alone all. */
void golden_fill(const golden_case *one, uint64_t *words)
{
  const unsigned count = golden_num_threads(one);
  uint64_t state = one->digest;
  for (unsigned thread = 0; thread < count; thread++) {
    uint64_t before = draw(&state);
    for (unsigned i = 0; i < one->num_sources; i++) {
      const char letter = one->sources[i];
      const edge_list edges = edges_of(letter);
      const unsigned first = edges_of(one->sources[0]).count, pairs = one->num_sources < 2 ? first : first * first;
      uint64_t value = one_value(&state, letter, before);
      if (one->num_sources == 1 && golden_bytes(letter) == 2) {
        value = count == 65536 ? thread : thread * 16 + draw(&state) % 16;
      } else if (count == 4096 && thread < pairs && i < 2 && golden_bytes(letter) > 1) {
        value = edge(edges, i == 0 ? thread % first : thread / first);
        value = strchr("EB", letter) != NULL ? value | edge(edges, thread / 7) << 16 : value;
      }
      before = words[(size_t)i * count + thread] = cut(value, letter);
    }
  }
}
