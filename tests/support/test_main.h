/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a cmocka program. cmocka returns the number of failures, which is no exit status (256 failures would
 * be 0, 77 would be "skipped"): every program here ends with 0 or 1. A program that needs something the machine
 * lacks checks for it before any test and returns SJ_TEST_SKIPPED after printing why. */
#ifndef SJ_TEST_MAIN_H
#define SJ_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define SJ_TEST_SKIPPED 77
#define SJ_TEST_RUN(tests) (cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1)

#endif
