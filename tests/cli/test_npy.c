/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npy.h"
#include "temp_dir.h"
#include "test_main.h"

#define IN_TEMP_DIR(test) cmocka_unit_test_setup_teardown(test, temp_dir_setup, temp_dir_teardown)

enum { MAX_FILE = 4096 };

/* The bytes of a file: header text, padded, and count zero bytes of data. */
typedef struct npy_bytes {
  uint8_t bytes[MAX_FILE];
  size_t count;
} npy_bytes;

static npy_bytes make(unsigned version, const char *header, size_t data_bytes)
{
  npy_bytes file = {{0}, 0};
  size_t length = strlen(header);
  memcpy(file.bytes, "\x93NUMPY", 6);
  file.bytes[6] = (uint8_t)version;
  file.bytes[8] = (uint8_t)(length & 0xFF);
  file.bytes[9] = (uint8_t)(length >> 8);
  size_t start = version == 1 ? 10 : 12;
  memcpy(file.bytes + start, header, length);
  file.count = start + length + data_bytes;
  assert_true(file.count <= MAX_FILE);
  return file;
}

static void expect_refused(const npy_bytes *file, const char *part_of_message)
{
  char message[512] = "";
  sj_npy npy = {.num_dims = 77};
  assert_false(sj_npy_parse(file->bytes, file->count, &npy, message, sizeof message));
  assert_int_equal(npy.num_dims, 77); /* untouched */
  if (strstr(message, part_of_message) == NULL) {
    fail_msg("\"%s\" has no \"%s\"", message, part_of_message);
  }
}

static void header_of_each_version_is_read(void **state)
{
  (void)state;
  for (unsigned version = 1; version <= 3; version++) {
    npy_bytes file = make(version, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3, 4), }   \n", 48);
    char message[512] = "";
    sj_npy npy;
    assert_true(sj_npy_parse(file.bytes, file.count, &npy, message, sizeof message));
    assert_string_equal(npy.type, "u2");
    assert_int_equal(npy.num_dims, 3);
    assert_int_equal(npy.shape[0], 2);
    assert_int_equal(npy.shape[1], 3);
    assert_int_equal(npy.shape[2], 4);
    assert_int_equal(npy.num_elements, 24);
    assert_int_equal(npy.data_bytes, 48);
    assert_ptr_equal(npy.data, file.bytes + file.count - 48);
  }
}

static void header_in_other_spelling_is_read(void **state)
{
  static const char *const headers[] = {
      "{\"shape\":(24,),\"fortran_order\":False,\"descr\":\"|V2\"}",
      "{ 'shape' : ( 4 , 6 ) , 'descr' : '<i2' , 'fortran_order' : False }\n",
  };
  (void)state;
  for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
    npy_bytes file = make(1, headers[i], 48);
    char message[512] = "";
    sj_npy npy;
    assert_true(sj_npy_parse(file.bytes, file.count, &npy, message, sizeof message));
    assert_int_equal(npy.num_elements, 24);
  }
}

static void scalar_and_empty_shapes_are_counted(void **state)
{
  char message[512] = "";
  sj_npy npy;
  (void)state;
  npy_bytes scalar = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4);
  assert_true(sj_npy_parse(scalar.bytes, scalar.count, &npy, message, sizeof message));
  assert_int_equal(npy.num_elements, 1);
  npy_bytes empty = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5)}", 0);
  assert_true(sj_npy_parse(empty.bytes, empty.count, &npy, message, sizeof message));
  assert_int_equal(npy.num_elements, 0);
}

static void file_that_cannot_be_used_is_refused_with_remedy(void **state)
{
  static const struct {
    const char *header;
    size_t data_bytes;
    const char *message;
  } cases[] = {
      {"{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3), }", 12, "ascontiguousarray"},
      {"{'descr': '>u2', 'fortran_order': False, 'shape': (2, 3), }", 12, "big-endian"},
      {"{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2,)}", 4, "structured"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }", 11,
       "holds 11 bytes of data where its shape needs 12"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }", 13, "holds 13 bytes"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0,
       "more elements than can be counted"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775808,)}", 0,
       "more elements than can be counted"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999999,)}", 0, "numbers"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 2, "more than 8 dimensions"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (-1,)}", 2, "numbers"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': [2]}", 4, "no tuple"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (2}", 4, "shape does not end"},
      {"{'descr': '<u2', 'fortran_order': 0, 'shape': (2,)}", 4, "neither True nor False"},
      {"{'descr': '<u2', 'shape': (2,)}", 4, "missing"},
      {"{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", 4, "twice"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (2,), 'more': 1}", 4, "unknown"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (2,)} x", 4, "follows"},
      {"{'descr': '<u2', 'fortran_order': False, 'shape': (2,)", 4, "no closing brace"},
      {"{'descr': '<u2 ", 4, "does not end"},
      {"{'descr': '<u2\\'', 'fortran_order': False, 'shape': (2,)}", 4, "not plain"},
      {"{'descr': '<unicode12', 'fortran_order': False, 'shape': (2,)}", 4, "type"},
      {"{'descr': '<u0', 'fortran_order': False, 'shape': (2,)}", 0, "type"},
      {"{'descr': '<uX', 'fortran_order': False, 'shape': (2,)}", 4, "type"},
      {"{'descr': 'O', 'fortran_order': False, 'shape': (2,)}", 16, "type"},
      {"", 4, "opening brace"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    npy_bytes file = make(1, cases[i].header, cases[i].data_bytes);
    expect_refused(&file, cases[i].message);
  }
}

static void start_that_is_no_npy_is_refused(void **state)
{
  (void)state;
  npy_bytes file = make(1, "{}", 0);
  file.bytes[0] = 'P';
  expect_refused(&file, "no .npy file");
  file = make(4, "{'descr': '<u2', 'fortran_order': False, 'shape': (2,)}", 4);
  expect_refused(&file, "version 4");
  file = make(2, "{}", 0);
  file.bytes[10] = 0xFF;
  file.bytes[11] = 0xFF;
  expect_refused(&file, "at most 65536");
  file = make(1, "{}", 0);
  file.bytes[8] = 200;
  expect_refused(&file, "ends inside its header");
}

/* Every cut and every changed byte, each in memory of its exact size so that a sanitizer sees a read past its end. */
static void damaged_bytes_are_survived(void **state)
{
  (void)state;
  npy_bytes file = make(1, "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }\n", 12);
  sj_npy npy;
  char message[64];
  size_t num_refused = 0;
  for (size_t count = 0; count < file.count; count++) {
    uint8_t *cut = malloc(count + 1);
    assert_non_null(cut);
    memcpy(cut + 1, file.bytes, count);
    num_refused += !sj_npy_parse(cut + 1, count, &npy, message, sizeof message);
    free(cut);
  }
  assert_int_equal(num_refused, file.count);
  for (size_t at = 0; at < file.count; at++) {
    for (unsigned value = 0; value < 256; value++) {
      npy_bytes changed = file;
      changed.bytes[at] = (uint8_t)value;
      if (sj_npy_parse(changed.bytes, changed.count, &npy, message, sizeof message)) {
        assert_true((const uint8_t *)npy.data >= changed.bytes);
        assert_true((const uint8_t *)npy.data + npy.data_bytes <= changed.bytes + changed.count);
      } else {
        assert_true(memchr(message, '\0', sizeof message) != NULL && message[0] != '\0');
      }
    }
  }
}

static void array_written_is_read_back(void **state)
{
  char path[4096];
  char message[512] = "";
  uint16_t data[5 * 7];
  const uint64_t shape[2] = {5, 7};
  sj_npy npy;
  snprintf(path, sizeof path, "%s/a.npy", (const char *)*state);
  for (unsigned i = 0; i < 35; i++) {
    data[i] = (uint16_t)(i * 1000);
  }
  assert_true(sj_npy_write(path, "<u2", shape, 2, data, sizeof data, message, sizeof message));
  assert_true(sj_npy_read(path, &npy, message, sizeof message));
  assert_string_equal(npy.type, "u2");
  assert_int_equal(npy.num_dims, 2);
  assert_int_equal(npy.shape[0], 5);
  assert_int_equal(npy.shape[1], 7);
  assert_memory_equal(npy.data, data, sizeof data);
  assert_int_equal((uintptr_t)npy.data % 64, 0);
  sj_npy_finish(&npy);
}

static void vector_written_has_the_comma_of_a_tuple(void **state)
{
  char path[4096];
  char text[512] = "";
  char message[512] = "";
  const float data[3] = {1.0f, 2.0f, 3.0f};
  const uint64_t shape[1] = {3};
  snprintf(path, sizeof path, "%s/v.npy", (const char *)*state);
  assert_true(sj_npy_write(path, "<f4", shape, 1, data, sizeof data, message, sizeof message));
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(text, 1, sizeof text - 1, file), 128 + 12);
  fclose(file);
  assert_memory_equal(text, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 67);
  assert_int_equal(text[127], '\n');
}

static void data_at_an_odd_place_is_aligned(void **state)
{
  char path[4096];
  char message[512] = "";
  sj_npy npy;
  npy_bytes bytes = make(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8);
  bytes.bytes[bytes.count - 1] = 0x40; /* 2.0f */
  snprintf(path, sizeof path, "%s/odd.npy", (const char *)*state);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes.bytes, 1, bytes.count, file), bytes.count);
  fclose(file);
  assert_true(sj_npy_read(path, &npy, message, sizeof message));
  assert_int_equal((uintptr_t)npy.data % 64, 0);
  assert_true(((const float *)npy.data)[1] == 2.0f);
  sj_npy_finish(&npy);
}

static void path_that_is_no_file_is_refused(void **state)
{
  char path[4096];
  char message[512] = "";
  sj_npy npy;
  snprintf(path, sizeof path, "%s/missing.npy", (const char *)*state);
  assert_false(sj_npy_read(path, &npy, message, sizeof message));
  assert_non_null(strstr(message, "missing.npy: cannot be read: No such file"));
  assert_false(sj_npy_read(*state, &npy, message, sizeof message));
  assert_non_null(strstr(message, "Is a directory"));
}

static void write_that_fails_leaves_no_file(void **state)
{
  char path[4096];
  char message[512] = "";
  const float data[1] = {0};
  const uint64_t shape[1] = {1};
  snprintf(path, sizeof path, "%s/no/such/folder.npy", (const char *)*state);
  assert_false(sj_npy_write(path, "<f4", shape, 1, data, sizeof data, message, sizeof message));
  assert_non_null(strstr(message, "cannot be written"));
  assert_false(sj_npy_write("/dev/full", "<f4", shape, 1, data, sizeof data, message, sizeof message));
  assert_non_null(strstr(message, "No space left"));
  assert_int_equal(access("/dev/full", F_OK), 0); /* a device is not removed */
}

static void type_and_rank_that_are_not_wanted_are_named(void **state)
{
  char message[512] = "";
  sj_npy npy = {.type = "f8", .num_dims = 2, .shape = {3, 4}};
  (void)state;
  assert_false(sj_npy_expect(&npy, "q.npy", "u2,V2", 2, message, sizeof message));
  assert_string_equal(message, "q.npy: elements are of type f8: save them as one of u2,V2");
  strcpy(npy.type, "V2");
  assert_false(sj_npy_expect(&npy, "q.npy", "u2,V2", 3, message, sizeof message));
  assert_string_equal(message, "q.npy: the shape is [3, 4]: it must have 3 dimensions");
  assert_true(sj_npy_expect(&npy, "q.npy", "u2,V2", 2, message, sizeof message));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(header_of_each_version_is_read),
      cmocka_unit_test(header_in_other_spelling_is_read),
      cmocka_unit_test(scalar_and_empty_shapes_are_counted),
      cmocka_unit_test(file_that_cannot_be_used_is_refused_with_remedy),
      cmocka_unit_test(start_that_is_no_npy_is_refused),
      cmocka_unit_test(damaged_bytes_are_survived),
      IN_TEMP_DIR(array_written_is_read_back),
      IN_TEMP_DIR(vector_written_has_the_comma_of_a_tuple),
      IN_TEMP_DIR(data_at_an_odd_place_is_aligned),
      IN_TEMP_DIR(path_that_is_no_file_is_refused),
      IN_TEMP_DIR(write_that_fails_leaves_no_file),
      cmocka_unit_test(type_and_rank_that_are_not_wanted_are_named),
  };
  return SJ_TEST_RUN(tests);
}
