// Dual coordinate descent: one row after the other moves its dual variable to its own optimum,
//   maximise (t - f)(v - u) - epsilon |v| - bend / 2 v^2 - 1/2 Q (v - u)^2  over its bounds,
// and w and b follow at once. Q = ||x||^2 / l2 + 1 / bias_l2.
// A row whose variable rests at its bound more safely than any row violated its conditions in the
// epoch before is set aside (shrinking). On its way an epoch sums up, for each row before its move,
//   cost loss(f) + conjugate(u) - u (t - f) >= 0,
// which over all rows is the duality gap, if w and b did not move: what is left of it is known
// without a pass of its own. The rows that come next are fetched into the cache ahead of time.
// Papers: C.-J. Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML
// 2008; C.-H. Ho, C.-J. Lin, Large-scale linear support vector regression, JMLR 13 (2012); H.-F. Yu
// et al., Dual coordinate descent methods for logistic regression, Mach. Learn. 85 (2011).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "solve/linear_losses.hpp"
#include "solve/linear_quadratic.hpp"
#include "solve/linear_rows.hpp"

namespace widemargin::WM_ISA {

constexpr Index scalars_ahead = 8, entries_ahead = 4;  // rows; the latter need the former

struct RowStep {
    double to, violation;  // negative violation: how safely the variable rests at its bound
};

template <LossKind kind>
inline RowStep row_step(double epsilon, double target, double cost, double output, double u,
                        double curvature) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr bool squared =
        kind == LossKind::squared_hinge || kind == LossKind::squared_insensitive;
    constexpr bool two_sided =
        kind == LossKind::insensitive || kind == LossKind::squared_insensitive;
    const double most = squared ? infinity : cost, bend = squared ? 0.5 / cost : 0.0;
    const double centre = kind == LossKind::one_class ? 0.0 : target;
    const bool positive = kind == LossKind::one_class || target > 0;
    const double lower = two_sided || !positive ? -most : 0.0;
    const double upper = two_sided || positive ? most : 0.0;
    const double edge = two_sided ? epsilon : 0.0, pull = centre - output - bend * u;
    const double rise = u < upper ? pull - (u >= 0 ? edge : -edge) : -infinity;
    const double fall = u > lower ? -pull - (u <= 0 ? edge : -edge) : -infinity;
    const double middle = soft(centre - output + curvature * u, edge) / (curvature + bend);
    return {std::clamp(middle, lower, upper), std::max(rise, fall)};
}

// The root of Q (a - from) + margin + log(a / (cost - a)) in (0, cost), by Newton steps on the
// logit, which never leave the interval.
template <>
inline RowStep row_step<LossKind::logistic>(double, double target, double cost, double output,
                                            double u, double curvature) {
    const double margin = target * output, from = target * u;
    const double pull = curvature * cost, shift = margin - curvature * from;
    double low = -margin - pull + curvature * from, high = -margin + curvature * from;
    double logit = std::clamp(-margin, low, high);
    for (int round = 0; round < 60; ++round) {
        const double share = 1.0 / (1.0 + std::exp(-logit));
        const double slope = pull * share + shift + logit;
        slope > 0 ? high = logit : low = logit;
        double next = logit - slope / (pull * share * (1.0 - share) + 1.0);
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        const double change = std::abs(next - logit);
        logit = next;
        if (change <= 1e-12 * (1.0 + std::abs(logit))) break;
    }
    const double to = cost / (1.0 + std::exp(-logit));
    return {target * to, std::abs(to - from) / cost};
}

// cost loss(f) + conjugate(u) - u (t - f).
template <LossKind kind>
inline double row_gap(double epsilon, double target, double cost, double output, double u) {
    constexpr bool squared =
        kind == LossKind::squared_hinge || kind == LossKind::squared_insensitive;
    constexpr bool two_sided =
        kind == LossKind::insensitive || kind == LossKind::squared_insensitive;
    const double centre = kind == LossKind::one_class ? 0.0 : target;
    const bool positive = kind == LossKind::one_class || target > 0;
    const double deviation = centre - output, size = std::abs(u);
    const double short_of = two_sided ? std::abs(deviation) : positive ? deviation : -deviation;
    const double excess = std::max(0.0, short_of - (two_sided ? epsilon : 0.0));
    const double taken =
        (two_sided ? epsilon * size : 0.0) + (squared ? size * size / cost / 4 : 0.0);
    return cost * (squared ? excess * excess : excess) + taken - u * deviation;
}

template <>
inline double row_gap<LossKind::logistic>(double, double target, double cost, double output,
                                          double u) {
    const double margin = target * output, share = target * u / cost;
    const double loss = std::max(0.0, -margin) + std::log1p(std::exp(-std::abs(margin)));
    const double rest = 1.0 - share;
    const double entropy =
        (share > 0 ? share * std::log(share) : 0.0) + (rest > 0 ? rest * std::log(rest) : 0.0);
    return cost * (loss + share * margin + entropy);
}

// Moves one row; returns whether its variable rests so safely that the row may be set aside.
template <LossKind kind, class View>
bool descend_row(const View& view, const DescentProblem& p, Index i, DescentSweep& sweep) {
    const double cost = p.cost[i], curvature = p.norms[i] / p.l2 + p.bias_reach, u = p.dual[i];
    if (cost <= 0) return true;
    const double output = view.dot(i, p.weights) + *p.bias;
    const RowStep step = row_step<kind>(p.epsilon, p.target[i], cost, output, u, curvature);
    if (step.violation < -p.safety) return true;
    sweep.worst = std::max(sweep.worst, step.violation);
    sweep.gap += row_gap<kind>(p.epsilon, p.target[i], cost, output, u);
    const double change = step.to - u;
    if (change == 0 || !std::isfinite(change)) return false;
    p.dual[i] = step.to;
    view.add(i, change / p.l2, p.weights);
    *p.bias += change * p.bias_reach;
    return false;
}

inline std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

inline void shuffle(Index* order, Index count, std::uint64_t seed) {
    for (Index k = count - 1; k > 0; --k) {
        const auto draw = next_random(seed) >> 32;
        std::swap(order[k], order[Index(draw * std::uint64_t(k + 1) >> 32)]);
    }
}

template <LossKind kind, class View>
void descend_rows(const View& view, const DescentProblem& p, Index* order, DescentSweep& sweep,
                  Index entries) {
    while (sweep.at < sweep.active && entries > 0) {
        const Index i = order[sweep.at];
        if (sweep.at + scalars_ahead < sweep.active) {
            const Index far = order[sweep.at + scalars_ahead];
            __builtin_prefetch(p.dual + far, 1);
            for (const double* of : {p.target, p.cost, p.norms}) __builtin_prefetch(of + far);
            view.fetch_place(far);
            view.fetch(order[sweep.at + entries_ahead]);
        }
        entries -= view.entries(i) + 1;
        if (descend_row<kind>(view, p, i, sweep)) std::swap(order[sweep.at], order[--sweep.active]);
        else ++sweep.at;
    }
}

// Goes on with an epoch over the first `active` rows of `order`, from row `at` on and as far as so
// many entries reach; an epoch that begins is put into random order first.
inline void descend(const Rows& rows, const DescentProblem& p, Index* order, DescentSweep& sweep,
                    Index entries, std::uint64_t seed) {
    if (sweep.at == 0) shuffle(order, sweep.active, seed);
    with_loss(p.kind, [&]<LossKind kind>() {
        if (rows.is_sparse() || rows.column_stride == 1) {
            visit_rows(rows, {0, rows.count, 0, 1}, 0, rows.count,
                       [&](const auto& view, Index, Index) {
                           descend_rows<kind>(view, p, order, sweep, entries);
                       });
            return;
        }
        for (; sweep.at < sweep.active && entries > 0; entries -= rows.features) {
            const Index i = order[sweep.at];  // Fortran order: each row is laid out by itself
            bool rests = false;
            visit_rows(rows, {i, i + 1, 0, 1}, i, i + 1, [&](const auto& view, Index, Index) {
                rests = descend_row<kind>(view, p, i, sweep);
            });
            if (rests) std::swap(order[sweep.at], order[--sweep.active]);
            else ++sweep.at;
        }
    });
}

}  // namespace widemargin::WM_ISA
