// A quadratic with l1 penalties over few coefficients, by coordinate descent:
//   minimise gradient . move + 1/2 move' hessian move + sum l1_k |x_k + move_k|.
// The product hessian move is kept up to date. Sweeps over the coefficients that moved alternate
// with sweeps over all. Paper: J. Friedman et al., Regularization paths for generalized linear
// models via coordinate descent, J. Stat. Software 33 (2010), "covariance updates".
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "solve/gradient.hpp"
#include "solve/linear_types.hpp"

namespace widemargin::WM_ISA {

inline double soft(double x, double threshold) {
    return x > threshold ? x - threshold : x < -threshold ? x + threshold : 0.0;
}

inline void add_scaled(const double* from, double factor, double* to, Index n) {
    const Vector<double> scale = broadcast(factor);
    Index k = 0;
    for (; k + lanes<double> <= n; k += lanes<double>)
        store(to + k, load(to + k) + scale * load(from + k));
    for (; k < n; ++k) to[k] += factor * from[k];
}

// Moves one coefficient to its own minimum; returns how much the objective fell, about.
inline double move_coefficient(const PenalisedQuadratic& q, Index k) {
    const double bend = q.hessian[k * q.size + k];
    if (bend <= 0) return 0;
    const double slope = q.gradient[k] + q.product[k], at = q.x[k] + q.move[k];
    const double to = soft(at - slope / bend, q.l1[k] / bend), step = to - at;
    if (step == 0) return 0;
    q.move[k] += step;
    if (to == 0) q.move[k] = -q.x[k];  // zero to the last bit
    add_scaled(q.hessian + k * q.size, step, q.product, q.size);
    return bend * step * step;
}

// Returns the sweeps made; ends when a full sweep gains less than `share` of all gains before it.
inline Index descend_quadratic(const PenalisedQuadratic& q, double share, Index sweeps) {
    std::vector<Index> moving;
    double total = 0;
    Index made = 0;
    while (made < sweeps) {
        double gain = 0;
        moving.clear();
        for (Index k = 0; k < q.size; ++k) {
            gain += move_coefficient(q, k);
            if (q.x[k] + q.move[k] != 0) moving.push_back(k);
        }
        ++made;
        total += gain;
        if (gain <= share * total) break;
        for (double inner = gain; made < sweeps && inner > 0.3 * share * total; ++made) {
            inner = 0;
            for (const Index k : moving) inner += move_coefficient(q, k);
            total += inner;
        }
    }
    return made;
}

}  // namespace widemargin::WM_ISA
