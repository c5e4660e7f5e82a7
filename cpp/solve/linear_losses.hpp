// The losses of linear machines: value, dual variable and curvature for every row, and along a ray.
// All sums are over pieces of fixed size joined in order, so that threads do not change them.
#pragma once
#include <algorithm>
#include <vector>

#include "math/elementary.hpp"
#include "math/parallel.hpp"
#include "solve/gradient.hpp"
#include "solve/linear_types.hpp"

namespace widemargin::WM_ISA {

constexpr Index samples_in_piece = 1 << 13;

// Everything about one loss at one output, for a cost of one.
struct Response {
    Vector<double> share, slope, rounded, loss, dual;
};

// log(1 + t) for 0 <= t <= 1, by the series of 2 atanh(t / (2 + t)).
inline Vector<double> log_one_plus(Vector<double> t) {
    const Vector<double> s = t / (2.0 + t), square = s * s;
    Vector<double> sum{};
    for (int k = 17; k >= 0; --k) sum = sum * square + 1.0 / (2 * k + 1);
    return 2.0 * s * sum;
}

inline Response logistic_response(Vector<double> output, Vector<double> target) {
    const Vector<double> margin = target * output;
    const Vector<double> small = exponential(-magnitude(margin));
    const Vector<double> far = small / (1.0 + small), near = 1.0 / (1.0 + small);
    const Vector<double> fall = margin > 0 ? far : near;  // minus the derivative by the margin
    const Vector<double> rest = margin > 0 ? near : far;
    const Vector<double> loss = log_one_plus(small) + larger(-margin, Vector<double>{});
    Response result;
    result.share = target * fall;
    result.slope = fall * rest;
    result.rounded = result.loss = loss;
    result.dual = loss + fall * margin;
    return result;
}

template <LossKind kind>
inline Response response(const LinearLoss& loss, Vector<double> output, Vector<double> target,
                         Vector<double> centre) {
    if constexpr (kind == LossKind::logistic) return logistic_response(output, target);
    constexpr bool squared =
        kind == LossKind::squared_hinge || kind == LossKind::squared_insensitive;
    constexpr bool two_sided =
        kind == LossKind::insensitive || kind == LossKind::squared_insensitive;
    constexpr bool one_class = kind == LossKind::one_class;
    constexpr double bend = squared ? 0.5 : 0.0, top = squared ? 1e300 : 1.0;
    const double steepness = 1.0 / std::max(bend + loss.width, 1e-290);
    const Vector<double> zero{}, one = broadcast(1.0);
    // Seen from the side on which the loss grows: side * (target - output), side * centre.
    const Vector<double> side = two_sided || one_class ? one : target;
    const Vector<double> short_of = one_class   ? -output
                                    : two_sided ? target - output
                                                : 1.0 - target * output;
    const Vector<double> from = side * centre;
    const Vector<double> pulled = short_of + loss.width * from;
    const Vector<double> size = two_sided ? magnitude(pulled) - loss.epsilon : pulled;
    const Vector<double> raw = larger(size, zero) * steepness;
    const Vector<double> most = smaller(raw, broadcast(top));
    const Vector<double> share = two_sided ? (pulled < 0 ? -most : most) : most;
    const Vector<double> excess =
        larger(two_sided ? magnitude(short_of) - loss.epsilon : short_of, zero);
    const Vector<double> taken =
        (two_sided ? loss.epsilon * most : zero) + 0.5 * bend * most * most;
    Response result;
    result.share = side * share;
    result.slope = (raw > 0) & (raw <= top) ? broadcast(steepness) : zero;
    result.rounded = share * short_of - taken - 0.5 * loss.width * (share - from) * (share - from);
    result.loss = squared ? excess * excess : excess;
    result.dual = (one_class ? zero : two_sided ? share * target : share) - taken;
    return result;
}

inline void store_some(double* to, Vector<double> values, Index count) {
    if (count >= lanes<double>) return store(to, values);
    for (Index lane = 0; lane < count; ++lane) to[lane] = values[lane];
}

template <LossKind kind>
LossSums respond_piece(const LinearLoss& loss, const LinearSamples& s, const double* output,
                       double* dual, double* curvature, Index from, Index to) {
    Vector<double> rounded{}, lost{}, conjugate{}, total{}, curved{};
    for (Index i = from; i < to; i += lanes<double>) {
        const Index count = to - i;
        const Vector<double> cost = load_some(s.cost + i, count);
        const Vector<double> centre = s.centre ? load_some(s.centre + i, count) : Vector<double>{};
        const Response at = response<kind>(loss, load_some(output + i, count),
                                           load_some(s.target + i, count), centre);
        const Vector<double> u = cost * at.share, bend = cost * at.slope;
        store_some(dual + i, u, count);
        store_some(curvature + i, bend, count);
        rounded += cost * at.rounded;
        lost += cost * at.loss;
        conjugate += cost * at.dual;
        total += u;
        curved += bend > 0 ? broadcast(1.0) : Vector<double>{};
    }
    return {sum_of_lanes<double>(rounded), sum_of_lanes<double>(lost),
            sum_of_lanes<double>(conjugate), sum_of_lanes<double>(total),
            Index(sum_of_lanes<double>(curved))};
}

template <LossKind kind>
RayPoint ray_piece(const LinearLoss& loss, const LinearSamples& s, const double* output,
                   const double* move, double length, Index from, Index to) {
    Vector<double> value{}, slope{}, curvature{};
    for (Index i = from; i < to; i += lanes<double>) {
        const Index count = to - i;
        const Vector<double> cost = load_some(s.cost + i, count);
        const Vector<double> centre = s.centre ? load_some(s.centre + i, count) : Vector<double>{};
        const Vector<double> step = load_some(move + i, count);
        const Response at = response<kind>(loss, load_some(output + i, count) + length * step,
                                           load_some(s.target + i, count), centre);
        value += cost * at.rounded;
        slope -= cost * at.share * step;
        curvature += cost * at.slope * step * step;
    }
    return {sum_of_lanes<double>(value), sum_of_lanes<double>(slope),
            sum_of_lanes<double>(curvature)};
}

// Calls work.operator()<kind>() for the loss at hand.
template <class Work>
decltype(auto) with_loss(LossKind kind, Work&& work) {
    switch (kind) {
        case LossKind::hinge:
            return work.template operator()<LossKind::hinge>();
        case LossKind::squared_hinge:
            return work.template operator()<LossKind::squared_hinge>();
        case LossKind::logistic:
            return work.template operator()<LossKind::logistic>();
        case LossKind::insensitive:
            return work.template operator()<LossKind::insensitive>();
        case LossKind::squared_insensitive:
            return work.template operator()<LossKind::squared_insensitive>();
        default:
            return work.template operator()<LossKind::one_class>();
    }
}

inline LossSums respond(const LinearLoss& loss, const LinearSamples& s, const double* output,
                        double* dual, double* curvature, int threads) {
    const Index pieces = (s.count + samples_in_piece - 1) / samples_in_piece;
    std::vector<LossSums> parts(static_cast<std::size_t>(pieces));
    parallel(pieces, threads, [&](Index piece, int) {
        const Index from = piece * samples_in_piece;
        const Index to = std::min(from + samples_in_piece, s.count);
        parts[std::size_t(piece)] = with_loss(loss.kind, [&]<LossKind kind>() {
            return respond_piece<kind>(loss, s, output, dual, curvature, from, to);
        });
    });
    LossSums sums;
    for (const LossSums& part : parts) {
        sums.rounded += part.rounded;
        sums.loss += part.loss;
        sums.dual += part.dual;
        sums.total += part.total;
        sums.curved += part.curved;
    }
    return sums;
}

inline RayPoint along_ray(const LinearLoss& loss, const LinearSamples& s, const double* output,
                          const double* move, double length, int threads) {
    const Index pieces = (s.count + samples_in_piece - 1) / samples_in_piece;
    std::vector<RayPoint> parts(static_cast<std::size_t>(pieces));
    parallel(pieces, threads, [&](Index piece, int) {
        const Index from = piece * samples_in_piece;
        const Index to = std::min(from + samples_in_piece, s.count);
        parts[std::size_t(piece)] = with_loss(loss.kind, [&]<LossKind kind>() {
            return ray_piece<kind>(loss, s, output, move, length, from, to);
        });
    });
    RayPoint point;
    for (const RayPoint& part : parts) {
        point.value += part.value;
        point.slope += part.slope;
        point.curvature += part.curvature;
    }
    return point;
}

}  // namespace widemargin::WM_ISA
