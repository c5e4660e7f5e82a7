// The loops of linear machines, gathered for the table of this instruction set.
#pragma once
#include "solve/linear_gram.hpp"
#include "solve/linear_losses.hpp"
#include "solve/linear_products.hpp"

namespace widemargin::WM_ISA {

inline LinearTable linear_table() {
    return {respond, along_ray, times, times_transposed, times_curvature, gram};
}

}  // namespace widemargin::WM_ISA
