/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16, one or two in a register. */
#include "rows.h"

#define APPROXIMATION "the table and interpolation of the hardware's unit are not documented"

static const golden_row rows[] = {
    ROW("add|sub|mul.rn?.ftz?.sat?.f16", "=e ee"),
    ROW("add|sub|mul.rn?.ftz?.sat?.f16x2", "=E EE"),
    ROW("add|sub|mul.rn?.bf16", "=b bb"),
    ROW("add|sub|mul.rn?.bf16x2", "=B BB"),
    ROW("fma.rn.ftz?.sat|relu?.f16", "=e eee"),
    ROW("fma.rn.ftz?.sat|relu?.f16x2", "=E EEE"),
    ROW("fma.rn.relu?.bf16", "=b bbb"),
    ROW("fma.rn.relu?.bf16x2", "=B BBB"),
    ROW("min|max.ftz?.NaN?.f16", "=e ee"),
    ROW("min|max.ftz?.NaN?.f16x2", "=E EE"),
    ROW("min|max.NaN?.bf16", "=b bb"),
    ROW("min|max.NaN?.bf16x2", "=B BB"),
    ROW("min|max.ftz?.NaN?.xorsign.abs.f16", "=e ee"),
    ROW("min|max.ftz?.NaN?.xorsign.abs.f16x2", "=E EE"),
    ROW("min|max.NaN?.xorsign.abs.bf16", "=b bb"),
    ROW("min|max.NaN?.xorsign.abs.bf16x2", "=B BB"),
    ROW("abs|neg.ftz?.f16", "=e e"),
    ROW("abs|neg.ftz?.f16x2", "=E E"),
    ROW("abs|neg.bf16", "=b b"),
    ROW("abs|neg.bf16x2", "=B B"),
    NEAR("tanh.approx.f16", "=e e", 1, APPROXIMATION),
    NEAR("tanh.approx.f16x2", "=E E", 1, APPROXIMATION),
    NEAR("tanh.approx.bf16", "=b b", 1, APPROXIMATION),
    NEAR("tanh.approx.bf16x2", "=B B", 1, APPROXIMATION),
    NEAR("ex2.approx.f16", "=e e", 1, APPROXIMATION),
    NEAR("ex2.approx.f16x2", "=E E", 1, APPROXIMATION),
    NEAR("ex2.approx.ftz.bf16", "=b b", 1, APPROXIMATION),
    NEAR("ex2.approx.ftz.bf16x2", "=B B", 1, APPROXIMATION),
};

TABLE(golden_packed);
