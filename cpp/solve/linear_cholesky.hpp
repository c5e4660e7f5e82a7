// Symmetric positive systems by Cholesky's method, in blocks whose updates stay in registers.
// Our own, because the threads of a BLAS wait actively: beside our pool, on a busy machine, a
// factor of a few hundred rows was seen to take a hundred times as long as on one thread.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "math/parallel.hpp"
#include "solve/linear_gram.hpp"
#include "solve/linear_quadratic.hpp"

namespace widemargin::WM_ISA {

constexpr Index factor_block = 48;
constexpr int refinements = 1;

struct Factor {
    Index size, width;           // width: row length, a whole number of tiles
    std::vector<double> values;  // the lower triangle, row by row
    std::vector<double> turned;  // scratch: the present panel, column by column

    explicit Factor(Index n)
        : size(n),
          width((n + gram_tile_columns - 1) / gram_tile_columns * gram_tile_columns),
          values(std::size_t((n + gram_tile_rows) * width)),
          turned(std::size_t(factor_block * width)) {}

    double* row(Index i) { return values.data() + i * width; }
    const double* row(Index i) const { return values.data() + i * width; }
    bool run(int threads);
    void solve(double* x) const;

  private:
    bool factor_diagonal(Index from, Index to);
    void finish_rows(Index from, Index to, Index first, Index last);
    void update(Index from, Index to, Index first, Index last);
};

inline double short_dot(const double* a, const double* b, Index n) {
    return weighted_sum(a, b, n);
}

inline bool Factor::factor_diagonal(Index from, Index to) {
    for (Index i = from; i < to; ++i) {
        for (Index j = from; j < i; ++j)
            row(i)[j] = (row(i)[j] - short_dot(row(i) + from, row(j) + from, j - from)) / row(j)[j];
        const double rest = row(i)[i] - short_dot(row(i) + from, row(i) + from, i - from);
        if (!(rest > 0)) return false;
        row(i)[i] = std::sqrt(rest);
    }
    return true;
}

// Rows below the diagonal block: each solves a small triangular system, and is laid out turned.
inline void Factor::finish_rows(Index from, Index to, Index first, Index last) {
    for (Index i = first; i < last; ++i) {
        for (Index j = from; j < to; ++j) {
            row(i)[j] = (row(i)[j] - short_dot(row(i) + from, row(j) + from, j - from)) / row(j)[j];
            turned[std::size_t((j - from) * width + i)] = row(i)[j];
        }
    }
}

// Takes the products with the finished columns off the rows first .. last beyond them.
inline void Factor::update(Index from, Index to, Index first, Index last) {
    for (Index i = first; i < last; i += gram_tile_rows) {
        const Index begin = to / gram_tile_columns * gram_tile_columns;
        for (Index j = begin; j < std::min(i + gram_tile_rows, size); j += gram_tile_columns) {
            Vector<double> sum[gram_tile_rows][2] = {};
            for (Index p = 0; p < to - from; ++p) {
                const double* column = turned.data() + p * width + j;
                const Vector<double> left = load(column), right = load(column + lanes<double>);
#pragma GCC unroll 8
                for (Index r = 0; r < gram_tile_rows; ++r) {
                    const double factor = row(i + r)[from + p];
                    sum[r][0] += factor * left;
                    sum[r][1] += factor * right;
                }
            }
            for (Index r = 0; r < std::min(gram_tile_rows, last - i); ++r) {
                double* to_row = row(i + r) + j;
                if (j >= to) {
                    store(to_row, load(to_row) - sum[r][0]);
                    store(to_row + lanes<double>, load(to_row + lanes<double>) - sum[r][1]);
                } else {
                    for (Index c = to - j; c < gram_tile_columns; ++c)
                        to_row[c] -=
                            c < lanes<double> ? sum[r][0][c] : sum[r][1][c - lanes<double>];
                }
            }
        }
    }
}

inline bool Factor::run(int threads) {
    constexpr Index piece = 8 * gram_tile_rows;
    for (Index from = 0; from < size; from += factor_block) {
        const Index to = std::min(from + factor_block, size);
        if (!factor_diagonal(from, to)) return false;
        const Index pieces = (size - to + piece - 1) / piece;
        const int workers = size - to < 256 ? 1 : threads;
        std::fill(turned.begin(), turned.end(), 0.0);
        parallel(pieces, workers, [&](Index p, int) {
            finish_rows(from, to, to + p * piece, std::min(to + (p + 1) * piece, size));
        });
        parallel(pieces, workers, [&](Index p, int) {
            update(from, to, to + p * piece, std::min(to + (p + 1) * piece, size));
        });
    }
    return true;
}

inline void Factor::solve(double* x) const {
    for (Index i = 0; i < size; ++i) x[i] = (x[i] - short_dot(row(i), x, i)) / row(i)[i];
    for (Index i = size - 1; i >= 0; --i) {
        x[i] /= row(i)[i];
        add_scaled(row(i), -x[i], x, i);
    }
}

// Solves matrix x = right for each of `count` right sides, in place. The matrix is scaled to a unit
// diagonal; what rounding made indefinite gets a ridge, which is returned.
inline double solve_positive(const double* matrix, Index size, double* right, Index count,
                             int threads) {
    std::vector<double> scale(static_cast<std::size_t>(size));
    double largest = 0;
    for (Index i = 0; i < size; ++i) largest = std::max(largest, matrix[i * size + i]);
    for (Index i = 0; i < size; ++i) {
        const double bend = matrix[i * size + i];
        scale[std::size_t(i)] = 1.0 / std::sqrt(bend > 0 ? bend : largest > 0 ? largest : 1.0);
    }
    Factor factor(size);
    double ridge = 0;
    while (true) {
        for (Index i = 0; i < size; ++i) {
            for (Index j = 0; j < i; ++j)
                factor.row(i)[j] =
                    matrix[i * size + j] * scale[std::size_t(i)] * scale[std::size_t(j)];
            factor.row(i)[i] = 1.0 + ridge;
        }
        if (factor.run(threads)) break;
        ridge = std::max(100.0 * ridge, 1e-14);
        if (ridge > 1e100) break;
    }
    std::vector<double> rest(static_cast<std::size_t>(size)), move(rest);
    for (Index k = 0; k < count; ++k) {
        double* x = right + k * size;
        rest.assign(x, x + size);
        std::fill(x, x + size, 0.0);
        for (int round = 0; round <= refinements; ++round) {  // what the ridge or rounding left
            if (round > 0)
                for (Index i = 0; i < size; ++i)
                    rest[std::size_t(i)] -= short_dot(matrix + i * size, move.data(), size);
            for (Index i = 0; i < size; ++i)
                move[std::size_t(i)] = rest[std::size_t(i)] * scale[std::size_t(i)];
            factor.solve(move.data());
            for (Index i = 0; i < size; ++i) {
                move[std::size_t(i)] *= scale[std::size_t(i)];
                x[i] += move[std::size_t(i)];
            }
        }
    }
    return ridge;
}

}  // namespace widemargin::WM_ISA
