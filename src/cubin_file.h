/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a store entry: a plain cubin, as cuobjdump opens it, and behind it a footer. Pure: no input or output.
 * Format version 1, all integers little-endian:
 *   cubin bytes | key text | note text | trailer of fixed size:
 *     uint64 cubin_bytes, uint64 key_bytes, uint64 note_bytes, uint8 digest[16] (digest.h) over everything before it,
 *     uint32 format version, uint8 magic[12] "swa-jit cub\n"
 * The note is "name=value\n" lines about the cubin that are not part of the key: NVRTC version, resource figures,
 * compile time. Limits: cubin 64 MiB, key 64 KiB, note 64 KiB.
 */
#ifndef SJ_CUBIN_FILE_H
#define SJ_CUBIN_FILE_H

#include <stdbool.h>

#include "status.h"

#define SJ_CUBIN_FILE_VERSION 1u
#define SJ_CUBIN_FILE_MAX_CUBIN (UINT64_C(64) << 20)
#define SJ_CUBIN_FILE_MAX_KEY (UINT64_C(64) << 10)
#define SJ_CUBIN_FILE_MAX_NOTE (UINT64_C(64) << 10)
#define SJ_CUBIN_FILE_TRAILER_BYTES 56
#define SJ_CUBIN_FILE_MAX_BYTES                                                                                        \
  (SJ_CUBIN_FILE_MAX_CUBIN + SJ_CUBIN_FILE_MAX_KEY + SJ_CUBIN_FILE_MAX_NOTE + SJ_CUBIN_FILE_TRAILER_BYTES)

typedef struct sj_cubin_note {
  uint32_t nvrtc_version, num_registers, spill_store_bytes, spill_load_bytes;
  uint64_t compile_ns;
  uint64_t made_s; /* seconds since 1970 (UTC) by its maker's clock; 0: not told */
} sj_cubin_note;

typedef struct sj_cubin_view { /* points into the decoded bytes */
  const void *cubin;
  size_t cubin_bytes;
  const char *key_text;
  size_t key_bytes;
  sj_cubin_note note;
  bool is_ptx; /* cubin is PTX text, without a zero behind it; decode tells it, encode sees it itself */
} sj_cubin_view;

/* bytes_out: malloc'd, the caller's. OK, INVALID (a part empty or above its limit, or a cubin that is neither a whole
 * ELF file nor PTX: what decode would refuse is never made) or OUT_OF_MEMORY. */
swa_jit_status sj_cubin_file_encode(const sj_cubin_view *view, void **bytes_out, size_t *count_out);

/* Verifies everything: magic, version, lengths that add up exactly, checksum, the cubin's ELF frame, the note's lines.
 * OK, or STORE_ERROR with what is wrong. Any bytes are safe. */
swa_jit_status sj_cubin_file_decode(const void *bytes, size_t count, sj_cubin_view *view_out);

/* Key and note from the last end_bytes of a file of file_bytes (all of it, or more than key, note and trailer take):
 * enough to list an entry without reading its cubin. view_out->cubin is NULL, key_text points into end. Verifies the
 * trailer's fields and the note, but no checksum and no cubin. False when there is no such footer, or when end is too
 * short to hold it. */
bool sj_cubin_file_read_end(const void *end, size_t end_bytes, uint64_t file_bytes, sj_cubin_view *view_out);

/* Where the key text lies in a file of file_bytes that ends with trailer (SJ_CUBIN_FILE_TRAILER_BYTES): enough to say
 * how a stored key differs without reading the cubin. False when this is no trailer of such a file. Nothing else is
 * verified. */
bool sj_cubin_file_find_key(const void *trailer, uint64_t file_bytes, uint64_t *key_offset_out, size_t *key_bytes_out);

#endif
