/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in NumPy's .npy files, format versions 1 to 3: C order, little-endian, no structured types. bf16 and
 * e4m3, which the format does not know, travel as raw uint16 and uint8 ("u2", "u1") or as NumPy's raw bytes ("V2",
 * "V1"). */
#ifndef SJ_NPY_H
#define SJ_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SJ_NPY_MAX_DIMS = 8 };

typedef struct sj_npy {
  char type[8]; /* kind and bytes of an element: "u2", "f4", "i8" */
  unsigned num_dims;
  uint64_t shape[SJ_NPY_MAX_DIMS];
  uint64_t num_elements;
  const void *data; /* inside the bytes that were read; aligned as the file laid it, 16 bytes or better in a file that
                       NumPy wrote; sj_npy_read copies others into place */
  size_t data_bytes;
  void *memory; /* sj_npy_read's; NULL after sj_npy_parse */
} sj_npy;

/* Reads the bytes of a file, whatever they are. False with what is wrong, and the remedy, in message. */
bool sj_npy_parse(const void *bytes, size_t count, sj_npy *npy_out, char *message, size_t message_size);

/* The same from a file; message begins with its path. Free with sj_npy_finish. */
bool sj_npy_read(const char *path, sj_npy *npy_out, char *message, size_t message_size);
void sj_npy_finish(sj_npy *npy);

/* Whether the array has one of these types ("u2,V2") and this many dimensions; false with a message that names
 * path. */
bool sj_npy_expect(const sj_npy *npy, const char *path, const char *types, unsigned num_dims, char *message,
                   size_t message_size);

/* "[4, 128, 512]" */
void sj_npy_shape_text(const uint64_t *shape, unsigned num_dims, char *text, size_t text_size);

/* Writes an array of type "<u2" or "<f4", say. False with the reason in message; no half file stays. */
bool sj_npy_write(const char *path, const char *type, const uint64_t *shape, unsigned num_dims, const void *data,
                  size_t data_bytes, char *message, size_t message_size);

#endif
