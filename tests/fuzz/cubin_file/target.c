/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a store entry: any bytes are refused with a message or give a view whose parts lie inside them, which
 * survives being written and read again. Each input is tried as it is, and with trailer and checksum put right, since
 * a fuzzer does not find those by chance. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cubin_file.h"
#include "digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void demand(int holds)
{
  if (!holds) {
    abort();
  }
}

static void check_view(const uint8_t *bytes, size_t count, const sj_cubin_view *view)
{
  demand(view->cubin == bytes && view->cubin_bytes > 0 && view->key_bytes > 0);
  demand(view->key_text == (const char *)bytes + view->cubin_bytes);
  demand(view->cubin_bytes + view->key_bytes + SJ_CUBIN_FILE_TRAILER_BYTES <= count);
  void *again = NULL;
  size_t again_count = 0;
  sj_cubin_view back;
  demand(sj_cubin_file_encode(view, &again, &again_count) == SWA_JIT_OK);
  demand(sj_cubin_file_decode(again, again_count, &back) == SWA_JIT_OK);
  demand(back.cubin_bytes == view->cubin_bytes && memcmp(back.cubin, view->cubin, view->cubin_bytes) == 0);
  demand(back.key_bytes == view->key_bytes && memcmp(back.key_text, view->key_text, view->key_bytes) == 0);
  demand(back.note.nvrtc_version == view->note.nvrtc_version && back.note.num_registers == view->note.num_registers);
  demand(back.note.spill_store_bytes == view->note.spill_store_bytes);
  demand(back.note.spill_load_bytes == view->note.spill_load_bytes);
  demand(back.note.compile_ns == view->note.compile_ns);
  free(again);
}

/* The end of the file alone: what decode takes is read from it too, and never anything that lies before it. */
static void check_end(const uint8_t *bytes, size_t count, size_t end_count, const sj_cubin_view *whole)
{
  sj_cubin_view view;
  uint8_t *end = malloc(end_count == 0 ? 1 : end_count); /* of its own, so that a sanitizer sees a read before it */
  demand(end != NULL);
  if (end_count > 0) {
    memcpy(end, bytes + count - end_count, end_count);
  }
  bool is_read = sj_cubin_file_read_end(end, end_count, count, &view);
  if (is_read) {
    const uint8_t *key = (const uint8_t *)view.key_text;
    demand(view.cubin == NULL && key >= end && view.key_bytes <= (size_t)(end + end_count - key));
  }
  if (whole != NULL && count - whole->cubin_bytes <= end_count) {
    demand(is_read && view.key_bytes == whole->key_bytes);
    demand(memcmp(view.key_text, whole->key_text, view.key_bytes) == 0);
    demand(view.note.compile_ns == whole->note.compile_ns);
  }
  free(end);
}

static void check(const uint8_t *bytes, size_t count)
{
  sj_cubin_view view;
  uint64_t key_offset = 0;
  size_t key_bytes = 0;
  bool has_key = count >= SJ_CUBIN_FILE_TRAILER_BYTES
                 && sj_cubin_file_find_key(bytes + count - SJ_CUBIN_FILE_TRAILER_BYTES, count, &key_offset, &key_bytes);
  demand(!has_key || (key_offset < count && key_bytes < count - key_offset));
  if (sj_cubin_file_decode(bytes, count, &view) == SWA_JIT_OK) {
    demand(has_key && key_offset == view.cubin_bytes && key_bytes == view.key_bytes);
    check_view(bytes, count, &view);
    check_end(bytes, count, count - view.cubin_bytes, &view);
    check_end(bytes, count, count - view.cubin_bytes - 1, &view);
    check_end(bytes, count, count, &view);
  } else {
    demand(strlen(sj_message()) > 0 && strlen(sj_message()) < 512);
    check_end(bytes, count, count, NULL);
    check_end(bytes, count, count / 2, NULL);
  }
}

/* Magic, version and checksum as they should be; the lengths stay the input's. */
static void seal(uint8_t *bytes, size_t count)
{
  uint8_t *trailer = bytes + count - SJ_CUBIN_FILE_TRAILER_BYTES;
  memcpy(trailer + 40, "\1\0\0\0swa-jit cub\n", 16);
  sj_digest_make(bytes, count - 32, trailer + 24);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
  check(bytes, count);
  if (count < SJ_CUBIN_FILE_TRAILER_BYTES) {
    return 0;
  }
  uint8_t *sealed = malloc(count);
  demand(sealed != NULL);
  memcpy(sealed, bytes, count);
  seal(sealed, count);
  check(sealed, count);
  free(sealed);
  return 0;
}
