/* SPDX-License-Identifier: Apache-2.0 */
/* Archives as the tools write and read them: what was written is read, and nothing else is taken. */
#include <stdlib.h>
#include <string.h>

#include "tar.h"
#include "test_main.h"

enum { BLOCK = 512, MOST_BYTES = 64 * 1024 };

typedef struct archive {
  char bytes[MOST_BYTES];
  size_t count;
} archive;

static void write_name(FILE *file, const char *name, const char *content)
{
  assert_true(sj_tar_write(file, name, 1700000000, content, strlen(content)));
}

/* A name of that many bytes. */
static const char *name_of(size_t length, char name[SJ_TAR_NAME_SIZE])
{
  memset(name, 'n', length);
  name[length] = '\0';
  return name;
}

static archive *make(size_t name_length, const char *content)
{
  archive *made = calloc(1, sizeof *made);
  assert_non_null(made);
  char name[SJ_TAR_NAME_SIZE];
  FILE *file = fmemopen(made->bytes, sizeof made->bytes, "w");
  assert_non_null(file);
  write_name(file, "first", content);
  write_name(file, name_of(name_length, name), "second");
  assert_true(sj_tar_write_end(file));
  made->count = (size_t)ftell(file);
  assert_int_equal(fclose(file), 0);
  return made;
}

/* Reads all; how many files, or -1 when the reader refuses. */
static int read_all(const void *bytes, size_t count, sj_tar_reader *reader_out)
{
  int num_files = 0;
  char *copy = malloc(count != 0 ? count : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, count);
  FILE *file = count != 0 ? fmemopen(copy, count, "r") : fopen("/dev/null", "r");
  assert_non_null(file);
  *reader_out = (sj_tar_reader){.file = file};
  sj_tar_member member;
  sj_tar_result result = SJ_TAR_END;
  while ((result = sj_tar_next(reader_out, &member)) == SJ_TAR_MEMBER) {
    char content[MOST_BYTES];
    assert_true(memchr(member.name, '\0', sizeof member.name) != NULL);
    if (num_files == 0 && member.size <= sizeof content && !sj_tar_read(reader_out, content)) {
      result = SJ_TAR_WRONG;
      break;
    }
    num_files++;
  }
  assert_true((result == SJ_TAR_WRONG) == (reader_out->problem[0] != '\0'));
  fclose(file);
  free(copy);
  return result == SJ_TAR_END ? num_files : -1;
}

static void what_is_written_is_read(void **state)
{
  (void)state;
  for (size_t length = 1; length < 260; length++) {
    char name[SJ_TAR_NAME_SIZE], content[16];
    archive *made = make(length, "content");
    sj_tar_reader reader = {.file = fmemopen(made->bytes, made->count, "r")};
    sj_tar_member member;
    assert_non_null(reader.file);
    assert_int_equal(sj_tar_next(&reader, &member), SJ_TAR_MEMBER);
    assert_string_equal(member.name, "first");
    assert_int_equal(member.size, 7);
    assert_true(sj_tar_read(&reader, content));
    assert_memory_equal(content, "content", 7);
    assert_int_equal(sj_tar_next(&reader, &member), SJ_TAR_MEMBER);
    assert_string_equal(member.name, name_of(length, name));
    assert_int_equal(sj_tar_next(&reader, &member), SJ_TAR_END); /* not read: passed over */
    fclose(reader.file);
    free(made);
  }
}

static void size_of_an_archive_is_whole_blocks(void **state)
{
  (void)state;
  for (size_t length = 0; length < 1100; length += 64) {
    char *content = calloc(1, length + 1);
    sj_tar_reader reader;
    assert_non_null(content);
    memset(content, 'c', length);
    archive *made = make(10, content);
    assert_int_equal(made->count % BLOCK, 0);
    assert_int_equal(read_all(made->bytes, made->count, &reader), 2);
    free(made);
    free(content);
  }
}

static void every_truncation_is_refused(void **state)
{
  (void)state;
  archive *made = make(120, "content");
  for (size_t count = 0; count < made->count; count++) {
    sj_tar_reader reader;
    assert_int_equal(read_all(made->bytes, count, &reader), -1);
  }
  free(made);
}

static void bytes_behind_the_end_are_refused_but_zeros(void **state)
{
  (void)state;
  archive *made = make(10, "content");
  sj_tar_reader reader;
  assert_int_equal(read_all(made->bytes, made->count + 10240, &reader), 2);
  assert_int_equal(read_all(made->bytes, made->count + 3, &reader), 2);
  made->bytes[made->count + 1000] = 1;
  assert_int_equal(read_all(made->bytes, made->count + 10240, &reader), -1);
  assert_string_equal(reader.problem, "something stands behind its end");
  free(made);
}

static void the_first_header_tells_an_archive(void **state)
{
  (void)state;
  char bytes[8 * BLOCK] = "";
  FILE *file = fmemopen(bytes, sizeof bytes, "w");
  assert_non_null(file);
  write_name(file, "name", "content");
  assert_int_equal(fclose(file), 0);
  assert_true(sj_tar_may_begin(bytes, BLOCK));
  bytes[257] = 'U';
  assert_false(sj_tar_may_begin(bytes, BLOCK));
  assert_true(sj_tar_may_begin(bytes, BLOCK - 1)); /* not known yet */
}

static void zeros_without_end_are_refused(void **state)
{
  (void)state;
  FILE *file = fopen("/dev/zero", "rb");
  assert_non_null(file);
  sj_tar_reader reader = {.file = file};
  sj_tar_member member;
  assert_int_equal(sj_tar_next(&reader, &member), SJ_TAR_WRONG);
  assert_string_equal(reader.problem, "more than a mebibyte of zeros stands behind its end");
  fclose(file);
}

static void names_with_control_characters_are_refused(void **state)
{
  (void)state;
  static const char *const names[] = {"\033[31mred", "two\nlines", "rubbed\177out"};
  for (unsigned i = 0; i < 3; i++) {
    sj_tar_reader reader;
    char bytes[8 * BLOCK] = "";
    FILE *file = fmemopen(bytes, sizeof bytes, "w");
    assert_non_null(file);
    write_name(file, names[i], "content");
    assert_true(sj_tar_write_end(file));
    const size_t count = (size_t)ftell(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(read_all(bytes, count, &reader), -1);
    assert_string_equal(reader.problem, "a name in it has a control character");
  }
}

/* A header's own check finds any change of it; what an extended header or content holds is others' matter. */
static void changed_headers_are_refused(void **state)
{
  (void)state;
  archive *made = make(10, "content");
  for (size_t i = 0; i < BLOCK; i++) {
    sj_tar_reader reader;
    made->bytes[i] = (char)(made->bytes[i] ^ 0x40);
    const int expected = i == 155 ? 2 : -1; /* the blank behind the sum is in no sum */
    assert_int_equal(read_all(made->bytes, made->count, &reader), expected);
    made->bytes[i] = (char)(made->bytes[i] ^ 0x40);
  }
  free(made);
}

static void changed_bytes_anywhere_are_safe(void **state)
{
  (void)state;
  archive *made = make(150, "content");
  for (size_t i = 0; i < made->count; i++) {
    for (unsigned flip = 1; flip < 256; flip *= 4) {
      sj_tar_reader reader;
      made->bytes[i] = (char)(made->bytes[i] ^ (char)flip);
      read_all(made->bytes, made->count, &reader);
      made->bytes[i] = (char)(made->bytes[i] ^ (char)flip);
    }
  }
  free(made);
}

/* Makes a header's sum right again. */
static void seal(char header[BLOCK])
{
  unsigned sum = 0;
  memset(header + 148, ' ', 8);
  for (unsigned i = 0; i < BLOCK; i++) {
    sum += (unsigned char)header[i];
  }
  snprintf(header + 148, 8, "%06o", sum);
}

static void what_is_no_plain_file_is_refused(void **state)
{
  static const struct {
    char type;
    const char *problem;
  } cases[] = {
      {'1', "\"first\" is a link"},   {'2', "\"first\" is a link"},   {'5', "\"first\" is a folder"},
      {'3', "\"first\" is no plain"}, {'g', "\"first\" is no plain"}, {'S', "\"first\" is no plain"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    archive *made = make(10, "content");
    sj_tar_reader reader;
    made->bytes[156] = cases[i].type;
    seal(made->bytes);
    assert_int_equal(read_all(made->bytes, made->count, &reader), -1);
    assert_non_null(strstr(reader.problem, cases[i].problem));
    free(made);
  }
}

/* The first file as an extended header of that content. */
static int read_extended(char type, const char *content, sj_tar_reader *reader_out)
{
  archive *made = make(10, content);
  made->bytes[156] = type;
  seal(made->bytes);
  int num_files = read_all(made->bytes, made->count, reader_out);
  free(made);
  return num_files;
}

static void extended_headers_give_names_and_nothing_strange(void **state)
{
  static const char *const wrong[] = {
      "x",
      "0 path=a\n",
      "8 path=a\n",
      "11 path=a\n",
      "9 path=a",
      "9 path=a\nx",
      "99 path=a\n",
      "-9 path=a\n",
      "9path=aa\n",
      "8 path=\n",
      "9 size=1\n",
      "12 size=999\n",
      "20 GNU.sparse.map=1\n",
      "99999999999999999999 a=b\n",
  };
  sj_tar_reader reader;
  (void)state;
  assert_int_equal(read_extended('x', "9 path=a\n", &reader), 1);
  assert_int_equal(read_extended('x', "20 mtime=1700000000\n9 path=a\n", &reader), 1);
  assert_int_equal(read_extended('x', "", &reader), 1);
  assert_int_equal(read_extended('L', "a/long/name", &reader), 1);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(read_extended('x', wrong[i], &reader), -1);
  }
  char *longest = calloc(1, 3000);
  assert_non_null(longest);
  memset(longest, 'n', 2000);
  assert_int_equal(read_extended('L', longest, &reader), -1);
  free(longest);
}

static void name_too_long_is_not_written(void **state)
{
  char *name = calloc(1, SJ_TAR_NAME_SIZE + 1);
  FILE *file = fopen("/dev/null", "w");
  (void)state;
  assert_non_null(name);
  assert_non_null(file);
  memset(name, 'n', SJ_TAR_NAME_SIZE);
  assert_false(sj_tar_write(file, name, 0, "", 0));
  name[SJ_TAR_NAME_SIZE - 1] = '\0';
  assert_true(sj_tar_write(file, name, -5, "", 0));
  fclose(file);
  file = fopen("/dev/full", "w");
  assert_non_null(file);
  setbuf(file, NULL);
  assert_false(sj_tar_write(file, "name", 0, "content", 7));
  assert_false(sj_tar_write_end(file));
  fclose(file);
  free(name);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(size_of_an_archive_is_whole_blocks),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(bytes_behind_the_end_are_refused_but_zeros),
      cmocka_unit_test(the_first_header_tells_an_archive),
      cmocka_unit_test(zeros_without_end_are_refused),
      cmocka_unit_test(names_with_control_characters_are_refused),
      cmocka_unit_test(changed_headers_are_refused),
      cmocka_unit_test(changed_bytes_anywhere_are_safe),
      cmocka_unit_test(what_is_no_plain_file_is_refused),
      cmocka_unit_test(extended_headers_give_names_and_nothing_strange),
      cmocka_unit_test(name_too_long_is_not_written),
  };
  return SJ_TEST_RUN(tests);
}
