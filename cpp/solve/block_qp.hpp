// The quadratic program of one block, solved by sequential minimal optimisation in cache.
//   minimise   1/2 d' K d + g' d   over the moves d of the block's variables,
//   subject to lower <= x + d <= upper and the sum of the moves of each group being zero.
// Step: i is the variable of smallest gradient that may rise, j the one that may fall for which the
// pair promises the largest decrease (second-order choice); the pair moves to its minimum.
// Stop: in no group does a fallible gradient exceed a risible one by more than the tolerance.
// Reference: R.-E. Fan, P.-H. Chen, C.-J. Lin, Working set selection using second order information
// for training SVM, JMLR 6 (2005). Differences: the two selections and the update are vector code,
// and the update of the gradient finds the next i in the same pass.
#pragma once
#include <cmath>
#include <limits>

#include "math/simd.hpp"
#include "solve/block_types.hpp"

namespace widemargin::WM_ISA {

template <class T>
class BlockSolver {
  public:
    explicit BlockSolver(const BlockProblem<T>& problem) : p(problem) {
        for (int g = 0; g < p.groups; ++g)
            for (Index t = 0; t < p.padded; ++t) refresh_limits(g, t);
    }

    BlockResult run(double tolerance, Index limit) {
        BlockResult result;
        Extremes best[2];
        for (int g = 0; g < p.groups; ++g) best[g] = scan(g);
        while (true) {
            const int g = worst(best);
            result.violation = std::max(0.0, double(best[g].highest) - double(best[g].lowest));
            if (!(result.violation > tolerance) || result.iterations >= limit) return result;
            const Index i = best[g].lowest_at, j = partner(g, i, best[g].lowest);
            if (j < 0) return result;
            move_pair(i, j, g, result);
            ++result.iterations;
            for (int other = 0; other < p.groups; ++other)
                if (other != g) best[other] = scan(other);
            best[g] = updated;
        }
    }

  private:
    static constexpr int W = lanes<T>;
    static constexpr T infinity = std::numeric_limits<T>::infinity();

    struct Extremes {
        T lowest;   // smallest gradient among those that may rise
        T highest;  // largest gradient among those that may fall
        Index lowest_at;
    };

    const BlockProblem<T>& p;
    Extremes updated{};

    // The limits are 0 where a variable may move and an infinity where it may not, so that adding
    // them to the gradient takes a variable out of the search.
    T* rise_limit(int g) const { return p.limits + (2 * g) * p.padded; }
    T* fall_limit(int g) const { return p.limits + (2 * g + 1) * p.padded; }

    void refresh_limits(int g, Index t) {
        const bool member = t < p.size && p.group[t] == g;
        rise_limit(g)[t] = member && p.x[t] < p.upper[t] ? T(0) : infinity;
        fall_limit(g)[t] = member && p.x[t] > p.lower[t] ? T(0) : -infinity;
    }

    int worst(const Extremes (&best)[2]) const {
        if (p.groups == 1) return 0;
        return best[1].highest - best[1].lowest > best[0].highest - best[0].lowest;
    }

    struct Search {
        Vector<T> lowest = broadcast(infinity), highest = broadcast(-infinity);
        Integers<T> lowest_at{}, at = lane_numbers<T>();
        void see(Vector<T> gradient, Vector<T> rise, Vector<T> fall) {
            const Vector<T> low = gradient + rise;
            const auto less = low < lowest;
            lowest = less ? low : lowest;
            lowest_at = less ? at : lowest_at;
            highest = larger(highest, gradient + fall);
            at += W;
        }
        Extremes result() const {
            Extremes e{lowest[0], highest[0], Index(lowest_at[0])};
            for (int lane = 1; lane < W; ++lane) {
                const T low = lowest[lane];
                if (low < e.lowest || (low == e.lowest && lowest_at[lane] < e.lowest_at)) {
                    e.lowest = low;
                    e.lowest_at = lowest_at[lane];
                }
                if (highest[lane] > e.highest) e.highest = highest[lane];
            }
            return e;
        }
    };

    Extremes scan(int g) const {
        Search search;
        for (Index t = 0; t < p.padded; t += W)
            search.see(load(p.gradient + t), load(rise_limit(g) + t), load(fall_limit(g) + t));
        return search.result();
    }

    // The best partner to fall while i rises: the largest (difference^2 / curvature).
    Index partner(int g, Index i, T gradient_i) const {
        const T* row = p.kernel + i * p.padded;
        const T* fall = fall_limit(g);
        Vector<T> best = broadcast(T(-1));
        Integers<T> best_at{}, at = lane_numbers<T>();
        for (Index t = 0; t < p.padded; t += W, at += W) {
            const Vector<T> difference = load(p.gradient + t) + load(fall + t) - gradient_i;
            const Vector<T> curvature = load(p.diagonal + t) + p.diagonal[i] - 2 * load(row + t);
            const Vector<T> gain =
                difference * difference / larger(curvature, broadcast(T(least_curvature)));
            const Vector<T> usable = difference > 0 ? gain : broadcast(T(-1));
            const auto better = usable > best;
            best = better ? usable : best;
            best_at = better ? at : best_at;
        }
        T top = T(-1);
        Index top_at = -1;
        for (int lane = 0; lane < W; ++lane)
            if (best[lane] > top || (best[lane] == top && top >= 0 && best_at[lane] < top_at)) {
                top = best[lane];
                top_at = best_at[lane];
            }
        return top_at;
    }

    void move_pair(Index i, Index j, int g, BlockResult& result) {
        const T* row_i = p.kernel + i * p.padded;
        const double curvature =
            double(p.diagonal[i]) + double(p.diagonal[j]) - 2.0 * double(row_i[j]);
        if (curvature < -1e-6 * std::abs(double(p.diagonal[i]))) result.negative_curvature = true;
        double step =
            (double(p.gradient[j]) - double(p.gradient[i])) / std::max(curvature, least_curvature);
        const double room_i = p.upper[i] - p.x[i], room_j = p.x[j] - p.lower[j];
        step = std::min(step, std::min(room_i, room_j));
        p.x[i] = step == room_i ? p.upper[i] : p.x[i] + step;
        p.x[j] = step == room_j ? p.lower[j] : p.x[j] - step;
        refresh_limits(g, i);
        refresh_limits(g, j);
        const T* row_j = p.kernel + j * p.padded;
        const Vector<T> by = broadcast(T(step));
        Search search;
        for (Index t = 0; t < p.padded; t += W) {
            const Vector<T> moved = load(p.gradient + t) + by * (load(row_i + t) - load(row_j + t));
            store(p.gradient + t, moved);
            search.see(moved, load(rise_limit(g) + t), load(fall_limit(g) + t));
        }
        updated = search.result();
    }
};

}  // namespace widemargin::WM_ISA
