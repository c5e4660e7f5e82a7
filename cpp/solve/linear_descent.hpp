// Dual coordinate descent: one row after the other moves its dual variable to its own optimum,
//   maximise (t - f)(v - u) - epsilon |v| - bend / 2 v^2 - 1/2 Q (v - u)^2  over its bounds,
// and w and b follow at once. Q = ||x||^2 / l2 + 1 / bias_l2.
// Papers: C.-J. Hsieh et al., A dual coordinate descent method for large-scale linear SVM, ICML
// 2008; C.-H. Ho, C.-J. Lin, Large-scale linear support vector regression, JMLR 13 (2012); H.-F. Yu
// et al., Dual coordinate descent methods for logistic regression, Mach. Learn. 85 (2011).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/linear_losses.hpp"
#include "solve/linear_quadratic.hpp"
#include "solve/linear_rows.hpp"

namespace widemargin::WM_ISA {

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

template <LossKind kind, class View>
double descend_rows(const View& view, const DescentProblem& p, const Index* order, Index count) {
    double worst = 0;
    for (Index at = 0; at < count; ++at) {
        const Index i = order[at];
        const double cost = p.cost[i], curvature = p.norms[i] / p.l2 + p.bias_reach;
        if (cost <= 0) continue;
        const double output = view.dot(i, p.weights) + *p.bias;
        const RowStep step =
            row_step<kind>(p.epsilon, p.target[i], cost, output, p.dual[i], curvature);
        worst = std::max(worst, step.violation);
        p.resting[i] = step.violation < -p.safety;
        const double change = step.to - p.dual[i];
        if (change == 0 || !std::isfinite(change)) continue;
        p.dual[i] = step.to;
        view.add(i, change / p.l2, p.weights);
        *p.bias += change * p.bias_reach;
    }
    return worst;
}

// Visits the rows in the given order; returns the largest violation met.
inline double descend(const Rows& rows, const DescentProblem& p, const Index* order, Index count) {
    double worst = 0;
    const auto visit = [&](const auto& view, Index, Index) {
        worst = with_loss(
            p.kind, [&]<LossKind kind>() { return descend_rows<kind>(view, p, order, count); });
    };
    if (rows.is_sparse() || rows.column_stride == 1) {
        visit_rows(rows, {0, rows.count, 0, 1}, 0, rows.count, visit);
        return worst;
    }
    for (Index at = 0; at < count; ++at) {  // Fortran order: each row is laid out by itself
        const double before = worst;
        const Index i = order[at];
        visit_rows(rows, {i, i + 1, 0, 1}, i, i + 1, [&](const auto& view, Index, Index) {
            worst = with_loss(p.kind, [&]<LossKind kind>() {
                return descend_rows<kind>(view, p, order + at, 1);
            });
        });
        worst = std::max(worst, before);
    }
    return worst;
}

}  // namespace widemargin::WM_ISA
