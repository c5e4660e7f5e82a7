// The quadratic program of a whole kernel machine, as seen by the loops over its variables:
//   minimise 1/2 x'Kx + linear'x   subject to   lower <= x <= upper,  sum of x in each group fixed.
// Variable t belongs to row t mod rows: one side for classifiers and detectors, two for regression,
// where a row may be pulled up (first side) or down (second). The gradient of t is
// output[t mod rows] + linear[t], and output = K (x summed over sides) is kept up to date.
#pragma once
#include "data/rows.hpp"

namespace widemargin {

struct BoxProblem {
    Index rows = 0;
    int sides = 1, groups = 1;
    const double* output = nullptr;
    const double* linear = nullptr;
    const double* lower = nullptr;
    const double* upper = nullptr;
    const double* x = nullptr;
    const std::int8_t* group = nullptr;

    Index variables() const { return rows * sides; }
    double gradient(Index t) const { return output[t < rows ? t : t - rows] + linear[t]; }
};

// Of one group: how far the gradients of the variables that may rise and that may fall reach.
struct Reach {
    double lowest_rising, highest_falling;
    double free_sum;  // sum of the gradients of the variables strictly between their bounds
    Index free_count;
};

// gap, x'Kx and linear'x.
struct Sums {
    double gap = 0, quadratic = 0, linear = 0;
};

}  // namespace widemargin
