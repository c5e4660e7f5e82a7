// What the block solver is given and what it says; free of any instruction set.
#pragma once
#include "data/rows.hpp"

namespace widemargin {

// Below this a pair counts as flat: its step is then as long as the bounds allow.
constexpr double least_curvature = 1e-12;

template <class T>
struct BlockProblem {
    Index size, padded;   // variables; rows of `kernel` and all arrays of T have `padded` entries
    int groups;           // 1 or 2
    const T* kernel;      // [size][padded]
    const T* diagonal;    // [padded]
    T* gradient;          // [padded], in and out
    T* limits;            // scratch [2 * groups][padded]
    double* x;            // [size], in and out
    const double* lower;  // [size]
    const double* upper;  // [size]
    const std::int8_t* group;  // [size]
};

struct BlockResult {
    Index iterations = 0;
    double violation = 0;
    bool negative_curvature = false;
};

}  // namespace widemargin
