/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration and arguments that are right for it, for the tests of what launch_args makes of them. */
#ifndef SJ_LAUNCH_ARGS_FIXTURE_H
#define SJ_LAUNCH_ARGS_FIXTURE_H

#include <stdbool.h>

#include "swa_jit/swa_jit.h"
#include "swa_params.h"

typedef struct launch_args_fixture {
  swa_jit_config config;
  swa_jit_decode_args args;
} launch_args_fixture;

/* An address that no test may follow. */
void *launch_args_address(uint64_t value);

/* The configuration of that text; 5 tokens, 40 heads, 10 blocks of 64 slots (extra: 7 of 32), packed. Every tensor that
 * the configuration has is there, far from the others; what it has not is NULL. */
void launch_args_begin(launch_args_fixture *fixture, const char *config_text);

/* How arguments are found right. */
typedef enum launch_args_way {
  LAUNCH_ARGS_CHECKED,   /* one by one: addresses are too high to be plain */
  LAUNCH_ARGS_WITH_REST, /* the usual way, and behind it LSE */
  LAUNCH_ARGS_USUAL,     /* the usual way alone, without LSE */
  LAUNCH_ARGS_NUM_WAYS
} launch_args_way;

/* Has the arguments of launch_args_begin go that way, as far as the configuration allows it. */
void launch_args_choose_way(launch_args_fixture *fixture, launch_args_way way);

/* The parameter; fails the test with the message when there is none. */
swa_params launch_args_make(const launch_args_fixture *fixture);

/* Fails the test unless the checks, one by one, make the same of it. */
void launch_args_assert_right(const launch_args_fixture *fixture, const swa_params *found);

/* Whether the usual way finds it plain, with what it leaves; fails the test where that is not right. */
bool launch_args_is_usual(const launch_args_fixture *fixture);

/* Fails the test unless it is refused with that status and a message that has both parts. */
void launch_args_assert_refused(const launch_args_fixture *fixture, swa_jit_status status, const char *first_part,
                                const char *second_part);

/* Sets one field of the arguments by its offset. */
void launch_args_set(launch_args_fixture *fixture, size_t offset, const void *value, size_t value_bytes);

/* A stride that is wrong in its place: the message begins with the name and has the limit. */
typedef struct launch_args_stride {
  const char *name;
  size_t offset;
  int64_t wrong;
  const char *limit;
} launch_args_stride;

#define LAUNCH_ARGS_STRIDE(field, wrong, limit)                                                                        \
  {                                                                                                                    \
#field, offsetof(swa_jit_decode_args, field), wrong, limit                                                         \
  }

void launch_args_assert_strides_refused(launch_args_fixture *fixture, const launch_args_stride *cases,
                                        size_t num_cases);

/* An address that must be there, unless it may be NULL, and a multiple of its alignment. */
typedef struct launch_args_pointer {
  const char *name;
  size_t offset;
  unsigned alignment;
  bool may_be_null;
} launch_args_pointer;

#define LAUNCH_ARGS_POINTER(field, alignment, may_be_null)                                                             \
  {                                                                                                                    \
#field, offsetof(swa_jit_decode_args, field), alignment, may_be_null                                               \
  }

void launch_args_assert_pointers_checked(launch_args_fixture *fixture, const launch_args_pointer *cases,
                                         size_t num_cases);

#endif
