/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/fit_solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HUBER_K      1.345
#define MAD_TO_SIGMA 1.4826
enum { ROUNDS = 20, SETS = 1 << FIT_TERMS };
/* Of a column's unit length, what must be left of it beside the others'. */
#define PIVOT_MIN 1e-7

/* Sums over rows, of columns scaled to unit length. */
struct normal {
    double gram[FIT_TERMS][FIT_TERMS];
    double xy[FIT_TERMS];
    double yy;
    double scale[FIT_TERMS]; /* length of a column, 0 = empty */
};

static struct normal normal_make(const struct fit_row *rows, const double *weights, uint32_t count)
{
    struct normal n = {0};
    for (uint32_t r = 0; r < count; r++) {
        double w = weights[r];
        for (int i = 0; i < FIT_TERMS; i++) {
            n.xy[i] += w * rows[r].x[i] * rows[r].y;
            for (int j = 0; j < FIT_TERMS; j++) {
                n.gram[i][j] += w * rows[r].x[i] * rows[r].x[j];
            }
        }
        n.yy += w * rows[r].y * rows[r].y;
    }
    for (int i = 0; i < FIT_TERMS; i++) {
        n.scale[i] = sqrt(n.gram[i][i]);
    }
    for (int i = 0; i < FIT_TERMS; i++) {
        n.xy[i] /= n.scale[i] > 0 ? n.scale[i] : 1;
        for (int j = 0; j < FIT_TERMS; j++) {
            double scale = n.scale[i] * n.scale[j];
            n.gram[i][j] /= scale > 0 ? scale : 1;
        }
    }
    return n;
}

/* Inverse of the Gram matrix of a set of columns, by Gauss and Jordan (it is symmetric and positive
 * definite: no exchange of rows is needed). False: a column is as good as a mix of the others. */
static bool invert(const struct normal *n, unsigned set, double ret[FIT_TERMS][FIT_TERMS])
{
    double a[FIT_TERMS][FIT_TERMS];
    memcpy(a, n->gram, sizeof(a));
    for (int i = 0; i < FIT_TERMS; i++) {
        for (int j = 0; j < FIT_TERMS; j++) {
            ret[i][j] = i == j ? 1 : 0;
        }
    }
    for (int p = 0; p < FIT_TERMS; p++) {
        if ((set >> p & 1) == 0) {
            continue;
        }
        double pivot = a[p][p];
        if (!(pivot > PIVOT_MIN)) {
            return false;
        }
        for (int j = 0; j < FIT_TERMS; j++) {
            a[p][j] /= pivot;
            ret[p][j] /= pivot;
        }
        for (int i = 0; i < FIT_TERMS; i++) {
            double by = i == p || (set >> i & 1) == 0 ? 0 : a[i][p];
            for (int j = 0; j < FIT_TERMS; j++) {
                a[i][j] -= by * a[p][j];
                ret[i][j] -= by * ret[p][j];
            }
        }
    }
    return true;
}

/* The least squares of a set; infinite when one is negative or not to be told. */
static double solve_set(const struct normal *n, unsigned set, double theta[FIT_TERMS])
{
    double inverse[FIT_TERMS][FIT_TERMS];
    double gain = 0;
    memset(theta, 0, FIT_TERMS * sizeof(*theta));
    if (!invert(n, set, inverse)) {
        return INFINITY;
    }
    for (int i = 0; i < FIT_TERMS; i++) {
        for (int j = 0; j < FIT_TERMS && (set >> i & 1) == 1; j++) {
            theta[i] += (set >> j & 1) == 1 ? inverse[i][j] * n->xy[j] : 0;
        }
        if ((set >> i & 1) == 1 && !(theta[i] > 0)) {
            return INFINITY;
        }
        gain += theta[i] * n->xy[i];
    }
    return n->yy - gain;
}

static unsigned solve(const struct normal *n, double theta[FIT_TERMS])
{
    unsigned best = 0;
    double least = INFINITY;
    memset(theta, 0, FIT_TERMS * sizeof(*theta));
    for (unsigned set = 1; set < SETS; set++) {
        double tried[FIT_TERMS];
        double left = solve_set(n, set, tried);
        if (left < least) {
            least = left;
            best = set;
            memcpy(theta, tried, sizeof(tried));
        }
    }
    for (int i = 0; i < FIT_TERMS; i++) {
        theta[i] /= n->scale[i] > 0 ? n->scale[i] : 1;
    }
    return best;
}

static double residual(const struct fit_row *row, const double theta[FIT_TERMS])
{
    double y = row->y;
    for (int i = 0; i < FIT_TERMS; i++) {
        y -= theta[i] * row->x[i];
    }
    return y;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* sizes [count] is scratch. */
static double robust_sigma(const struct fit_row *rows,
                           uint32_t count,
                           const double theta[FIT_TERMS],
                           double *sizes)
{
    for (uint32_t r = 0; r < count; r++) {
        sizes[r] = fabs(residual(&rows[r], theta));
    }
    qsort(sizes, count, sizeof(*sizes), by_size);
    return MAD_TO_SIGMA * sizes[count / 2];
}

/* Standard errors: sigma^2 times the diagonal of the inverse. */
static void judge(const struct normal *n, unsigned set, double sigma, struct fit_solution *ret)
{
    double inverse[FIT_TERMS][FIT_TERMS];
    for (int i = 0; i < FIT_TERMS; i++) {
        ret->is_free[i] = (set >> i & 1) == 1;
        ret->is_told[i] = n->scale[i] > 0 && invert(n, set | 1U << i, inverse);
        ret->error[i] = ret->is_told[i] ? sigma * sqrt(inverse[i][i]) / n->scale[i] : 0;
    }
    double variance = 0;
    if (set != 0 && invert(n, set, inverse)) {
        for (int i = FIT_A; i <= FIT_W; i++) {
            for (int j = FIT_A; j <= FIT_W; j++) {
                bool is_in = (set >> i & 1) == 1 && (set >> j & 1) == 1;
                variance += is_in ? inverse[i][j] / (n->scale[i] * n->scale[j]) : 0;
            }
        }
    }
    ret->f_error = sigma * sqrt(variance > 0 ? variance : 0);
}

enum status fit_solve(const struct fit_row *rows,
                      uint32_t count,
                      const struct mem *mem,
                      struct fit_solution *ret)
{
    double *weights = mem_calloc(mem, (size_t)count + 1, sizeof(*weights));
    double *sizes = mem_calloc(mem, (size_t)count + 1, sizeof(*sizes));
    enum status st = weights == NULL || sizes == NULL ? ST_NOMEM : ST_OK;
    struct fit_solution solution = {0};
    for (uint32_t r = 0; st == ST_OK && r < count; r++) {
        weights[r] = 1;
    }
    for (int round = 0; st == ST_OK && round < ROUNDS; round++) {
        struct normal n = normal_make(rows, weights, count);
        unsigned set = solve(&n, solution.theta);
        double sigma = robust_sigma(rows, count, solution.theta, sizes);
        judge(&n, set, sigma, &solution);
        solution.outliers = 0;
        for (uint32_t r = 0; r < count; r++) {
            double size = fabs(residual(&rows[r], solution.theta));
            weights[r] = size > HUBER_K * sigma ? HUBER_K * sigma / size : 1;
            solution.outliers += weights[r] < 0.5;
        }
    }
    mem_free(mem, weights, ((size_t)count + 1) * sizeof(*weights));
    mem_free(mem, sizes, ((size_t)count + 1) * sizeof(*sizes));
    if (st == ST_OK) {
        *ret = solution;
    }
    return st;
}
