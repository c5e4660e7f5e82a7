// How many kernel values were asked of the compiled core since it was loaded.
#pragma once
#include <atomic>

#include "data/rows.hpp"

namespace widemargin {

inline std::atomic<Index> kernel_values{0};

inline void count_square(Index rows) {
    kernel_values += rows * (rows + 1) / 2;
}

}  // namespace widemargin
