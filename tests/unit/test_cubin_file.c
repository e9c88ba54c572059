/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include <stdlib.h>
#include <string.h>

#include "cubin_file.h"
#include "digest.h"
#include "tiny_cubin.h"

static const char key_text[] = "format:1=1\nhead_dim:3=512\n";

typedef struct file {
  uint8_t cubin[TINY_CUBIN_BYTES];
  sj_cubin_view view;
  uint8_t *bytes;
  size_t count;
} file;

static int setup(void **state)
{
  static file made;
  tiny_cubin_make(5, made.cubin);
  made.view = (sj_cubin_view){
      .cubin = made.cubin,
      .cubin_bytes = sizeof made.cubin,
      .key_text = key_text,
      .key_bytes = sizeof key_text - 1,
      .note = {.nvrtc_version = 13000,
               .num_registers = 96,
               .spill_store_bytes = 4,
               .spill_load_bytes = UINT32_MAX,
               .compile_ns = UINT64_MAX},
  };
  void *bytes = NULL;
  if (sj_cubin_file_encode(&made.view, &bytes, &made.count) != SWA_JIT_OK) {
    return -1;
  }
  made.bytes = bytes;
  *state = &made;
  return 0;
}

static int teardown(void **state)
{
  free(((file *)*state)->bytes);
  return 0;
}

static swa_jit_status decode(const void *bytes, size_t count)
{
  sj_cubin_view view;
  return sj_cubin_file_decode(bytes, count, &view);
}

/* Writes the digest anew, so that what lies behind the checksum is reached. */
static void seal(uint8_t *bytes, size_t count)
{
  sj_digest_make(bytes, count - 32, bytes + count - 32);
}

/* A file of the parts given, sealed; malloc'd. */
static uint8_t *assemble(const void *cubin, size_t cubin_bytes, const char *note, size_t *count_out)
{
  size_t note_bytes = strlen(note);
  size_t count = cubin_bytes + (sizeof key_text - 1) + note_bytes + SJ_CUBIN_FILE_TRAILER_BYTES;
  uint8_t *bytes = calloc(1, count);
  assert_non_null(bytes);
  memcpy(bytes, cubin, cubin_bytes);
  memcpy(bytes + cubin_bytes, key_text, sizeof key_text - 1);
  memcpy(bytes + cubin_bytes + sizeof key_text - 1, note, note_bytes);
  uint8_t *trailer = bytes + count - SJ_CUBIN_FILE_TRAILER_BYTES;
  const size_t lengths[] = {cubin_bytes, sizeof key_text - 1, note_bytes};
  for (unsigned i = 0; i < 3; i++) {
    for (unsigned byte = 0; byte < 8; byte++) {
      trailer[8 * i + byte] = (uint8_t)((uint64_t)lengths[i] >> 8 * byte);
    }
  }
  trailer[40] = 1;
  memcpy(trailer + 44, "swa-jit cub\n", 12);
  seal(bytes, count);
  *count_out = count;
  return bytes;
}

static void decode_of_encoded_gives_every_part_back(void **state)
{
  file *made = *state;
  sj_cubin_view view;
  assert_int_equal(sj_cubin_file_decode(made->bytes, made->count, &view), SWA_JIT_OK);
  assert_ptr_equal(view.cubin, made->bytes);
  assert_int_equal(view.cubin_bytes, sizeof made->cubin);
  assert_memory_equal(view.cubin, made->cubin, sizeof made->cubin);
  assert_int_equal(view.key_bytes, sizeof key_text - 1);
  assert_memory_equal(view.key_text, key_text, view.key_bytes);
  assert_int_equal(view.note.nvrtc_version, 13000);
  assert_int_equal(view.note.num_registers, 96);
  assert_int_equal(view.note.spill_store_bytes, 4);
  assert_true(view.note.spill_load_bytes == UINT32_MAX);
  assert_true(view.note.compile_ns == UINT64_MAX);
}

/* The format is a promise to files already on disk: a change of these bytes needs a new format version. */
static void encode_gives_the_documented_bytes(void **state)
{
  file *made = *state;
  const char note[] = "nvrtc_version=13000\nnum_registers=96\nspill_store_bytes=4\nspill_load_bytes=4294967295\n"
                      "compile_ns=18446744073709551615\n";
  size_t count = 0;
  uint8_t *bytes = assemble(made->cubin, sizeof made->cubin, note, &count);
  assert_int_equal(made->count, count);
  assert_memory_equal(made->bytes, bytes, count);
  free(bytes);
}

static void time_of_making_is_kept_where_it_is_told(void **state)
{
  file *made = *state;
  sj_cubin_view view = made->view;
  void *bytes = NULL;
  size_t count = 0;
  view.note.made_s = 1790000000;
  assert_int_equal(sj_cubin_file_encode(&view, &bytes, &count), SWA_JIT_OK);
  assert_true(count == made->count + strlen("made_s=1790000000\n"));
  assert_int_equal(sj_cubin_file_decode(bytes, count, &view), SWA_JIT_OK);
  assert_true(view.note.made_s == 1790000000);
  free(bytes);
  assert_int_equal(sj_cubin_file_decode(made->bytes, made->count, &view), SWA_JIT_OK);
  assert_true(view.note.made_s == 0);
}

static void encode_of_empty_or_oversized_parts_is_invalid(void **state)
{
  file *made = *state;
  void *bytes = made;
  size_t count = 4711;
  sj_cubin_view view = made->view;
  view.cubin_bytes = 0;
  assert_int_equal(sj_cubin_file_encode(&view, &bytes, &count), SWA_JIT_INVALID);
  view.cubin_bytes = (size_t)SJ_CUBIN_FILE_MAX_CUBIN + 1;
  assert_int_equal(sj_cubin_file_encode(&view, &bytes, &count), SWA_JIT_INVALID);
  assert_non_null(strstr(sj_message(), "67108865"));
  view = made->view;
  view.key_bytes = 0;
  assert_int_equal(sj_cubin_file_encode(&view, &bytes, &count), SWA_JIT_INVALID);
  view.key_bytes = (size_t)SJ_CUBIN_FILE_MAX_KEY + 1;
  assert_int_equal(sj_cubin_file_encode(&view, &bytes, &count), SWA_JIT_INVALID);
  assert_ptr_equal(bytes, made);
  assert_int_equal(count, 4711);
}

static void encode_of_no_elf_is_invalid(void **state)
{
  file *made = *state;
  void *bytes = NULL;
  size_t count = 0;
  made->cubin[1] = 'e';
  assert_int_equal(sj_cubin_file_encode(&made->view, &bytes, &count), SWA_JIT_INVALID);
  assert_non_null(strstr(sj_message(), "ELF"));
  assert_null(bytes);
}

static void decode_of_every_truncation_is_refused(void **state)
{
  file *made = *state;
  for (size_t count = 0; count < made->count; count++) {
    uint8_t *cut = malloc(count == 0 ? 1 : count); /* a block of its own: a read past it is seen by a sanitizer */
    memcpy(cut, made->bytes, count);
    assert_int_equal(decode(cut, count), SWA_JIT_STORE_ERROR);
    free(cut);
  }
}

static void decode_of_every_changed_byte_is_refused(void **state)
{
  file *made = *state;
  for (size_t i = 0; i < made->count; i++) {
    static const uint8_t changes[] = {0x01, 0x80, 0xff};
    for (unsigned k = 0; k < sizeof changes; k++) {
      made->bytes[i] ^= changes[k];
      assert_int_equal(decode(made->bytes, made->count), SWA_JIT_STORE_ERROR);
      made->bytes[i] ^= changes[k];
    }
  }
  assert_int_equal(decode(made->bytes, made->count), SWA_JIT_OK);
}

static void decode_with_bytes_added_is_refused(void **state)
{
  file *made = *state;
  uint8_t *longer = calloc(1, made->count + 1);
  memcpy(longer, made->bytes, made->count);
  assert_int_equal(decode(longer, made->count + 1), SWA_JIT_STORE_ERROR);
  memcpy(longer + 1, made->bytes, made->count);
  assert_int_equal(decode(longer, made->count + 1), SWA_JIT_STORE_ERROR);
  free(longer);
}

static void decode_of_lengths_that_wrap_is_refused(void **state)
{
  file *made = *state;
  uint8_t *trailer = made->bytes + made->count - SJ_CUBIN_FILE_TRAILER_BYTES;
  for (unsigned i = 0; i < 3; i++) {
    uint8_t saved[24];
    memcpy(saved, trailer, sizeof saved);
    memset(trailer + 8 * i, 0xff, 8);
    seal(made->bytes, made->count);
    assert_int_equal(decode(made->bytes, made->count), SWA_JIT_STORE_ERROR);
    assert_non_null(strstr(sj_message(), "lengths"));
    memcpy(trailer, saved, sizeof saved);
  }
}

static void decode_of_another_version_says_so(void **state)
{
  file *made = *state;
  made->bytes[made->count - 16] = 2;
  assert_int_equal(decode(made->bytes, made->count), SWA_JIT_STORE_ERROR);
  assert_non_null(strstr(sj_message(), "version"));
}

static void decode_of_sealed_but_broken_cubins_is_refused(void **state)
{
  file *made = *state;
  static const struct {
    size_t at;
    uint8_t value;
  } changes[] = {
      {0, 0},               /* magic */
      {4, 1},               /* 32 bits */
      {5, 2},               /* big-endian */
      {18, 62},             /* machine: x86-64 */
      {40, 81},             /* section table one byte on: its end lies outside */
      {47, 0xff},           /* section table far outside */
      {58, 63},             /* section headers of another size */
      {60, 3},              /* one section header more than there is room for */
      {60, 0},              /* none */
      {56, 4},              /* segments whose table would lie outside */
      {80 + 64 + 24, 250},  /* content's offset outside */
      {80 + 64 + 32, 250},  /* content's end outside */
      {80 + 64 + 39, 0xff}, /* content's bytes wrap */
  };
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    uint8_t saved = made->bytes[changes[i].at];
    made->bytes[changes[i].at] = changes[i].value;
    seal(made->bytes, made->count);
    assert_int_equal(decode(made->bytes, made->count), SWA_JIT_STORE_ERROR);
    assert_non_null(strstr(sj_message(), "cubin"));
    made->bytes[changes[i].at] = saved;
  }
  /* A section that occupies no bytes of the file may claim any. */
  made->bytes[80 + 64 + 4] = 8;
  made->bytes[80 + 64 + 32] = 250;
  seal(made->bytes, made->count);
  assert_int_equal(decode(made->bytes, made->count), SWA_JIT_OK);
}

static void decode_of_sealed_cut_cubin_is_refused(void **state)
{
  file *made = *state;
  const char note[] = "nvrtc_version=1\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5\n";
  for (size_t cubin_bytes = 0; cubin_bytes <= sizeof made->cubin; cubin_bytes++) {
    size_t count = 0;
    uint8_t *bytes = assemble(made->cubin, cubin_bytes, note, &count);
    swa_jit_status expected = cubin_bytes < sizeof made->cubin ? SWA_JIT_STORE_ERROR : SWA_JIT_OK;
    assert_int_equal(decode(bytes, count), expected);
    free(bytes);
  }
}

static void decode_of_notes_takes_known_names_once(void **state)
{
  file *made = *state;
  static const struct {
    const char *note;
    swa_jit_status status;
  } cases[] = {
      {"nvrtc_version=1\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5\n", SWA_JIT_OK},
      {"later=\ncompile_ns=5\nspill_load_bytes=4\nspill_store_bytes=3\nnum_registers=2\nnvrtc_version=1\n", SWA_JIT_OK},
      {"", SWA_JIT_STORE_ERROR},
      {"nvrtc_version=1\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\n", SWA_JIT_STORE_ERROR},
      {"nvrtc_version=1\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5", SWA_JIT_STORE_ERROR},
      {"nvrtc_version=1\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=\n", SWA_JIT_STORE_ERROR},
      {"nvrtc_version=1\nnum_registers=-2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5\n",
       SWA_JIT_STORE_ERROR},
      {"nvrtc_version=4294967296\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5\n",
       SWA_JIT_STORE_ERROR},
      {"nvrtc_version=1\nnum_registers=2\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5\n",
       SWA_JIT_STORE_ERROR},
      {"nvrtc_version=1\nnum_registers=2\nspill_store_bytes=3\nspill_load_bytes=4\ncompile_ns=5\n\n",
       SWA_JIT_STORE_ERROR},
      {"nvrtc_version 1\n", SWA_JIT_STORE_ERROR},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    size_t count = 0;
    uint8_t *bytes = assemble(made->cubin, sizeof made->cubin, cases[i].note, &count);
    assert_int_equal(decode(bytes, count), cases[i].status);
    free(bytes);
  }
}

static void find_key_in_trailer_gives_its_place(void **state)
{
  file *made = *state;
  const uint8_t *trailer = made->bytes + made->count - SJ_CUBIN_FILE_TRAILER_BYTES;
  uint64_t offset = 0;
  size_t key_bytes = 0;
  assert_true(sj_cubin_file_find_key(trailer, made->count, &offset, &key_bytes));
  assert_int_equal(offset, sizeof made->cubin);
  assert_int_equal(key_bytes, sizeof key_text - 1);
  assert_false(sj_cubin_file_find_key(trailer, made->count + 1, &offset, &key_bytes));
  assert_false(sj_cubin_file_find_key(made->bytes, made->count, &offset, &key_bytes));
}

static void read_end_gives_key_and_note_of_any_sound_end(void **state)
{
  file *made = *state;
  const size_t least = made->count - sizeof made->cubin;
  for (size_t count = 0; count <= made->count; count++) {
    sj_cubin_view view = {0};
    uint8_t *end = malloc(count != 0 ? count : 1); /* alone, so that a read before it is found by the sanitizer */
    assert_non_null(end);
    memcpy(end, made->bytes + made->count - count, count);
    assert_int_equal(sj_cubin_file_read_end(end, count, made->count, &view), count >= least);
    assert_false(sj_cubin_file_read_end(end, count, made->count + 1, &view));
    if (count >= least) {
      assert_null(view.cubin);
      assert_int_equal(view.cubin_bytes, sizeof made->cubin);
      assert_int_equal(view.key_bytes, sizeof key_text - 1);
      assert_memory_equal(view.key_text, key_text, view.key_bytes);
      assert_int_equal(view.note.num_registers, 96);
      assert_true(view.note.compile_ns == UINT64_MAX);
    }
    free(end);
  }
}

static void read_end_of_a_broken_note_is_refused(void **state)
{
  file *made = *state;
  sj_cubin_view view;
  size_t count = 0;
  uint8_t *bytes = assemble(made->cubin, sizeof made->cubin, "nvrtc_version=13000\n", &count);
  assert_false(sj_cubin_file_read_end(bytes, count, count, &view));
  free(bytes);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(decode_of_encoded_gives_every_part_back),
      TEST(encode_gives_the_documented_bytes),
      TEST(time_of_making_is_kept_where_it_is_told),
      TEST(encode_of_empty_or_oversized_parts_is_invalid),
      TEST(encode_of_no_elf_is_invalid),
      TEST(decode_of_every_truncation_is_refused),
      TEST(decode_of_every_changed_byte_is_refused),
      TEST(decode_with_bytes_added_is_refused),
      TEST(decode_of_lengths_that_wrap_is_refused),
      TEST(decode_of_another_version_says_so),
      TEST(decode_of_sealed_but_broken_cubins_is_refused),
      TEST(decode_of_sealed_cut_cubin_is_refused),
      TEST(decode_of_notes_takes_known_names_once),
      TEST(find_key_in_trailer_gives_its_place),
      TEST(read_end_gives_key_and_note_of_any_sound_end),
      TEST(read_end_of_a_broken_note_is_refused),
  };
  return SJ_TEST_RUN(tests);
}
