// Products with the data: outputs, sums over rows, and the product of the Hessian with a vector.
#pragma once
#include <algorithm>
#include <vector>

#include "math/parallel.hpp"
#include "solve/linear_rows.hpp"

namespace widemargin::WM_ISA {

// output[i] = x_i . weights + bias.
inline void times(const Rows& rows, const RowRange& range, const double* weights, double bias,
                  double* output, int threads) {
    const Index piece = std::max<Index>(64, Index(65536.0 / std::max(1.0, mean_entries(rows))));
    const Index pieces = (range.last - range.first + piece - 1) / piece;
    parallel(pieces, threads, [&](Index p, int) {
        const Index from = range.first + p * piece, to = std::min(from + piece, range.last);
        visit_rows(rows, range, from, to, [&](const auto& view, Index first, Index last) {
            for (Index i = first; i < last; ++i) output[i] = view.dot(i, weights) + bias;
        });
    });
}

// How many partial sums of `size` numbers are formed for so many operations: as many as cores may
// be busy, unless clearing and adding them up took longer than the operations or much memory; never
// a matter of the number of threads, so that results are not either.
inline Index partial_sums(double operations, Index size) {
    const Index by_memory = std::clamp<Index>((Index(1) << 22) / std::max<Index>(1, size), 4, 64);
    const double by_work = operations / (4.0 * double(size) + 1024.0);
    return std::clamp<Index>(Index(std::min(by_work, 64.0)), 1, by_memory);
}

// Runs add(view, from, to, partial) over parts of the range and adds the partial sums to `sums`.
template <class Add>
void sum_over_rows(const Rows& rows, const RowRange& range, double operations, Index size,
                   double* sums, int threads, Add&& add) {
    const Index count = range.last - range.first, parts = partial_sums(operations, size);
    std::vector<std::vector<double>> partial(static_cast<std::size_t>(parts));
    parallel(parts, threads, [&](Index part, int) {
        auto& own = partial[std::size_t(part)];
        own.assign(std::size_t(size), 0.0);
        visit_rows(
            rows, range, range.first + count * part / parts,
            range.first + count * (part + 1) / parts,
            [&](const auto& view, Index from, Index to) { add(view, from, to, own.data()); });
    });
    constexpr Index piece = 1 << 12;
    parallel((size + piece - 1) / piece, threads, [&](Index p, int) {
        for (const auto& own : partial)
            for (Index k = p * piece; k < std::min((p + 1) * piece, size); ++k)
                sums[k] += own[std::size_t(k)];
    });
}

// From so many features on, each thread adds up features of its own instead of partial sums of all:
// the sums are the same for any number of threads, since each is formed in the order of the rows.
constexpr Index wide_features = 1 << 12;

// sums += sum of dual[i] x_i; returns the sum of dual[i].
inline double times_transposed(const Rows& rows, const RowRange& range, const double* dual,
                               double* sums, int threads) {
    const double operations = double(range.last - range.first) * mean_entries(rows);
    if (rows.is_sparse() && rows.features >= wide_features)
        parallel(threads, threads, [&](Index part, int) {
            const Index low = rows.features * part / threads;
            const Index high = rows.features * (part + 1) / threads;
            visit_rows(rows, range, range.first, range.last,
                       [&](const auto& view, Index from, Index to) {
                           for (Index i = from; i < to; ++i)
                               if (dual[i] != 0) view.add_within(i, dual[i], sums, low, high);
                       });
        });
    else
        sum_over_rows(rows, range, operations, rows.features, sums, threads,
                      [&](const auto& view, Index from, Index to, double* own) {
                          for (Index i = from; i < to; ++i)
                              if (dual[i] != 0) view.add(i, dual[i], own);
                      });
    double total = 0;
    for (Index i = range.first; i < range.last; ++i) total += dual[i];
    return total;
}

// factor[i] = curvature[i] (x_i . weights + bias); only rows with a curvature are read.
inline void bent_rows(const Rows& rows, const RowRange& range, const double* curvature,
                      const double* weights, double bias, double* factor, int threads) {
    const Index piece = std::max<Index>(64, Index(65536.0 / std::max(1.0, mean_entries(rows))));
    const Index pieces = (range.last - range.first + piece - 1) / piece;
    parallel(pieces, threads, [&](Index p, int) {
        const Index from = range.first + p * piece, to = std::min(from + piece, range.last);
        visit_rows(rows, range, from, to, [&](const auto& view, Index first, Index last) {
            for (Index i = first; i < last; ++i)
                factor[i] = curvature[i] == 0 ? 0 : curvature[i] * (view.dot(i, weights) + bias);
        });
    });
}

// sums += sum of curvature[i] (x_i . weights + bias) x_i; returns the same sum without x_i.
// Few features are added up while the row is at hand; many are left to `times_transposed`, which
// needs no partial sums: with one thread both are done row by row, in the same order.
inline double times_curvature(const Rows& rows, const RowRange& range, const double* curvature,
                              const double* weights, double bias, double* sums, int threads) {
    const Index d = rows.features;
    if (rows.is_sparse() && d >= wide_features) {
        if (threads > 1) {
            std::vector<double> factor(static_cast<std::size_t>(range.last));
            bent_rows(rows, range, curvature, weights, bias, factor.data(), threads);
            return times_transposed(rows, range, factor.data(), sums, threads);
        }
        double total = 0;
        visit_rows(rows, range, range.first, range.last,
                   [&](const auto& view, Index from, Index to) {
                       for (Index i = from; i < to; ++i) {
                           if (curvature[i] == 0) continue;
                           const double factor = curvature[i] * (view.dot(i, weights) + bias);
                           view.add(i, factor, sums);
                           total += factor;
                       }
                   });
        return total;
    }
    std::vector<double> whole(std::size_t(d + 1), 0.0);
    const double operations = 2.0 * double(range.last - range.first) * mean_entries(rows);
    sum_over_rows(rows, range, operations, d + 1, whole.data(), threads,
                  [&](const auto& view, Index from, Index to, double* own) {
                      for (Index i = from; i < to; ++i) {
                          if (curvature[i] == 0) continue;
                          const double factor = curvature[i] * (view.dot(i, weights) + bias);
                          view.add(i, factor, own);
                          own[d] += factor;
                      }
                  });
    for (Index k = 0; k < d; ++k) sums[k] += whole[std::size_t(k)];
    return whole[std::size_t(d)];
}

// sums[k] += sum of factors[i] x_ik^2.
inline void weighted_squares(const Rows& rows, const RowRange& range, const double* factors,
                             double* sums, int threads) {
    const auto add = [&](const auto& view, Index from, Index to, double* own) {
        for (Index i = from; i < to; ++i)
            if (factors[i] != 0)
                view.for_each(i,
                              [&](Index k, double value) { own[k] += factors[i] * value * value; });
    };
    if (rows.is_sparse() && rows.features >= wide_features) {
        visit_rows(rows, range, range.first, range.last,
                   [&](const auto& view, Index from, Index to) { add(view, from, to, sums); });
        return;
    }
    const double operations = double(range.last - range.first) * mean_entries(rows);
    sum_over_rows(rows, range, operations, rows.features, sums, threads, add);
}

// norms[i] = ||x_i||^2.
inline void row_norms(const Rows& rows, const RowRange& range, double* norms, int threads) {
    constexpr Index piece = 1 << 10;
    const Index pieces = (range.last - range.first + piece - 1) / piece;
    parallel(pieces, threads, [&](Index p, int) {
        const Index from = range.first + p * piece, to = std::min(from + piece, range.last);
        visit_rows(rows, range, from, to, [&](const auto& view, Index first, Index last) {
            for (Index i = first; i < last; ++i) {
                double sum = 0;
                view.for_each(i, [&](Index, double value) { sum += value * value; });
                norms[i] = sum;
            }
        });
    });
}

}  // namespace widemargin::WM_ISA
