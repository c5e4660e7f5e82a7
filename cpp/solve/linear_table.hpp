// The loops of linear machines, gathered for the table of this instruction set.
#pragma once
#include "solve/linear_cholesky.hpp"
#include "solve/linear_conjugate.hpp"
#include "solve/linear_descent.hpp"
#include "solve/linear_gram.hpp"
#include "solve/linear_judgement.hpp"
#include "solve/linear_losses.hpp"
#include "solve/linear_pairs.hpp"
#include "solve/linear_products.hpp"
#include "solve/linear_quadratic.hpp"

namespace widemargin::WM_ISA {

inline LinearTable linear_table() {
    return {respond,
            along_ray,
            times,
            times_transposed,
            times_curvature,
            gram,
            weighted_squares,
            row_norms,
            descend_quadratic,
            descend,
            judge,
            bend_along,
            advance,
            turn,
            solve_positive,
            transposed_of,
            times_of,
            row_products};
}

}  // namespace widemargin::WM_ISA
