// Loops over all variables of a machine: optimality, duality gap, and the update of the outputs.
// All are cut into pieces of fixed size whose results are joined in order, so that the outcome does
// not depend on the number of threads.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "solve/box_problem.hpp"
#include "solve/kernel_rows.hpp"

namespace widemargin::WM_ISA {

constexpr Index piece_of_variables = 1 << 17;

struct ReachSearch {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    Vector<double> lowest = broadcast(infinity), highest = broadcast(-infinity);
    Vector<double> free_sum{}, free_count{};

    void see(Vector<double> gradient, Vector<double> x, Vector<double> lower, Vector<double> upper,
             Integers<double> member) {
        const auto may_rise = (x < upper) & member, may_fall = (x > lower) & member;
        lowest = smaller(lowest, may_rise ? gradient : broadcast(infinity));
        highest = larger(highest, may_fall ? gradient : broadcast(-infinity));
        const auto free = may_rise & may_fall;
        free_sum += free ? gradient : Vector<double>{};
        free_count += free ? broadcast(1.0) : Vector<double>{};
    }
};

inline void join(Reach& total, const Reach& part) {
    total.lowest_rising = std::min(total.lowest_rising, part.lowest_rising);
    total.highest_falling = std::max(total.highest_falling, part.highest_falling);
    total.free_sum += part.free_sum;
    total.free_count += part.free_count;
}

// Loads lane by lane at the ragged end, whole vectors elsewhere.
inline Vector<double> load_some(const double* from, Index count) {
    if (count >= lanes<double>) return load(from);
    Vector<double> v{};
    for (Index lane = 0; lane < count; ++lane) v[lane] = from[lane];
    return v;
}

inline Integers<double> members(const BoxProblem& p, int group, Index t, Index count) {
    Integers<double> mask{};
    if (count >= lanes<double> && p.groups == 1) return ~mask;
    for (Index lane = 0; lane < std::min<Index>(count, lanes<double>); ++lane)
        mask[lane] = p.group[t + lane] == group ? -1 : 0;
    return mask;
}

inline Reach reach_of_piece(const BoxProblem& p, int group, Index side, Index from, Index to) {
    ReachSearch search;
    for (Index i = from; i < to; i += lanes<double>) {
        const Index t = side * p.rows + i, count = to - i;
        search.see(load_some(p.output + i, count) + load_some(p.linear + t, count),
                   load_some(p.x + t, count), load_some(p.lower + t, count),
                   load_some(p.upper + t, count), members(p, group, t, count));
    }
    Reach reach{search.lowest[0], search.highest[0], 0, 0};
    for (int lane = 0; lane < lanes<double>; ++lane)
        join(reach, {search.lowest[lane], search.highest[lane], search.free_sum[lane],
                     Index(search.free_count[lane])});
    return reach;
}

inline void reach(const BoxProblem& p, Reach* result, int threads) {
    const Index pieces = (p.rows + piece_of_variables - 1) / piece_of_variables;
    std::vector<Reach> parts(std::size_t(pieces * p.sides * p.groups));
    const Index total = Index(parts.size());
    parallel(total, threads, [&](Index part, int) {
        const Index piece = part / (p.sides * p.groups), rest = part % (p.sides * p.groups);
        const Index from = piece * piece_of_variables;
        parts[part] = reach_of_piece(p, int(rest % p.groups), rest / p.groups, from,
                                     std::min(from + piece_of_variables, p.rows));
    });
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (int g = 0; g < p.groups; ++g) result[g] = {infinity, -infinity, 0, 0};
    for (Index part = 0; part < total; ++part) join(result[part % p.groups], parts[part]);
}

// The sums behind the objectives, for given multipliers of the groups. The gap is the sum over
// variables of the larger of (x - lower) r and (x - upper) r with r = gradient + multiplier; every
// term is at least zero, so nothing cancels.
inline void add_sums(const BoxProblem& p, int group, double multiplier, Index side, Index from,
                     Index to, Sums& sums) {
    Vector<double> gap{}, quadratic{}, linear{};
    for (Index i = from; i < to; i += lanes<double>) {
        const Index t = side * p.rows + i, count = to - i;
        const Vector<double> output = load_some(p.output + i, count);
        const Vector<double> linear_term = load_some(p.linear + t, count);
        const Vector<double> x = load_some(p.x + t, count);
        const Vector<double> r = output + linear_term + multiplier;
        const Vector<double> below = x - load_some(p.lower + t, count);
        const Vector<double> above = x - load_some(p.upper + t, count);
        const Vector<double> room = r > 0 ? below : above;
        const auto member = members(p, group, t, count);
        const auto counts = (r != 0) & (room != 0) & member;
        gap += counts ? room * r : Vector<double>{};
        quadratic += member ? x * output : Vector<double>{};
        linear += member ? x * linear_term : Vector<double>{};
    }
    sums.gap += sum_of_lanes<double>(gap);
    sums.quadratic += sum_of_lanes<double>(quadratic);
    sums.linear += sum_of_lanes<double>(linear);
}

inline Sums sums(const BoxProblem& p, const double* multipliers, int threads) {
    const Index pieces = (p.rows + piece_of_variables - 1) / piece_of_variables;
    std::vector<Sums> parts(static_cast<std::size_t>(pieces));
    parallel(pieces, threads, [&](Index piece, int) {
        const Index from = piece * piece_of_variables;
        const Index to = std::min(from + piece_of_variables, p.rows);
        for (int g = 0; g < p.groups; ++g)
            for (Index side = 0; side < p.sides; ++side)
                add_sums(p, g, multipliers[g], side, from, to, parts[std::size_t(piece)]);
    });
    Sums total;
    for (const Sums& part : parts) {
        total.gap += part.gap;
        total.quadratic += part.quadratic;
        total.linear += part.linear;
    }
    return total;
}

// outputs[j] += sum over block rows b of moves[b] * kernel[b][j].
template <class T>
void apply_rows(double* outputs, Index columns, const T* const* kernel, const double* moves,
                Index rows, int threads) {
    constexpr Index piece = 2048;
    const Index pieces = (columns + piece - 1) / piece;
    parallel(pieces, threads, [&](Index p, int) {
        const Index from = p * piece, to = std::min(from + piece, columns);
        Index b = 0;
        for (; b + 4 <= rows; b += 4) {
            const T *r0 = kernel[b], *r1 = kernel[b + 1], *r2 = kernel[b + 2], *r3 = kernel[b + 3];
            const double m0 = moves[b], m1 = moves[b + 1], m2 = moves[b + 2], m3 = moves[b + 3];
            Index j = from;
            for (; j + lanes<double> <= to; j += lanes<double>)
                store(outputs + j, (load(outputs + j) + m0 * load_as_double(r0 + j)) +
                                       m1 * load_as_double(r1 + j) + m2 * load_as_double(r2 + j) +
                                       m3 * load_as_double(r3 + j));
            for (; j < to; ++j)
                outputs[j] += m0 * double(r0[j]) + m1 * double(r1[j]) + m2 * double(r2[j]) +
                              m3 * double(r3[j]);
        }
        for (; b < rows; ++b)
            for (Index j = from; j < to; ++j) outputs[j] += moves[b] * double(kernel[b][j]);
    });
}

}  // namespace widemargin::WM_ISA
