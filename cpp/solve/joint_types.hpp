// The joint multiclass machine of Crammer and Singer; free of any instruction set.
//   minimise  1/2 sum_k a_k' K a_k + sum_i sum_{k != y_i} a_ik
//   subject to  a_ik <= C_i [k = y_i],  sum_k a_ik = 0 for each row i.
// Arrays of rows and classes lie class by class: entry (k, i) at k * rows + i. The gradient of a_ik
// is output_ik + [k != y_i], and output_k = K a_k is kept up to date.
#pragma once
#include "data/rows.hpp"

namespace widemargin {

struct JointProblem {
    Index rows = 0, classes = 0;
    const double* outputs = nullptr;  // [classes][rows]
    const double* a = nullptr;        // [classes][rows]
    const Index* label = nullptr;     // [rows]
    const double* cost = nullptr;     // [rows]
};

// gap, sum_k a_k' output_k, sum of a_ik over k != y_i, and the largest violation of a row.
struct JointSums {
    double gap = 0, quadratic = 0, linear = 0, violation = 0;
};

// The same problem over some rows, given by the gradient where it starts.
template <class T>
struct JointBlock {
    Index size, padded, classes;  // rows; rows of `kernel` have `padded` entries
    const T* kernel;              // [size][padded]
    const double* diagonal;       // [size]
    const double* gradient;       // [classes][size]
    double* a;                    // [classes][size], in and out
    const Index* label;           // [size]
    const double* cost;           // [size]
};

}  // namespace widemargin
