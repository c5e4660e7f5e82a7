// The next working set: of each group, the variables that violate optimality most, half of them
// those that should rise (small gradients), half those that should fall (large ones).
// One pass counts candidates in bins of equal width, a second collects those of the worst bins.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "solve/box_problem.hpp"

namespace widemargin {

class WorkingSetSearch {
  public:
    // taken[t] != 0 keeps variable t out (it is in the block already).
    WorkingSetSearch(const BoxProblem& problem, const Reach* reaches, const std::uint8_t* taken)
        : p(problem), reaches(reaches), taken(taken) {}

    // Appends up to `want` variables of a group to `chosen`, the worst of each direction first.
    void collect(int group, Index want, std::vector<Index>& chosen) {
        const Reach& r = reaches[group];
        const double width = r.highest_falling - r.lowest_rising;
        if (!(width > 0) || !std::isfinite(width)) return;
        for (auto& direction : counts) direction.fill(0);
        visit(group,
              [&](int direction, double depth, Index) { ++counts[direction][bin(depth / width)]; });
        int cut[2];
        for (int d = 0; d < 2; ++d) cut[d] = cut_for(counts[d], (want + 1 - d) / 2);
        std::vector<std::pair<double, Index>> found[2];
        visit(group, [&](int direction, double depth, Index t) {
            if (bin(depth / width) <= cut[direction]) found[direction].push_back({depth, t});
        });
        append(found, want, chosen);
    }

  private:
    static constexpr int bins = 512;
    const BoxProblem& p;
    const Reach* reaches;
    const std::uint8_t* taken;
    std::array<std::array<Index, bins>, 2> counts{};

    static int bin(double share) { return std::min(bins - 1, int(share * bins)); }

    // Depth: distance from the worst gradient of the direction; smaller is worse.
    template <class Visit>
    void visit(int group, Visit&& take) const {
        const double low = reaches[group].lowest_rising, high = reaches[group].highest_falling;
        for (int side = 0; side < p.sides; ++side) {
            for (Index i = 0; i < p.rows; ++i) {
                const Index t = side * p.rows + i;
                if (taken[t] || (p.groups > 1 && p.group[t] != group)) continue;
                const double g = p.output[i] + p.linear[t];
                const bool rises = p.x[t] < p.upper[t] && g < high;
                const bool falls = p.x[t] > p.lower[t] && g > low;
                if (rises && (!falls || g - low <= high - g)) take(0, g - low, t);
                else if (falls) take(1, high - g, t);
            }
        }
    }

    static int cut_for(const std::array<Index, bins>& count, Index want) {
        Index seen = 0;
        for (int b = 0; b < bins; ++b)
            if ((seen += count[b]) >= want) return b;
        return bins - 1;
    }

    static void append(std::vector<std::pair<double, Index>> (&found)[2], Index want,
                       std::vector<Index>& chosen) {
        Index share[2] = {std::min<Index>((want + 1) / 2, Index(found[0].size())), 0};
        share[1] = std::min<Index>(want - share[0], Index(found[1].size()));
        share[0] = std::min<Index>(want - share[1], Index(found[0].size()));
        for (int d = 0; d < 2; ++d) {
            auto& f = found[d];
            if (share[d] < Index(f.size()))
                std::nth_element(f.begin(), f.begin() + share[d], f.end());
            for (Index k = 0; k < share[d]; ++k) chosen.push_back(f[k].second);
        }
    }
};

}  // namespace widemargin
