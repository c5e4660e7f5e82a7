// The certificate of a point, in float64; the formulas are derived in backends/cpu/certificate.py.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "solve/hot.hpp"
#include "solve/weighted_quantile.hpp"

namespace widemargin {

struct Certificate {
    Sums sums;
    double violation = 0;
    struct Multiplier {
        double value, low, high;  // and the ends between which the optimal one lies
    } multiplier[2];
};

// The weighted quantile of one group: where in its points the gap is least.
class Pile {
  public:
    Pile(const BoxProblem& problem, int group) : p(problem) {
        for (Index t = 0; t < p.variables(); ++t) {
            if (p.group[t] != group) continue;
            members.push_back(t);
            width.push_back(p.upper[t] - p.lower[t]);
            total += width.back();
            slope -= p.upper[t] - p.x[t];
        }
        points.resize(members.size());
    }

    // The ends of the interval of multipliers that minimise the gap if each output is moved by
    // `sign` times its reach.
    std::pair<double, double> best(double sign, const double* reach) {
        for (std::size_t k = 0; k < members.size(); ++k) {
            points[k] = -p.gradient(members[k]);
            if (sign != 0) points[k] += sign * reach[members[k] % p.rows];
        }
        return weighted_quantile(points.data(), width.data(), Index(points.size()), slope,
                                 1e-12 * std::max(total, 1e-300));
    }

  private:
    const BoxProblem& p;
    std::vector<Index> members;
    std::vector<double> width, points;
    double total = 0, slope = 0;
};

// diagonal[i] = k(z_i, z_i) of each row.
inline Certificate certify(const BoxProblem& p, const double* diagonal, int threads) {
    Certificate found;
    Reach reaches[2];
    hot().reach(p, reaches, threads);
    std::vector<Pile> piles;
    double multipliers[2] = {0, 0};
    for (int g = 0; g < p.groups; ++g) {
        const Reach& r = reaches[g];
        found.violation = std::max(found.violation, r.highest_falling - r.lowest_rising);
        const auto [low, high] = piles.emplace_back(p, g).best(0, nullptr);
        const double inside =
            r.free_count ? -r.free_sum / double(r.free_count) : 0.5 * (low + high);
        multipliers[g] = std::min(std::max(inside, low), high);
    }
    found.sums = hot().sums(p, multipliers, threads);
    std::vector<double> reach(static_cast<std::size_t>(p.rows));
    for (Index i = 0; i < p.rows; ++i)
        reach[std::size_t(i)] = std::sqrt(2.0 * found.sums.gap * std::max(diagonal[i], 0.0));
    for (int g = 0; g < p.groups; ++g)
        found.multiplier[g] = {
            multipliers[g],
            std::min(piles[std::size_t(g)].best(-1, reach.data()).first, multipliers[g]),
            std::max(piles[std::size_t(g)].best(1, reach.data()).second, multipliers[g])};
    return found;
}

}  // namespace widemargin
