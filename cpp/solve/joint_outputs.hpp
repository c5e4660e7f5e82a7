// Loops over all rows and classes of a joint machine: optimality, duality gap, and the update of
// the outputs. Cut into pieces of fixed size, so that no result depends on the number of threads.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "solve/gradient.hpp"
#include "solve/joint_types.hpp"

namespace widemargin::WM_ISA {

// With g = output + [k != y], u = C [k = y] and M = max_k g_ik, row i adds to the gap
//   C_i (M - g_iy) + sum_k a_ik g_ik = sum_k (u_ik - a_ik) (M - g_ik) >= 0,
// its loss and its share of the dual, for its coefficients sum to zero: nothing cancels.
struct JointRows {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    Vector<double> highest = broadcast(-infinity), lowest = broadcast(infinity);
    Vector<double> quadratic{}, linear{};
    const JointProblem& p;
    Index first, count;
    Integers<double> label{};
    Vector<double> cost;

    JointRows(const JointProblem& problem, Index first, Index count)
        : p(problem), first(first), count(count), cost(load_some(problem.cost + first, count)) {
        for (Index lane = 0; lane < std::min<Index>(count, lanes<double>); ++lane)
            label[lane] = p.label[first + lane];
    }

    template <class Visit>
    void for_each_class(Visit&& visit) const {
        for (Index k = 0; k < p.classes; ++k) {
            const Index from = k * p.rows + first;
            const auto own = label == k;
            const Vector<double> output = load_some(p.outputs + from, count);
            const Vector<double> a = load_some(p.a + from, count);
            visit(output, own ? Vector<double>{} : broadcast(1.0), a,
                  own ? cost : Vector<double>{});
        }
    }

    void search() {
        for_each_class([&](auto output, auto linear_term, auto a, auto upper) {
            const Vector<double> g = output + linear_term;
            highest = larger(highest, g);
            lowest = smaller(lowest, a < upper ? g : broadcast(infinity));
            quadratic += a * output;
            linear += a * linear_term;
        });
    }

    Vector<double> gap() const {
        Vector<double> total{};
        for_each_class([&](auto output, auto linear_term, auto a, auto upper) {
            const Vector<double> room = upper - a, below = highest - (output + linear_term);
            total += room != 0 ? room * below : Vector<double>{};
        });
        return total;
    }
};

inline JointSums measure_joint_piece(const JointProblem& p, Index from, Index to,
                                     double* violations) {
    Vector<double> gap{}, quadratic{}, linear{};
    double worst = 0;
    for (Index i = from; i < to; i += lanes<double>) {
        JointRows rows(p, i, to - i);
        rows.search();
        gap += rows.gap();
        quadratic += rows.quadratic;
        linear += rows.linear;
        for (Index lane = 0; lane < std::min<Index>(to - i, lanes<double>); ++lane) {
            violations[i + lane] = std::max(0.0, rows.highest[lane] - rows.lowest[lane]);
            worst = std::max(worst, violations[i + lane]);
        }
    }
    return {sum_of_lanes<double>(gap), sum_of_lanes<double>(quadratic),
            sum_of_lanes<double>(linear), worst};
}

inline JointSums measure_joint(const JointProblem& p, double* violations, int threads) {
    constexpr Index piece = 4096;
    const Index pieces = (p.rows + piece - 1) / piece;
    std::vector<JointSums> parts(static_cast<std::size_t>(pieces));
    parallel(pieces, threads, [&](Index part, int) {
        parts[std::size_t(part)] =
            measure_joint_piece(p, part * piece, std::min((part + 1) * piece, p.rows), violations);
    });
    JointSums total;
    for (const JointSums& part : parts) {
        total.gap += part.gap;
        total.quadratic += part.quadratic;
        total.linear += part.linear;
        total.violation = std::max(total.violation, part.violation);
    }
    return total;
}

// outputs[k][j] += sum over block rows b of moves[k][b] * kernel[b][j]. By pieces of columns that
// stay in cache while the classes take turns; most moves are zero and cost nothing.
template <class T>
void apply_joint(double* outputs, Index columns, Index classes, const T* const* kernel,
                 const double* moves, Index rows, int threads) {
    constexpr Index piece = 256;
    parallel((columns + piece - 1) / piece, threads, [&](Index part, int) {
        const Index from = part * piece, count = std::min(piece, columns - from);
        std::vector<const T*> moved;
        std::vector<double> by;
        for (Index k = 0; k < classes; ++k) {
            moved.clear();
            by.clear();
            for (Index b = 0; b < rows; ++b) {
                if (moves[k * rows + b] == 0) continue;
                moved.push_back(kernel[b] + from);
                by.push_back(moves[k * rows + b]);
            }
            apply_rows(outputs + k * columns + from, count, moved.data(), by.data(),
                       Index(moved.size()), 1);
        }
    });
}

}  // namespace widemargin::WM_ISA
