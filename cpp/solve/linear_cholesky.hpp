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
#include "solve/panels.hpp"

namespace widemargin::WM_ISA {

constexpr Index factor_panel = 48;   // columns that are finished together
constexpr Index factor_block = 192;  // columns whose products are taken off the rest together
constexpr Index factor_strip = 64;   // columns of the rest at a time, so that they stay in cache
constexpr int refinements = 1;

struct Factor {
    Index size, width;           // width: row length, a whole number of tiles
    Buffer<double> values;       // the lower triangle, row by row; what lies beyond is undefined
    std::vector<double> turned;  // scratch: rows of the present block, tiles of columns of L'

    explicit Factor(Index n)
        : size(n),
          width((n + gram_tile_columns - 1) / gram_tile_columns * gram_tile_columns),
          values(std::size_t((n + gram_tile_rows) * width)),
          turned(std::size_t(factor_block * width)) {}

    double* row(Index i) { return values.data() + i * width; }
    const double* row(Index i) const { return values.data() + i * width; }
    bool run(int threads);
    void solve(double* right, Index count) const;

  private:
    static constexpr Index tile = gram_tile_columns;
    double* turned_tile(Index i) { return turned.data() + i / tile * tile * factor_block; }
    bool factor_diagonal(Index from, Index to);
    void finish_rows(Index block, Index from, Index to, Index first);
    void update(Index block, Index from, Index to, Index first, Index last, Index end);
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

// One tile of rows from `first` on, below the panel from .. to: each solves a small triangular
// system. They are laid out turned, so that a step of substitution is two vectors wide.
inline void Factor::finish_rows(Index block, Index from, Index to, Index first) {
    const Index count = std::min(tile, size - first);
    double* column = turned_tile(first) + (from - block) * tile;
    for (Index j = from; j < to; ++j)
        for (Index r = 0; r < count; ++r) column[(j - from) * tile + r] = row(first + r)[j];
    for (Index j = 0; j < to - from; ++j) {
        const double* factors = row(from + j) + from;
        double* mine = column + j * tile;
        Vector<double> left = load(mine), right = load(mine + lanes<double>);
        for (Index p = 0; p < j; ++p) {
            left -= factors[p] * load(column + p * tile);
            right -= factors[p] * load(column + p * tile + lanes<double>);
        }
        store(mine, left / factors[j]);
        store(mine + lanes<double>, right / factors[j]);
    }
    for (Index r = 0; r < count; ++r)
        for (Index j = from; j < to; ++j) row(first + r)[j] = column[(j - from) * tile + r];
}

// Takes the products with the finished columns from .. to off the rows first .. last, in columns
// from `to` up to `end` and the diagonal.
inline void Factor::update(Index block, Index from, Index to, Index first, Index last, Index end) {
    for (Index strip = to; strip < end; strip += factor_strip) {
        for (Index i = first; i < last; i += gram_tile_rows) {
            const Index stop = std::min({strip + factor_strip, end, i + gram_tile_rows});
            for (Index j = strip; j < stop; j += tile) {
                Vector<double> sum[gram_tile_rows][2] = {};
                const double* column = turned_tile(j) + (from - block) * tile;
                for (Index p = 0; p < to - from; ++p, column += tile) {
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
                    store(to_row, load(to_row) - sum[r][0]);
                    store(to_row + lanes<double>, load(to_row + lanes<double>) - sum[r][1]);
                }
            }
        }
    }
}

inline bool Factor::run(int threads) {
    constexpr Index piece = 8 * gram_tile_rows;
    std::fill(turned.begin(), turned.end(), 0.0);
    for (Index block = 0; block < size; block += factor_block) {
        const Index end = std::min(block + factor_block, size);
        const int workers = size - block < 256 ? 1 : threads;
        const auto take_off = [&](Index from, Index to, Index begin, Index columns) {
            parallel((size - begin + piece - 1) / piece, workers, [&](Index p, int) {
                const Index first = begin + p * piece;
                update(block, from, to, first, std::min(first + piece, size), columns);
            });
        };
        for (Index from = block; from < end; from += factor_panel) {
            const Index to = std::min(from + factor_panel, end);
            if (!factor_diagonal(from, to)) return false;
            parallel((size - to + tile - 1) / tile, workers,
                     [&](Index p, int) { finish_rows(block, from, to, to + p * tile); });
            take_off(from, to, to, end);
        }
        take_off(block, end, end, size);
    }
    return true;
}

inline void Factor::solve(double* right, Index count) const {
    for (Index i = 0; i < size; ++i)
        for (double* x = right; x < right + count * size; x += size)
            x[i] = (x[i] - short_dot(row(i), x, i)) / row(i)[i];
    for (Index i = size - 1; i >= 0; --i)
        for (double* x = right; x < right + count * size; x += size) {
            x[i] /= row(i)[i];
            add_scaled(row(i), -x[i], x, i);
        }
}

// Solves matrix x = right for each of `count` right sides, in place. The matrix is scaled to a unit
// diagonal; what rounding made indefinite gets a ridge, which is returned.
inline double solve_positive(const double* matrix, Index size, Index width, double* right,
                             Index count, int threads) {
    std::vector<double> scale(static_cast<std::size_t>(size));
    double largest = 0;
    for (Index i = 0; i < size; ++i) largest = std::max(largest, matrix[i * width + i]);
    for (Index i = 0; i < size; ++i) {
        const double bend = matrix[i * width + i];
        scale[std::size_t(i)] = 1.0 / std::sqrt(bend > 0 ? bend : largest > 0 ? largest : 1.0);
    }
    const auto for_rows = [&](auto&& work) {
        constexpr Index piece = 64;
        parallel((size + piece - 1) / piece, size < 256 ? 1 : threads, [&](Index p, int) {
            for (Index i = p * piece; i < std::min((p + 1) * piece, size); ++i) work(i);
        });
    };
    Factor factor(size);
    double ridge = 0;
    while (true) {
        for_rows([&](Index i) {
            const double* from = matrix + i * width;
            double* to = factor.row(i);
            for (Index j = 0; j < i; ++j)
                to[j] = from[j] * (scale[std::size_t(i)] * scale[std::size_t(j)]);
            to[i] = 1.0 + ridge;
        });
        if (factor.run(threads)) break;
        ridge = std::max(100.0 * ridge, 1e-14);
        if (ridge > 1e100) break;
    }
    std::vector<double> rest(right, right + count * size), move(rest);
    std::fill(right, right + count * size, 0.0);
    for (int round = 0; round <= refinements; ++round) {  // what the ridge or rounding left
        if (round > 0)
            for_rows([&](Index i) {
                for (Index at = i, k = 0; k < count; ++k, at += size)
                    rest[std::size_t(at)] -=
                        short_dot(matrix + i * width, move.data() + k * size, size);
            });
        for (Index at = 0; at < count * size; ++at)
            move[std::size_t(at)] = rest[std::size_t(at)] * scale[std::size_t(at % size)];
        factor.solve(move.data(), count);
        for (Index at = 0; at < count * size; ++at) {
            move[std::size_t(at)] *= scale[std::size_t(at % size)];
            right[at] += move[std::size_t(at)];
        }
    }
    return ridge;
}

}  // namespace widemargin::WM_ISA
