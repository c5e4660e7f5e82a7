// Dot products of some rows with one another: products[p][q] = sum over features of
// scale[k] x_pk x_qk, symmetric. Sparse rows are first turned into columns, each of which holds
// its rows in order: what a pair shares is added feature by feature, and no pair is asked for
// twice.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "math/parallel.hpp"
#include "solve/linear_rows.hpp"

namespace widemargin::WM_ISA {

// The chosen rows feature by feature; entries of feature k are starts[k] .. starts[k + 1].
struct TurnedRows {
    std::vector<Index> starts;
    std::vector<Index> places;  // which of the chosen rows, ascending
    std::vector<double> values;

    TurnedRows(const Rows& rows, const Index* ids, Index count)
        : starts(std::size_t(rows.features + 1), 0) {
        for (Index p = 0; p < count; ++p)
            rows.for_each(ids[p], [&](Index k, double) { ++starts[std::size_t(k + 1)]; });
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        places.resize(std::size_t(starts.back()));
        values.resize(places.size());
        std::vector<Index> next(starts.begin(), starts.end() - 1);
        for (Index p = 0; p < count; ++p)
            rows.for_each(ids[p], [&](Index k, double value) {
                const Index at = next[std::size_t(k)]++;
                places[std::size_t(at)] = p;
                values[std::size_t(at)] = value;
            });
    }

    // to[q] += factor x_qk for the chosen rows q <= last.
    void add(Index k, double factor, Index last, double* to) const {
        const Index end = starts[std::size_t(k + 1)];
        for (Index at = starts[std::size_t(k)]; at < end && places[std::size_t(at)] <= last; ++at)
            to[places[std::size_t(at)]] += factor * values[std::size_t(at)];
    }
};

// Calls visit(view, id, p) for the chosen rows first .. last, the storage being looked at once.
template <class Visit>
void visit_chosen(const Rows& rows, const Index* ids, Index first, Index last, Visit&& visit) {
    if (rows.is_sparse() || rows.column_stride == 1) {
        visit_rows(rows, {0, rows.count, 0, 1}, 0, rows.count, [&](const auto& view, Index, Index) {
            for (Index p = first; p < last; ++p) visit(view, ids[p], p);
        });
        return;
    }
    for (Index p = first; p < last; ++p)  // Fortran order: each row is laid out by itself
        visit_rows(rows, {ids[p], ids[p] + 1, 0, 1}, ids[p], ids[p] + 1,
                   [&](const auto& view, Index i, Index) { visit(view, i, p); });
}

// sums += sum over the chosen rows of factor[p] x_p, each thread adding up features of its own.
inline void transposed_of(const Rows& rows, const Index* ids, Index count, const double* factor,
                          double* sums, int threads) {
    const Index d = rows.features;
    if (threads < 2) {
        visit_chosen(rows, ids, 0, count,
                     [&](const auto& view, Index i, Index p) { view.add(i, factor[p], sums); });
        return;
    }
    parallel(threads, threads, [&](Index part, int) {
        const Index low = d * part / threads, high = d * (part + 1) / threads;
        visit_chosen(rows, ids, 0, count, [&](const auto& view, Index i, Index p) {
            view.add_within(i, factor[p], sums, low, high);
        });
    });
}

// output[p] = x_p . weights for the chosen rows.
inline void times_of(const Rows& rows, const Index* ids, Index count, const double* weights,
                     double* output, int threads) {
    constexpr Index piece = 256;
    parallel((count + piece - 1) / piece, threads, [&](Index part, int) {
        visit_chosen(rows, ids, part * piece, std::min((part + 1) * piece, count),
                     [&](const auto& view, Index i, Index p) { output[p] = view.dot(i, weights); });
    });
}

inline void row_products(const Rows& rows, const Index* ids, Index count, const double* scale,
                         double* products, int threads) {
    constexpr Index piece = 16;
    const Index pieces = (count + piece - 1) / piece;
    const auto each_row = [&](auto&& form) {
        parallel(pieces, threads, [&](Index part, int) {
            for (Index p = part * piece; p < std::min((part + 1) * piece, count); ++p) {
                std::fill(products + p * count, products + p * count + p + 1, 0.0);
                form(p, products + p * count);
            }
        });
    };
    if (rows.is_sparse()) {
        const TurnedRows turned(rows, ids, count);
        each_row([&](Index p, double* to) {
            rows.for_each(ids[p], [&](Index k, double value) {
                if (value != 0) turned.add(k, scale[k] * value, p, to);
            });
        });
    } else {
        const Index d = rows.features;
        std::vector<double> dense(std::size_t(count * d));
        for (Index p = 0; p < count; ++p)
            rows.for_each(ids[p],
                          [&](Index k, double value) { dense[std::size_t(p * d + k)] = value; });
        each_row([&](Index p, double* to) {
            std::vector<double> own(static_cast<std::size_t>(d));
            for (Index k = 0; k < d; ++k)
                own[std::size_t(k)] = scale[k] * dense[std::size_t(p * d + k)];
            for (Index q = 0; q <= p; ++q)
                to[q] = weighted_sum(own.data(), &dense[std::size_t(q * d)], d);
        });
    }
    for (Index p = 0; p < count; ++p)
        for (Index q = 0; q < p; ++q) products[q * count + p] = products[p * count + q];
}

}  // namespace widemargin::WM_ISA
