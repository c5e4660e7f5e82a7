// What a certificate says about the rows: for outputs f and dual variables of which p is the share
// of the cost, the sums of cost loss(f) and of cost (p t - conjugate(p)), and how far any output is
// from one at which p is a (sub)derivative of the loss. Written row by row, apart from the solvers.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "math/parallel.hpp"
#include "solve/linear_losses.hpp"

namespace widemargin::WM_ISA {

constexpr double at_bound = 1e-9;  // so near its bound a dual variable counts as being there

// How far a shortfall is from the kink at zero, unless p is at the bound of its side.
inline double off_kink(double shortfall, double share) {
    if (shortfall > 0) return share < 1 - at_bound ? shortfall : 0.0;
    return share > at_bound ? -shortfall : 0.0;
}

template <LossKind kind>
inline Judgement judge_row(double epsilon, double target, double output, double share) {
    constexpr bool squared =
        kind == LossKind::squared_hinge || kind == LossKind::squared_insensitive;
    if constexpr (kind == LossKind::logistic) {
        const double margin = target * output, a = target * share,
                     small = std::exp(-std::abs(margin));
        const double error = (margin > 0 ? small : 1.0) / (1.0 + small);
        const double entropy = a > 0 && a < 1 ? -(a * std::log(a) + (1 - a) * std::log1p(-a)) : 0.0;
        return {std::max(0.0, -margin) + std::log1p(small), entropy, std::abs(error - a)};
    }
    if constexpr (kind == LossKind::insensitive || kind == LossKind::squared_insensitive) {
        const double deviation = target - output, size = std::abs(share);
        const double out = std::max(0.0, std::abs(deviation) - epsilon);
        const double dual = share * target - epsilon * size;
        if constexpr (squared) {
            const double wanted = deviation < 0 ? -out : out;
            return {out * out, dual - 0.25 * share * share, std::abs(wanted - 0.5 * share)};
        }
        const double side = share < 0 ? -1.0 : 1.0;
        return {out, dual, size <= at_bound ? out : off_kink(side * deviation - epsilon, size)};
    }
    if constexpr (kind == LossKind::one_class)
        return {std::max(0.0, -output), 0.0, off_kink(-output, share)};
    const double shortfall = 1.0 - target * output, a = target * share;
    const double excess = std::max(0.0, shortfall);
    if constexpr (squared) return {excess * excess, a - 0.25 * a * a, std::abs(excess - 0.5 * a)};
    return {excess, a, off_kink(shortfall, a)};
}

inline Judgement judge(const LinearLoss& loss, const LinearSamples& s, const double* output,
                       const double* share, int threads) {
    const Index pieces = (s.count + samples_in_piece - 1) / samples_in_piece;
    std::vector<Judgement> parts(static_cast<std::size_t>(pieces));
    parallel(pieces, threads, [&](Index piece, int) {
        const Index from = piece * samples_in_piece;
        const Index to = std::min(from + samples_in_piece, s.count);
        with_loss(loss.kind, [&]<LossKind kind>() {
            Judgement sum;
            for (Index i = from; i < to; ++i) {
                const double cost = s.cost[i];
                if (cost <= 0) continue;
                const Judgement row =
                    judge_row<kind>(loss.epsilon, s.target[i], output[i], share[i]);
                sum.loss += cost * row.loss;
                sum.dual += cost * row.dual;
                sum.violation = std::max(sum.violation, row.violation);
            }
            parts[std::size_t(piece)] = sum;
        });
    });
    Judgement whole;
    for (const Judgement& part : parts) {
        whole.loss += part.loss;
        whole.dual += part.dual;
        whole.violation = std::max(whole.violation, part.violation);
    }
    return whole;
}

}  // namespace widemargin::WM_ISA
