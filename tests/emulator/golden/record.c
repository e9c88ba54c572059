/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "values.h"

enum { CHUNK = 1024, SAMPLES = 8, MAGIC_SIZE = 8, HEAD_SIZE = MAGIC_SIZE + 4, RECORD_HEAD = 13, MOST_PRINTED = 6 };
static const char magic[MAGIC_SIZE + 1] = "swagold1";

/* ---- Bytes ------------------------------------------------------------------------------------------------ */

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
  for (unsigned i = 0; i < bytes; i++) {
    to[i] = (uint8_t)(value >> 8 * i);
  }
}

static uint64_t get(const uint8_t *from, unsigned bytes)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++) {
    value |= (uint64_t)from[i] << 8 * i;
  }
  return value;
}

static unsigned num_chunks(unsigned threads)
{
  return (threads + CHUNK - 1) / CHUNK;
}

static size_t payload_size(const golden_case *one, bool all)
{
  const unsigned threads = golden_num_threads(one);
  size_t size = 0;
  for (unsigned i = 0; i < one->num_results; i++) {
    const size_t bytes = golden_bytes(one->results[i]);
    size += all ? bytes * threads : 4 * num_chunks(threads) + bytes * SAMPLES;
  }
  return size;
}

static uint32_t digest_of(const uint64_t *results, unsigned count)
{
  uint64_t digest = 0xcbf29ce484222325ull;
  for (unsigned i = 0; i < count; i++) {
    digest = (digest ^ results[i]) * 0x9e3779b97f4a7c15ull;
    digest ^= digest >> 29;
  }
  return (uint32_t)(digest >> 32 ^ digest);
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

static bool write_bytes(FILE *to, const void *from, size_t size)
{
  if (fwrite(from, 1, size, to) != size) {
    printf("golden: the file cannot be written: %s\n", strerror(errno));
    return false;
  }
  return true;
}

bool golden_write_head(FILE *to, size_t num_records)
{
  uint8_t head[HEAD_SIZE];
  memcpy(head, magic, MAGIC_SIZE);
  put(head + MAGIC_SIZE, num_records, 4);
  return write_bytes(to, head, sizeof head);
}

static bool write_values(FILE *to, const uint64_t *results, unsigned threads, unsigned count, unsigned bytes)
{
  for (unsigned k = 0; k < count; k++) {
    uint8_t cell[8];
    put(cell, results[(size_t)k * (threads / count)], bytes);
    if (!write_bytes(to, cell, bytes)) {
      return false;
    }
  }
  return true;
}

bool golden_write(FILE *to, const golden_case *one, const uint64_t *results, bool all)
{
  const unsigned threads = golden_num_threads(one);
  const bool whole = all || !golden_is_exact(one);
  uint8_t head[RECORD_HEAD];
  put(head, one->digest, 8);
  put(head + 8, threads, 4);
  put(head + 12, whole, 1);
  if (!write_bytes(to, head, sizeof head)) {
    return false;
  }
  for (unsigned i = 0; i < one->num_results; i++) {
    const uint64_t *from = results + (size_t)i * threads;
    for (unsigned c = 0; !whole && c < num_chunks(threads); c++) {
      uint8_t cell[4];
      const unsigned rest = threads - c * CHUNK;
      put(cell, digest_of(from + (size_t)c * CHUNK, rest < CHUNK ? rest : CHUNK), 4);
      if (!write_bytes(to, cell, sizeof cell)) {
        return false;
      }
    }
    if (!write_values(to, from, threads, whole ? threads : SAMPLES, golden_bytes(one->results[i]))) {
      return false;
    }
  }
  return true;
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

bool golden_read(const char *path, golden_file *file_out)
{
  FILE *from = fopen(path, "rb");
  *file_out = (golden_file){NULL, 0, 0, 0};
  if (from == NULL) {
    printf("golden: %s: %s\n", path, strerror(errno));
    return false;
  }
  if (fseek(from, 0, SEEK_END) == 0) {
    const long size = ftell(from);
    rewind(from);
    file_out->bytes = size > 0 ? malloc((size_t)size) : NULL;
    file_out->size = file_out->bytes != NULL ? fread(file_out->bytes, 1, (size_t)size, from) : 0;
  }
  fclose(from);
  if (file_out->size < HEAD_SIZE || memcmp(file_out->bytes, magic, MAGIC_SIZE) != 0) {
    printf("golden: %s is no file of golden results\n", path);
    golden_release(file_out);
    return false;
  }
  file_out->next = HEAD_SIZE;
  file_out->num_records = get(file_out->bytes + MAGIC_SIZE, 4);
  return true;
}

void golden_release(golden_file *file)
{
  free(file->bytes);
  *file = (golden_file){NULL, 0, 0, 0};
}

static const uint8_t *find_between(const golden_file *file, const golden_case *one, size_t from, size_t to)
{
  uint8_t key[8];
  put(key, one->digest, 8);
  while (from < to) {
    const uint8_t *at = memchr(file->bytes + from, key[0], to - from);
    if (at == NULL) {
      return NULL;
    }
    from = (size_t)(at - file->bytes);
    if (file->size - from < RECORD_HEAD) {
      return NULL;
    }
    if (memcmp(at, key, sizeof key) == 0 && get(at + 8, 4) == golden_num_threads(one)
        && payload_size(one, at[12] != 0) <= file->size - from - RECORD_HEAD) {
      return at;
    }
    from++;
  }
  return NULL;
}

/* A record's size follows from its case alone, and a case may have come or gone since the capture: what is looked for
 * is the digest. The records lie in the order of the cases, so that it is found at once as a rule. */
static const uint8_t *find(golden_file *file, const golden_case *one)
{
  const uint8_t *at = find_between(file, one, file->next, file->size);
  if (at == NULL) {
    at = find_between(file, one, HEAD_SIZE, file->next);
  }
  if (at != NULL) {
    file->next = (size_t)(at - file->bytes) + RECORD_HEAD + payload_size(one, at[12] != 0);
  }
  return at;
}

/* ---- Distance --------------------------------------------------------------------------------------------- */

typedef struct small_format {
  unsigned bits, mantissa, bias;
} small_format;

static small_format format_of(char letter)
{
  return letter == 'f'                    ? (small_format){32, 23, 127}
         : letter == 'e' || letter == 'E' ? (small_format){16, 10, 15}
                                          : (small_format){16, 7, 127};
}

static bool is_nan(uint64_t bits, small_format format)
{
  const uint64_t size = bits & ((1ull << (format.bits - 1)) - 1);
  return size > (((1ull << (format.bits - 1 - format.mantissa)) - 1) << format.mantissa);
}

static double value_of(uint64_t bits, small_format format)
{
  const uint64_t size = bits & ((1ull << (format.bits - 1)) - 1), fraction = size & ((1ull << format.mantissa) - 1);
  const int exponent = (int)(size >> format.mantissa), bias = (int)(format.bias + format.mantissa);
  const bool infinite = fraction == 0 && exponent == (1 << (format.bits - 1 - format.mantissa)) - 1;
  const double most = infinite        ? INFINITY
                      : exponent == 0 ? ldexp((double)fraction, 1 - bias)
                                      : ldexp((double)(fraction | 1ull << format.mantissa), exponent - bias);
  return (bits >> (format.bits - 1)) != 0 ? -most : most;
}

/* Steps from one number to the other; 0 for the same bits, infinite for what cannot be counted. */
static double steps_between(uint64_t a, uint64_t b, small_format format)
{
  const uint64_t size = (1ull << (format.bits - 1)) - 1;
  if (a == b) {
    return 0;
  }
  if (is_nan(a, format) || is_nan(b, format) || ((a ^ b) > size && ((a | b) & size) != 0)) {
    return INFINITY;
  }
  return ((a ^ b) > size) ? 1 : fabs((double)(a & size) - (double)(b & size));
}

/* How far a number is away, as a part of the bound; more than 1 is too far. */
static double distance(const golden_bound *bound, uint64_t got, uint64_t wanted, small_format format)
{
  const double steps = steps_between(got, wanted, format);
  double part = steps == 0 ? 0 : bound->steps > 0 ? steps / bound->steps : INFINITY;
  if (part > 1 && bound->absolute != 0 && !is_nan(got, format) && !is_nan(wanted, format)) {
    const double apart = fabs(value_of(got, format) - value_of(wanted, format)) / ldexp(1, bound->absolute);
    part = apart < part ? apart : part;
  }
  return part == part ? part : INFINITY;
}

static double far_apart(const golden_case *one, char letter, uint64_t got, uint64_t wanted)
{
  const golden_bound *bound = &one->row->bound;
  if (golden_is_exact(one)) {
    return got == wanted ? 0 : INFINITY;
  }
  const small_format format = format_of(letter);
  if (letter != 'E' && letter != 'B') {
    return distance(bound, got, wanted, format);
  }
  const double low = distance(bound, got & 0xffff, wanted & 0xffff, format);
  const double high = distance(bound, got >> 16, wanted >> 16, format);
  return low > high ? low : high;
}

/* ---- Comparing -------------------------------------------------------------------------------------------- */

static void print_one(const golden_case *one, const uint64_t *words, unsigned thread, unsigned result, uint64_t got,
                      uint64_t wanted)
{
  const unsigned threads = golden_num_threads(one);
  printf("%s: result %u of", one->opcode, result);
  for (unsigned i = 0; i < one->num_sources; i++) {
    printf(" 0x%llx", (unsigned long long)words[(size_t)i * threads + thread]);
  }
  printf(" (thread %u) is 0x%llx, the hardware's 0x%llx\n", thread, (unsigned long long)got,
         (unsigned long long)wanted);
}

/* Values on file against values at their stride. Returns how many are too far. */
static unsigned compare_values(const golden_case *one, const uint64_t *words, const uint64_t *results, unsigned result,
                               unsigned count, const uint8_t *from, double *worst)
{
  const unsigned threads = golden_num_threads(one), bytes = golden_bytes(one->results[result]);
  unsigned wrong = 0;
  for (unsigned k = 0; k < count; k++) {
    const unsigned thread = k * (threads / count);
    const uint64_t got = results[(size_t)result * threads + thread], wanted = get(from + (size_t)k * bytes, bytes);
    const double far = far_apart(one, one->results[result], got, wanted);
    *worst = far > *worst ? far : *worst;
    if (far > 1 && ++wrong <= MOST_PRINTED) {
      print_one(one, words, thread, result, got, wanted);
    }
  }
  return wrong;
}

static unsigned compare_digests(const golden_case *one, const uint64_t *results, unsigned result, const uint8_t *from)
{
  const unsigned threads = golden_num_threads(one);
  unsigned wrong = 0;
  for (unsigned c = 0; c < num_chunks(threads); c++) {
    const unsigned rest = threads - c * CHUNK, count = rest < CHUNK ? rest : CHUNK;
    if (digest_of(results + (size_t)result * threads + (size_t)c * CHUNK, count) != get(from + (size_t)4 * c, 4)) {
      printf("%s: result %u differs from the hardware's in threads %u to %u\n", one->opcode, result, c * CHUNK,
             c * CHUNK + count - 1);
      wrong++;
    }
  }
  return wrong;
}

golden_answer golden_compare(golden_file *file, const golden_case *one, const uint64_t *words, const uint64_t *results,
                             double *worst_out)
{
  const uint8_t *at = find(file, one);
  const unsigned threads = golden_num_threads(one);
  unsigned wrong = 0;
  double worst = 0;
  if (at == NULL) {
    printf("%s %s: not on file; capture anew\n", one->opcode, one->row->operands);
    return GOLDEN_MISSING;
  }
  const bool whole = at[12] != 0;
  at += RECORD_HEAD;
  for (unsigned i = 0; i < one->num_results; i++) {
    const unsigned count = whole ? threads : SAMPLES;
    if (!whole) {
      wrong += compare_digests(one, results, i, at);
      at += (size_t)4 * num_chunks(threads);
    }
    wrong += compare_values(one, words, results, i, count, at, &worst);
    at += (size_t)count * golden_bytes(one->results[i]);
  }
  *worst_out = worst;
  if (wrong > 0 && whole) {
    printf("%s %s: %u of %u results differ\n", one->opcode, one->row->operands, wrong, threads * one->num_results);
  }
  return wrong == 0 ? GOLDEN_SAME : GOLDEN_DIFFERENT;
}
