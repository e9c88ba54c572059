/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "store_parts.h"

enum { MAX_NAMES = 4096, NUM_CANDIDATES = 8, MAX_KEY_READ = 8192 };

typedef struct candidate {
  sj_store *store;     /* its folder */
  unsigned num_shared; /* words of the wanted name that this one has too */
  char name[SJ_FILE_NAME_SIZE];
} candidate;

typedef struct neighbours {
  unsigned num_entries; /* of the same kernel */
  unsigned num_candidates;
  candidate candidates[NUM_CANDIDATES]; /* the most alike by name, best first */
} neighbours;

static bool has_word(const char *name, const char *word, size_t length)
{
  for (const char *at = name; *at != '\0';) {
    size_t at_length = strcspn(at, "-");
    if (at_length == length && memcmp(at, word, length) == 0) {
      return true;
    }
    at += at_length + (at[at_length] == '-');
  }
  return false;
}

static unsigned count_shared_words(const char *wanted, const char *name)
{
  unsigned count = 0;
  for (const char *word = wanted; *word != '\0';) {
    size_t length = strcspn(word, "-");
    count += has_word(name, word, length);
    word += length + (word[length] == '-');
  }
  return count;
}

static bool ends_with(const char *name, const char *end)
{
  size_t length = strlen(name);
  return length >= strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static void consider(neighbours *found, sj_store *store, const char *wanted, const char *name)
{
  unsigned num_shared = count_shared_words(wanted, name);
  unsigned at = found->num_candidates;
  while (at > 0 && found->candidates[at - 1].num_shared < num_shared) {
    at--;
  }
  if (at == NUM_CANDIDATES) {
    return;
  }
  if (found->num_candidates < NUM_CANDIDATES) {
    found->num_candidates++;
  }
  memmove(&found->candidates[at + 1], &found->candidates[at], (found->num_candidates - 1 - at) * sizeof(candidate));
  found->candidates[at].store = store;
  found->candidates[at].num_shared = num_shared;
  snprintf(found->candidates[at].name, sizeof found->candidates[at].name, "%s", name);
}

/* Adds those of one folder; false, with errno, when it cannot be listed. */
static bool list_neighbours(sj_store *store, const char *wanted, neighbours *found_inout)
{
  DIR *listing = sj_store_list(store);
  if (listing == NULL) {
    return false;
  }
  size_t kernel_length = strcspn(wanted, "-") + 1;
  struct dirent *file = NULL;
  for (unsigned i = 0; i < MAX_NAMES && (file = readdir(listing)) != NULL; i++) {
    bool is_entry = strncmp(file->d_name, wanted, kernel_length) == 0 && ends_with(file->d_name, strrchr(wanted, '.'))
                    && strlen(file->d_name) < SJ_FILE_NAME_SIZE && strcmp(file->d_name, wanted) != 0;
    if (is_entry) {
      found_inout->num_entries++;
      consider(found_inout, store, wanted, file->d_name);
    }
  }
  closedir(listing);
  return true;
}

/* Only the end of the file is read and only for a message, so nothing of it is verified or believed. */
static bool read_key_text(sj_store *store, const char *name, char key_text_out[MAX_KEY_READ], size_t *key_bytes_out)
{
  sj_reading reading = {0};
  int fd = -1;
  if (sj_store_open_entry(store, name, &fd, &reading) != SJ_VERDICT_USABLE) {
    return false;
  }
  uint8_t trailer[SJ_CUBIN_FILE_TRAILER_BYTES];
  off_t file_bytes = reading.status.st_size;
  uint64_t key_offset = 0;
  bool ok = file_bytes >= (off_t)sizeof trailer
            && sj_os_read_at(store->os, fd, trailer, sizeof trailer, file_bytes - (off_t)sizeof trailer)
                   == (ssize_t)sizeof trailer
            && sj_cubin_file_find_key(trailer, (uint64_t)file_bytes, &key_offset, key_bytes_out)
            && *key_bytes_out <= MAX_KEY_READ
            && sj_os_read_at(store->os, fd, key_text_out, *key_bytes_out, (off_t)key_offset) == (ssize_t)*key_bytes_out;
  store->os->close(fd);
  return ok;
}

void sj_store_explain_miss(sj_store *store, const sj_key *key, char *reason, size_t reason_size)
{
  neighbours found = {0};
  for (unsigned i = store->dir_fd >= 0 ? 0 : 1; i <= store->num_layers; i++) {
    if (!list_neighbours(i == 0 ? store : &store->layers[i - 1], key->file_name, &found)) {
      snprintf(reason, reason_size, "no entry has this key; the store cannot be listed: %s", strerror(errno));
      return;
    }
  }
  unsigned least = UINT_MAX;
  char nearest[SJ_REASON_SIZE] = "";
  for (unsigned i = 0; i < found.num_candidates; i++) {
    char key_text[MAX_KEY_READ], difference[SJ_REASON_SIZE];
    size_t key_bytes = 0;
    if (!read_key_text(found.candidates[i].store, found.candidates[i].name, key_text, &key_bytes)) {
      continue;
    }
    unsigned count = sj_key_difference(key->text, key_text, key_bytes, difference, sizeof difference);
    if (count < least) {
      least = count;
      memcpy(nearest, difference, sizeof nearest);
    }
  }
  if (found.num_entries == 0) {
    snprintf(reason, reason_size, "the store is empty");
  } else if (least == UINT_MAX) {
    snprintf(reason, reason_size, "no entry has this key; none of the %u others could be read", found.num_entries);
  } else {
    snprintf(reason, reason_size, "no entry has this key; the nearest of %u differs in %s", found.num_entries, nearest);
  }
}
