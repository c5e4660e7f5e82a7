// The weighted Gram matrix of the features, with a constant feature after the last for the bias:
// gram[a][b] += sum over rows of curvature[i] x_ia x_ib, for a, b <= features.
// Rows with few entries add their pairs one by one; other rows are laid out densely, scaled by the
// root of their curvature, and multiplied by a tile that stays in registers.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "solve/linear_products.hpp"

namespace widemargin::WM_ISA {

constexpr Index gram_tile_rows = vector_bytes == 64 ? 8 : 4;
constexpr Index gram_tile_columns = 2 * lanes<double>;
constexpr double sparse_gram_below = 0.14;  // share of entries; measured where both take as long
constexpr Index gram_block_bytes = 1 << 17;

// One tile: gram[a .. a + rows][b .. b + columns] += sum of block[i][a ..] block[i][b ..].
inline void gram_tile(const double* block, Index count, Index width, Index a, Index b,
                      double* gram) {
    Vector<double> sum[gram_tile_rows][2] = {};
    for (Index i = 0; i < count; ++i) {
        const double* row = block + i * width;
        const Vector<double> left = load(row + b), right = load(row + b + lanes<double>);
#pragma GCC unroll 8
        for (Index r = 0; r < gram_tile_rows; ++r) {
            sum[r][0] += row[a + r] * left;
            sum[r][1] += row[a + r] * right;
        }
    }
    for (Index r = 0; r < gram_tile_rows; ++r) {
        double* to = gram + (a + r) * width + b;
        store(to, load(to) + sum[r][0]);
        store(to + lanes<double>, load(to + lanes<double>) + sum[r][1]);
    }
}

// Collects scaled rows and multiplies them out whenever the block is full.
struct GramBlock {
    Index features, width, capacity, count = 0;
    std::vector<double> rows;
    double* gram;

    GramBlock(Index features, Index width, double* gram)
        : features(features),
          width(width),
          capacity(std::clamp<Index>(gram_block_bytes / (8 * width), 16, 512)),
          rows(std::size_t(capacity * width), 0.0),
          gram(gram) {}

    template <class View>
    void add(const View& view, Index i, double curvature) {
        const double scale = std::sqrt(curvature);
        double* row = rows.data() + count * width;
        std::fill(row, row + width, 0.0);
        view.add(i, scale, row);
        row[features] = scale;
        if (++count == capacity) flush();
    }

    void flush() {
        for (Index a = 0; a < width; a += gram_tile_rows)
            for (Index b = a / gram_tile_columns * gram_tile_columns; b < width;
                 b += gram_tile_columns)
                gram_tile(rows.data(), count, width, a, b, gram);
        count = 0;
    }
};

template <class View>
void add_pairs(const View& view, Index i, double curvature, Index features, Index width,
               std::vector<Index>& columns, std::vector<double>& values, double* gram) {
    columns.clear();
    values.clear();
    view.for_each(i, [&](Index k, double value) {
        columns.push_back(k);
        values.push_back(value);
    });
    columns.push_back(features);
    values.push_back(1.0);
    for (std::size_t p = 0; p < columns.size(); ++p) {
        double* to = gram + columns[p] * width;
        const double factor = curvature * values[p];
        for (std::size_t q = p; q < columns.size(); ++q) to[columns[q]] += factor * values[q];
    }
}

inline void gram(const Rows& rows, const RowRange& range, const double* curvature, double* gram,
                 int threads) {
    const Index size = rows.features + 1;
    const Index width = (size + gram_tile_columns - 1) / gram_tile_columns * gram_tile_columns;
    const bool pairs = rows.is_sparse() && mean_entries(rows) < sparse_gram_below * double(size);
    std::vector<double> padded(std::size_t(width * width), 0.0);
    const Index curved =
        range.last - range.first - std::count(curvature + range.first, curvature + range.last, 0.0);
    // A pair costs as much as a clearing and adding up of a few partial sums, a tile far less.
    const double entries = pairs ? mean_entries(rows) : 0.25 * double(width);
    sum_over_rows(rows, range, double(curved) * entries * entries, width * width, padded.data(),
                  threads, [&](const auto& view, Index from, Index to, double* own) {
                      std::vector<Index> columns;
                      std::vector<double> values;
                      GramBlock block(rows.features, width, own);
                      for (Index i = from; i < to; ++i) {
                          if (curvature[i] == 0) continue;
                          if (pairs)
                              add_pairs(view, i, curvature[i], rows.features, width, columns,
                                        values, own);
                          else block.add(view, i, curvature[i]);
                      }
                      block.flush();
                  });
    for (Index a = 0; a < size; ++a) {
        for (Index b = a; b < size; ++b) gram[a * size + b] += padded[std::size_t(a * width + b)];
        for (Index b = a + 1; b < size; ++b) gram[b * size + a] = gram[a * size + b];
    }
}

}  // namespace widemargin::WM_ISA
