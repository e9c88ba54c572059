/* SPDX-License-Identifier: Apache-2.0 */
/* floor.cu as text; the build generates the definition. */
#ifndef BENCH_FLOOR_SOURCE_H
#define BENCH_FLOOR_SOURCE_H

extern const char bench_floor_source[];

#endif
