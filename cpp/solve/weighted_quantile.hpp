// Where the slope of a convex, piecewise linear function changes its sign: the slope before the
// first of its points is `slope`, and each point adds its weight. Found in linear time by halving:
// all points need not be sorted to find one of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "data/rows.hpp"

namespace widemargin {

// The ends of the interval on which the slope is 0, up to `flat`: a point, or two neighbours.
// n > 0, weights >= 0.
inline std::pair<double, double> weighted_quantile(const double* points, const double* weights,
                                                   Index n, double slope, double flat) {
    if (slope >= -flat) {  // already level before the first point
        const double first = *std::min_element(points, points + n);
        return {first, first};
    }
    struct Point {
        double at, weight;
    };
    std::vector<Point> order(n);
    for (Index k = 0; k < n; ++k) order[k] = {points[k], weights[k]};
    const auto before = [](const Point& a, const Point& b) { return a.at < b.at; };
    // All points before `low` together leave the slope negative; those before `high` do not.
    Index low = 0, high = n;
    while (high - low > 1) {
        const Index middle = low + (high - low) / 2;
        std::nth_element(order.begin() + low, order.begin() + middle, order.begin() + high, before);
        double after = slope;
        for (Index k = low; k < middle; ++k) after += order[k].weight;
        if (after >= -flat) {
            high = middle;
        } else {
            slope = after;
            low = middle;
        }
    }
    const double at = order[low].at;
    double next = std::numeric_limits<double>::infinity();
    for (Index k = low + 1; k < n; ++k) next = std::min(next, order[k].at);
    const bool level = std::abs(slope + order[low].weight) <= flat && low + 1 < n;
    return {at, level ? next : at};
}

}  // namespace widemargin
