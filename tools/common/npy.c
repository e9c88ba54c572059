/* SPDX-License-Identifier: Apache-2.0 */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "number.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are used as they lie in the file");

enum { MAGIC_BYTES = 6, MAX_HEADER_BYTES = 65536, ALIGNMENT = 64 };
static const char magic[] = "\x93NUMPY";

/* The header: a Python dictionary literal. */
typedef struct header {
  const char *at, *end;
  char *message;
  size_t message_size;
  bool has_type, has_order, has_shape;
} header;

static bool fail(char *message, size_t message_size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool fail(char *message, size_t message_size, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, message_size, format, arguments);
  va_end(arguments);
  return false;
}

static void skip_blanks(header *h)
{
  while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r')) {
    h->at++;
  }
}

static bool accept(header *h, char c)
{
  skip_blanks(h);
  if (h->at < h->end && *h->at == c) {
    h->at++;
    return true;
  }
  return false;
}

static bool accept_word(header *h, const char *word)
{
  size_t length = strlen(word);
  skip_blanks(h);
  if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0) {
    return false;
  }
  h->at += length;
  return true;
}

static bool malformed(header *h, const char *what)
{
  return fail(h->message, h->message_size, "the header is no NumPy header (%s): save the array again with numpy.save",
              what);
}

/* A string in either quotes, of printable characters without escapes. */
static bool read_string(header *h, char *text, size_t text_size)
{
  skip_blanks(h);
  if (h->at == h->end || (*h->at != '\'' && *h->at != '"')) {
    return malformed(h, "a string is missing");
  }
  char quote = *h->at++;
  size_t length = 0;
  for (; h->at < h->end && *h->at != quote; h->at++) {
    if (*h->at < ' ' || *h->at > '~' || *h->at == '\\' || length + 1 >= text_size) {
      return malformed(h, "a string is too long or not plain");
    }
    text[length++] = *h->at;
  }
  text[length] = '\0';
  return accept(h, quote) ? true : malformed(h, "a string does not end");
}

static bool read_type(header *h, sj_npy *npy)
{
  char text[32];
  skip_blanks(h);
  if (h->at < h->end && *h->at == '[') {
    return fail(h->message, h->message_size, "the array has a structured type: save each field as an array of its own");
  }
  if (!read_string(h, text, sizeof text)) {
    return false;
  }
  if (text[0] == '>') {
    return fail(h->message, h->message_size,
                "the array is big-endian (%s): save it little-endian, array.astype(array.dtype.newbyteorder(\"<\"))",
                text);
  }
  size_t length = strlen(text);
  if ((text[0] != '<' && text[0] != '|') || length < 3 || length > sizeof npy->type) {
    return fail(h->message, h->message_size, "the array's type is \"%s\": use a plain number type such as <u2", text);
  }
  memcpy(npy->type, text + 1, length);
  return true;
}

static bool read_order(header *h)
{
  if (accept_word(h, "False")) {
    return true;
  }
  if (accept_word(h, "True")) {
    return fail(h->message, h->message_size,
                "the array is in Fortran order: save it in C order, numpy.save(file, numpy.ascontiguousarray(array))");
  }
  return malformed(h, "fortran_order is neither True nor False");
}

static bool read_extent(header *h, uint64_t *extent)
{
  char digits[24];
  size_t length = 0;
  skip_blanks(h);
  while (h->at < h->end && *h->at >= '0' && *h->at <= '9' && length + 1 < sizeof digits) {
    digits[length++] = *h->at++;
  }
  digits[length] = '\0';
  return sj_number_read(digits, extent) ? true : malformed(h, "shape holds something else than numbers");
}

static bool read_shape(header *h, sj_npy *npy)
{
  npy->num_dims = 0;
  if (!accept(h, '(')) {
    return malformed(h, "shape is no tuple");
  }
  while (!accept(h, ')')) {
    if (npy->num_dims == SJ_NPY_MAX_DIMS) {
      return fail(h->message, h->message_size, "the array has more than %d dimensions", SJ_NPY_MAX_DIMS);
    }
    if (!read_extent(h, &npy->shape[npy->num_dims])) {
      return false;
    }
    npy->num_dims++;
    if (!accept(h, ',')) {
      return accept(h, ')') ? true : malformed(h, "shape does not end");
    }
  }
  return true;
}

static bool read_member(header *h, sj_npy *npy)
{
  char name[32];
  if (!read_string(h, name, sizeof name)) {
    return false;
  }
  if (!accept(h, ':')) {
    return malformed(h, "a colon is missing");
  }
  bool *seen = strcmp(name, "descr") == 0           ? &h->has_type
               : strcmp(name, "fortran_order") == 0 ? &h->has_order
               : strcmp(name, "shape") == 0         ? &h->has_shape
                                                    : NULL;
  if (seen == NULL || *seen) {
    return malformed(h, "it names something unknown, or twice");
  }
  *seen = true;
  return seen == &h->has_type ? read_type(h, npy) : seen == &h->has_order ? read_order(h) : read_shape(h, npy);
}

static bool read_header(header *h, sj_npy *npy)
{
  if (!accept(h, '{')) {
    return malformed(h, "no opening brace");
  }
  while (!accept(h, '}')) {
    if (!read_member(h, npy)) {
      return false;
    }
    if (!accept(h, ',')) {
      if (!accept(h, '}')) {
        return malformed(h, "no closing brace");
      }
      break;
    }
  }
  skip_blanks(h);
  if (h->at != h->end || !h->has_type || !h->has_order || !h->has_shape) {
    return malformed(h, "descr, fortran_order or shape is missing, or something follows them");
  }
  return true;
}

/* Where the header's text lies. */
static bool find_header(const uint8_t *bytes, size_t count, header *h)
{
  if (count < MAGIC_BYTES + 4 || memcmp(bytes, magic, MAGIC_BYTES) != 0) {
    return fail(h->message, h->message_size, "this is no .npy file: save the array with numpy.save");
  }
  unsigned version = bytes[MAGIC_BYTES];
  size_t start = version == 1 ? MAGIC_BYTES + 4 : MAGIC_BYTES + 6;
  if (version < 1 || version > 3) {
    return fail(h->message, h->message_size, "the file has format version %u: versions 1 to 3 are known", version);
  }
  if (count < start) {
    return fail(h->message, h->message_size, "the file ends inside its header: copy it again");
  }
  uint64_t length = (uint64_t)bytes[8] | (uint64_t)bytes[9] << 8;
  if (version > 1) {
    length |= (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
  }
  if (length > MAX_HEADER_BYTES) {
    return fail(h->message, h->message_size, "the header claims %llu bytes: at most %d are read",
                (unsigned long long)length, MAX_HEADER_BYTES);
  }
  if (length > count - start) {
    return fail(h->message, h->message_size, "the file ends inside its header: copy it again");
  }
  h->at = (const char *)bytes + start;
  h->end = h->at + length;
  return true;
}

/* Type and shape against the bytes that follow the header. */
static bool measure(const char *data, const uint8_t *end, sj_npy *npy, char *message, size_t message_size)
{
  uint64_t element_bytes = 0;
  uint64_t total = 0;
  uint64_t elements = 1;
  size_t held = (size_t)((const char *)end - data);
  bool known = sj_number_read(npy->type + 1, &element_bytes) && element_bytes >= 1 && element_bytes <= 32;
  if (!known) {
    return fail(message, message_size, "the array's type is \"%s\": use a plain number type such as <u2", npy->type);
  }
  for (unsigned i = 0; i < npy->num_dims; i++) {
    if (__builtin_mul_overflow(elements, npy->shape[i], &elements)) {
      return fail(message, message_size, "the array's shape has more elements than can be counted");
    }
  }
  if (__builtin_mul_overflow(elements, element_bytes, &total)) {
    return fail(message, message_size, "the array's shape has more elements than can be counted");
  }
  if (total != held) {
    return fail(message, message_size,
                "the file holds %zu byte%s of data where its shape needs %llu: save or copy it again", held,
                sj_number_ending(held), (unsigned long long)total);
  }
  npy->num_elements = elements;
  npy->data = data;
  npy->data_bytes = held;
  return true;
}

bool sj_npy_parse(const void *bytes, size_t count, sj_npy *npy_out, char *message, size_t message_size)
{
  header h = {.message = message, .message_size = message_size};
  sj_npy npy = {0};
  if (!find_header(bytes, count, &h)) {
    return false;
  }
  const char *data = h.end;
  if (!read_header(&h, &npy) || !measure(data, (const uint8_t *)bytes + count, &npy, message, message_size)) {
    return false;
  }
  *npy_out = npy;
  return true;
}

static bool read_all(int file, uint8_t *memory, size_t count)
{
  size_t done = 0;
  while (done < count) {
    ssize_t got = read(file, memory + done, count - done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      errno = got == 0 ? EIO : errno; /* it shrank since it was measured */
      return false;
    }
    done += (size_t)got;
  }
  return true;
}

/* The whole file in one allocation that ends with room to move the data to an aligned place. */
static bool load(const char *path, uint8_t **memory_out, size_t *count_out)
{
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return false;
  }
  uint8_t *memory = NULL;
  bool loaded = fstat(file, &status) == 0;
  if (loaded && !S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    loaded = false;
  }
  size_t count = loaded ? (size_t)status.st_size : 0;
  if (loaded) {
    memory = aligned_alloc(ALIGNMENT, (count / ALIGNMENT + 2) * ALIGNMENT);
    loaded = memory != NULL && read_all(file, memory, count);
  }
  int reason = errno;
  close(file);
  if (!loaded) {
    free(memory);
    errno = reason;
    return false;
  }
  *memory_out = memory;
  *count_out = count;
  return true;
}

bool sj_npy_read(const char *path, sj_npy *npy_out, char *message, size_t message_size)
{
  uint8_t *memory = NULL;
  size_t count = 0;
  if (!load(path, &memory, &count)) {
    return fail(message, message_size, "%s: cannot be read: %s", path, strerror(errno));
  }
  int used = snprintf(message, message_size, "%s: ", path);
  size_t prefix = (size_t)used < message_size ? (size_t)used : message_size - 1;
  if (!sj_npy_parse(memory, count, npy_out, message + prefix, message_size - prefix)) {
    free(memory);
    return false;
  }
  size_t offset = (size_t)((const uint8_t *)npy_out->data - memory);
  if (offset % ALIGNMENT != 0) {
    memmove(memory, npy_out->data, npy_out->data_bytes);
    npy_out->data = memory;
  }
  npy_out->memory = memory;
  message[0] = '\0';
  return true;
}

void sj_npy_finish(sj_npy *npy)
{
  free(npy->memory);
  *npy = (sj_npy){0};
}

void sj_npy_shape_text(const uint64_t *shape, unsigned num_dims, char *text, size_t text_size)
{
  size_t length = (size_t)snprintf(text, text_size, "[");
  for (unsigned i = 0; i < num_dims && length < text_size; i++) {
    length +=
        (size_t)snprintf(text + length, text_size - length, "%s%llu", i > 0 ? ", " : "", (unsigned long long)shape[i]);
  }
  if (length < text_size) {
    snprintf(text + length, text_size - length, "]");
  }
}

bool sj_npy_expect(const sj_npy *npy, const char *path, const char *types, unsigned num_dims, char *message,
                   size_t message_size)
{
  char type[8];
  bool known = false;
  for (const char *at = types; sj_list_next(&at, type, sizeof type);) {
    known = known || strcmp(type, npy->type) == 0;
  }
  if (!known) {
    return fail(message, message_size, "%s: elements are of type %s: save them as one of %s", path, npy->type, types);
  }
  if (npy->num_dims != num_dims) {
    char shape[200];
    sj_npy_shape_text(npy->shape, npy->num_dims, shape, sizeof shape);
    return fail(message, message_size, "%s: the shape is %s: it must have %u dimension%s", path, shape, num_dims,
                sj_number_ending(num_dims));
  }
  return true;
}

/* Magic, lengths and dictionary, padded with blanks so that the data begins at a multiple of 64. */
static size_t make_header(char *text, size_t text_size, const char *type, const uint64_t *shape, unsigned num_dims)
{
  const size_t start = MAGIC_BYTES + 4;
  memcpy(text, magic, MAGIC_BYTES);
  text[MAGIC_BYTES] = 1;
  text[MAGIC_BYTES + 1] = 0;
  size_t length = start;
  length +=
      (size_t)snprintf(text + length, text_size - length, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
  for (unsigned i = 0; i < num_dims; i++) {
    length += (size_t)snprintf(text + length, text_size - length, "%llu%s", (unsigned long long)shape[i],
                               i + 1 < num_dims ? ", "
                               : num_dims == 1  ? ","
                                                : "");
  }
  length += (size_t)snprintf(text + length, text_size - length, "), }");
  while ((length + 1) % ALIGNMENT != 0) {
    text[length++] = ' ';
  }
  text[length++] = '\n';
  text[MAGIC_BYTES + 2] = (char)((length - start) & 0xFF);
  text[MAGIC_BYTES + 3] = (char)((length - start) >> 8);
  return length;
}

bool sj_npy_write(const char *path, const char *type, const uint64_t *shape, unsigned num_dims, const void *data,
                  size_t data_bytes, char *message, size_t message_size)
{
  char header_text[512]; /* above the longest: eight numbers of twenty digits, and the padding */
  size_t header_bytes = make_header(header_text, sizeof header_text, type, shape, num_dims);
  FILE *file = fopen(path, "wbe");
  if (file == NULL) {
    return fail(message, message_size, "%s: cannot be written: %s", path, strerror(errno));
  }
  bool written = fwrite(header_text, 1, header_bytes, file) == header_bytes
                 && fwrite(data, 1, data_bytes, file) == data_bytes && fflush(file) == 0;
  int reason = errno;
  struct stat status;
  bool is_regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
  if (fclose(file) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (!written) {
    if (is_regular) { /* never a device such as /dev/full */
      unlink(path);
    }
    return fail(message, message_size, "%s: cannot be written: %s", path, strerror(reason));
  }
  return true;
}
