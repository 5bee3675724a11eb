/* SPDX-License-Identifier: Apache-2.0 */
/* Non-negative least squares for few unknowns and many measurements, robust to outliers.
 *
 * Minimises sum of rho((y - x . theta) / sigma) over theta >= 0 with Huber's rho, by least squares
 * with weights that are found anew each round (Huber, "Robust Estimation of a Location Parameter",
 * 1964; k = 1.345; sigma = 1.4826 times the median absolute residual). Each round is the problem
 * NNLS of Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23: of so few
 * unknowns the set of positive ones is found by trying all.
 *
 * PURE. THREAD: any. */
#ifndef BENCH_LAB_FIT_SOLVE_H
#define BENCH_LAB_FIT_SOLVE_H

#include "bench/lab/fit_play.h"

struct fit_row {
    double x[FIT_TERMS]; /* >= 0 */
    double y;
};

struct fit_solution {
    double theta[FIT_TERMS];
    double error[FIT_TERMS]; /* standard error; of a theta that is 0: what one above 0 would have */
    double f_error;          /* of theta[FIT_A] + theta[FIT_W] */
    bool is_free[FIT_TERMS]; /* positive */
    bool is_told[FIT_TERMS]; /* false: not to be told from the positive ones, or never done */
    uint32_t outliers;       /* rows that got less than half their weight */
};

/* rows [count], each already scaled to the same variance. ST_NOMEM. */
MUST_CHECK enum status fit_solve(const struct fit_row *rows,
                                 uint32_t count,
                                 const struct mem *mem,
                                 struct fit_solution *ret);

#endif
