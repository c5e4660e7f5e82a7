// One block of the joint multiclass machine, solved row by row in cache; see joint_types.hpp.
//   minimise 1/2 sum_k d_k' K d_k + sum_k g_k' d_k over the moves d of the block's coefficients a.
// Row i may lower any a_ik and raise those below their bound u_ik = C_i [k = y_i]. So it is optimal
// if no gradient exceeds that of a coefficient which may rise:
//   violation of row i = max_k g_ik - min {g_ik : a_ik < u_ik}.
// Step: the row of largest violation moves to its minimum. In v_k = u_k - a_k >= 0, whose sum is
// C_i, that is the point of the simplex nearest to v + g / K_ii: v_k = max(0, z_k - threshold).
// Stop: no violation exceeds the tolerance.
// Reference: K. Crammer, Y. Singer, On the algorithmic implementation of multiclass kernel-based
// vector machines, JMLR 2 (2001). Differences: the update of the gradients is vector code and finds
// the next row in the same pass; the threshold is found with a heap, for few classes take part.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "math/simd.hpp"
#include "solve/block_types.hpp"
#include "solve/joint_types.hpp"
#include "solve/panels.hpp"

namespace widemargin::WM_ISA {

// The minimum of one row's problem; works in place on the row's coefficients.
class RowProjection {
  public:
    explicit RowProjection(Index classes) : order(std::size_t(classes)), z(std::size_t(classes)) {}

    // g: gradient at a; on return a is the minimum. The sum of a stays zero to the last bit that
    // adding it up can tell, since the label's coefficient is minus the sum of the others.
    void solve(double curvature, Index label, double cost, const std::vector<double>& g,
               std::vector<double>& a) {
        const Index classes = Index(a.size());
        const double top = *std::max_element(g.begin(), g.end());
        for (Index k = 0; k < classes; ++k) {
            z[k] = (g[k] - top) / curvature - a[k];  // the label's lacks C, see threshold()
            order[k] = {k == label ? z[k] + cost : z[k], k};
        }
        const auto [level, label_at_bound] = threshold(label, cost);
        double others = 0;
        for (Index k = 0; k < classes; ++k) {
            if (k == label) continue;
            a[k] = std::min(0.0, level - z[k]);
            others -= a[k];
        }
        a[label] = label_at_bound ? cost : std::min(others, cost);
    }

  private:
    std::vector<std::pair<double, Index>> order;
    std::vector<double> z;

    // The classes enter in falling order of z until the next one lies below the threshold, which
    // solves sum (z_k - threshold) = C over those that entered. C cancels once the label is in, and
    // is left out then: it may be so large that the rest would be lost in its rounding.
    std::pair<double, bool> threshold(Index label, double cost) {
        auto end = order.end();
        std::make_heap(order.begin(), end);
        double level = 0, sum = -cost;
        bool label_at_bound = true;
        double others = 0;
        for (Index entered = 0; end != order.begin();) {
            const auto [value, k] = order.front();
            if (entered > 0 && value <= level) break;
            if (k == label) label_at_bound = false;
            else others += z[k];
            sum = others + (label_at_bound ? -cost : z[label]);
            level = sum / double(++entered);
            std::pop_heap(order.begin(), end--);
        }
        return {level, label_at_bound};
    }
};

template <class T>
class JointBlockSolver {
  public:
    explicit JointBlockSolver(const JointBlock<T>& problem)
        : p(problem),
          gradient(std::size_t(problem.padded * problem.classes)),
          limits(std::size_t(problem.padded * problem.classes)),
          projection(problem.classes),
          g(std::size_t(problem.classes)),
          a(std::size_t(problem.classes)) {
        std::fill(gradient.data(), gradient.data() + gradient.size(), T(0));
        std::fill(limits.data(), limits.data() + limits.size(), infinity);
        for (Index i = 0; i < p.size; ++i) {
            // Only differences within a row matter; small numbers keep more digits.
            double top = p.gradient[i];
            for (Index k = 1; k < p.classes; ++k) top = std::max(top, p.gradient[k * p.size + i]);
            for (Index k = 0; k < p.classes; ++k)
                gradient[at(k, i)] = T(p.gradient[k * p.size + i] - top);
            refresh_limits(i);
        }
    }

    BlockResult run(double tolerance, Index limit) {
        BlockResult result;
        Worst worst = update(0);  // no class moves: a mere search
        while (true) {
            result.violation = std::max(0.0, double(worst.violation));
            if (!(result.violation > tolerance) || result.iterations >= limit) return result;
            if (!move(worst.row)) return result;
            ++result.iterations;
            worst = update(worst.row);
        }
    }

  private:
    static constexpr int W = lanes<T>;
    static constexpr T infinity = std::numeric_limits<T>::infinity();

    struct Worst {
        T violation;
        Index row;
    };
    struct Move {
        Index offset;  // of the class within a group of rows
        T by;
    };

    const JointBlock<T>& p;
    // Rows in groups of W, one vector for each class of a group. The limits are 0 where a
    // coefficient may rise and infinite elsewhere, which takes it out of the search for the least.
    Buffer<T> gradient, limits;
    RowProjection projection;
    std::vector<double> g, a;  // of the row that moves
    std::vector<Move> moves;

    Index at(Index k, Index i) const { return (i / W * p.classes + k) * W + i % W; }

    void refresh_limits(Index i) {
        for (Index k = 0; k < p.classes; ++k) {
            const double upper = k == p.label[i] ? p.cost[i] : 0.0;
            limits[at(k, i)] = p.a[k * p.size + i] < upper ? T(0) : infinity;
        }
    }

    // Moves row i to its minimum; false if rounding leaves nothing to move.
    bool move(Index i) {
        for (Index k = 0; k < p.classes; ++k) {
            g[k] = double(gradient[at(k, i)]);
            a[k] = p.a[k * p.size + i];
        }
        projection.solve(std::max(p.diagonal[i], least_curvature), p.label[i], p.cost[i], g, a);
        moves.clear();
        for (Index k = 0; k < p.classes; ++k) {
            double& current = p.a[k * p.size + i];
            if (a[k] != current) moves.push_back({k * W, T(a[k] - current)});
            current = a[k];
        }
        refresh_limits(i);
        return !moves.empty();
    }

    // Adds the moves of row i to all gradients and finds the row of largest violation.
    Worst update(Index i) {
        const T* kernel = p.kernel + i * p.padded;
        Vector<T> worst = broadcast(-infinity);
        Integers<T> worst_at{}, row = lane_numbers<T>();
        for (Index first = 0; first < p.padded; first += W, row += W) {
            T* group = gradient.data() + first * p.classes;
            const T* limit = limits.data() + first * p.classes;
            const Vector<T> values = load(kernel + first);
            for (const Move& m : moves)
                store(group + m.offset, load(group + m.offset) + m.by * values);
            Vector<T> highest = broadcast(-infinity), lowest = broadcast(infinity);
            for (Index k = 0; k < p.classes; ++k) {
                const Vector<T> now = load(group + k * W);
                highest = larger(highest, now);
                lowest = smaller(lowest, now + load(limit + k * W));
            }
            const Vector<T> violation = highest - lowest;
            const auto more = violation > worst;
            worst = more ? violation : worst;
            worst_at = more ? row : worst_at;
        }
        Worst result{worst[0], Index(worst_at[0])};
        for (int lane = 1; lane < W; ++lane)
            if (worst[lane] > result.violation ||
                (worst[lane] == result.violation && worst_at[lane] < result.row))
                result = {worst[lane], Index(worst_at[lane])};
        return result;
    }
};

}  // namespace widemargin::WM_ISA
