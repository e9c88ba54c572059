/* SPDX-License-Identifier: Apache-2.0 */
/* f32 and f64; and what is documented as an approximation. */
#include "rows.h"

#define APPROXIMATION "the table and interpolation of the hardware's unit are not documented"

static const golden_row rows[] = {
    ROW("add|sub|mul.rn|rz|rm|rp?.ftz?.sat?.f32", "=f ff"),
    ROW("fma|mad.rn|rz|rm|rp.ftz?.sat?.f32", "=f fff"),
    ROW("div.rn|rz|rm|rp.ftz?.f32", "=f ff"),
    ROW("rcp|sqrt.rn|rz|rm|rp.ftz?.f32", "=f f"),
    NEAR("div.approx|full.ftz?.f32", "=f ff", 1, APPROXIMATION),
    NEAR("rcp.approx.ftz?.f32", "=f f", 1, APPROXIMATION),
    NEAR("sqrt|rsqrt.approx.ftz?.f32", "=f f", 1, APPROXIMATION),
    NEAR("ex2.approx.ftz?.f32", "=f f", 2, APPROXIMATION),
    {"lg2.approx.ftz?.f32", "=f f", NULL, {3, -22, APPROXIMATION}},
    {"sin|cos.approx.ftz?.f32", "=f q", NULL, {2, -20, APPROXIMATION}},
    {"tanh.approx.f32", "=f f", NULL, {0, -16, APPROXIMATION}},
    ROW("abs|neg.ftz?.f32", "=f f"),
    ROW("copysign.f32", "=f ff"),
    ROW("min|max.ftz?.NaN?.f32", "=f ff"),
    ROW("min|max.ftz?.NaN?.xorsign.abs.f32", "=f ff"),
    ROW("add|sub|mul.rn|rz|rm|rp?.f64", "=d dd"),
    ROW("fma|mad.rn|rz|rm|rp.f64", "=d ddd"),
    ROW("div.rn|rz|rm|rp.f64", "=d dd"),
    ROW("rcp|sqrt.rn|rz|rm|rp.f64", "=d d"),
    ROW("abs|neg.f64", "=d d"),
    ROW("copysign|min|max.f64", "=d dd"),
    ROW("testp.finite|infinite|number|notanumber|normal|subnormal.f32", "=p f"),
    ROW("testp.finite|infinite|number|notanumber|normal|subnormal.f64", "=p d"),
};

TABLE(golden_float);
