/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all instructions: the families, and how an opcode finds its row. */
#include "instructions.h"

#include <string.h>

#include "families.h"

const emu_family *const emu_families[] = {
    &emu_family_integer, &emu_family_carry,    &emu_family_float,
    &emu_family_packed,  &emu_family_convert,  &emu_family_move,
    &emu_family_memory,  &emu_family_atomic,   &emu_family_control,
    &emu_family_warp,    &emu_family_barrier,  &emu_family_matrix,
    &emu_family_async,   &emu_family_mbarrier, &emu_family_cluster,
    &emu_family_columns, &emu_family_tensor,   &emu_family_remote,
    &emu_family_bulk,    &emu_family_groups,   &emu_family_product,
    &emu_family_copies,  &emu_family_maps,     &emu_family_wgmma,
    &emu_family_budget,  &emu_family_changes,  NULL,
};

/* One word of a pattern against the words that are left of the opcode. */
typedef struct matcher {
  uint8_t *mods;
  unsigned num_mods;
} matcher;

static const char *end_of(const char *text, const char *end, char mark)
{
  while (text < end && *text != mark) {
    text++;
  }
  return text;
}

/* 1 + the number of the alternative that equals a word, 0 if none. */
static unsigned choose(const char *pattern, const char *end, const char *word, const char *word_end)
{
  for (unsigned number = 1; pattern <= end; number++) {
    const char *stop = end_of(pattern, end, '|');
    if (stop - pattern == word_end - word && memcmp(pattern, word, (size_t)(word_end - word)) == 0) {
      return number;
    }
    pattern = stop + 1;
  }
  return 0;
}

static bool match(const char *pattern, const char *word, const char *word_end, matcher *found)
{
  if (*pattern == 0) {
    return word >= word_end;
  }
  const char *pattern_end = pattern + strlen(pattern);
  const char *stop = end_of(pattern, pattern_end, '.');
  const char *rest = *stop == '.' ? stop + 1 : stop;
  const bool optional = stop[-1] == '?';
  const char *choices_end = optional ? stop - 1 : stop;
  const bool counts = optional || end_of(pattern, choices_end, '|') < choices_end;
  const unsigned at = found->num_mods;
  if (word < word_end) {
    const char *this_end = end_of(word, word_end, '.');
    const unsigned number = choose(pattern, choices_end, word, this_end);
    if (number > 0) {
      if (counts && at < EMU_MAX_MODIFIERS) {
        found->mods[at] = (uint8_t)number;
        found->num_mods = at + 1;
      }
      if (match(rest, this_end < word_end ? this_end + 1 : this_end, word_end, found)) {
        return true;
      }
      found->num_mods = at;
    }
  }
  if (!optional) {
    return false;
  }
  if (at < EMU_MAX_MODIFIERS) {
    found->mods[at] = 0;
    found->num_mods = at + 1;
  }
  if (match(rest, word, word_end, found)) {
    return true;
  }
  found->num_mods = at;
  return false;
}

static bool arch_has(const emu_row *row, int arch)
{
  const int least = row->arch & 127;
  return (row->arch & 128) != 0 ? arch == least : arch >= least;
}

const emu_row *emu_row_next(emu_row_search *search, ptx_name opcode, int arch, uint8_t mods[EMU_MAX_MODIFIERS])
{
  for (; emu_families[search->family] != NULL; search->family++, search->index = 0) {
    const emu_family *family = emu_families[search->family];
    while (search->index < family->count) {
      const emu_row *row = &family->rows[search->index++];
      if (row->pattern[0] != opcode.at[0]) {
        continue;
      }
      memset(mods, 0, EMU_MAX_MODIFIERS);
      matcher found = {mods, 0};
      if (!match(row->pattern, opcode.at, opcode.at + opcode.length, &found)) {
        continue;
      }
      if (arch_has(row, arch)) {
        return row;
      }
      search->found_for_others = true;
    }
  }
  return NULL;
}
