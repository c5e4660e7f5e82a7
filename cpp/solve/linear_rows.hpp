// Rows of the data as the loops of linear machines want them: typed once for many rows, so that no
// decision is taken for each entry.
#pragma once
#include <algorithm>
#include <vector>

#include "solve/kernel_rows.hpp"
#include "solve/linear_types.hpp"

namespace widemargin::WM_ISA {

constexpr Index lines_fetched = 16;  // of a row; the processor sees by itself how it goes on

template <class T>
inline void fetch_lines(const T* first, Index count) {
    const char* at = reinterpret_cast<const char*>(first);
    const Index bytes = std::min(count * Index(sizeof(T)), 64 * lines_fetched);
    for (Index byte = 0; byte < bytes; byte += 64) __builtin_prefetch(at + byte);
    if (bytes > 0) __builtin_prefetch(at + bytes - 1);  // rows begin anywhere in a line
}

// A number that the compiler may not load together with others: where processors gather slowly, as
// since the mending of their faults, a vector of loads takes twice the time of as many single ones.
inline double one_by_one(double value) {
#if defined(__x86_64__) && defined(__GNUC__)
    asm("" : "+x"(value));
#endif
    return value;
}

// Rows whose features lie side by side; entry i of a range begins at values + i * stride.
template <class T>
struct DenseView {
    const T* values;
    Index stride, features;

    double dot(Index i, const double* weights) const {
        return weighted_sum(values + i * stride, weights, features);
    }

    void add(Index i, double factor, double* sums) const {
        const T* x = values + i * stride;
        const Vector<double> scale = broadcast(factor);
        Index k = 0;
        for (; k + lanes<double> <= features; k += lanes<double>)
            store(sums + k, load(sums + k) + scale * load_as_double(x + k));
        for (; k < features; ++k) sums[k] += factor * double(x[k]);
    }

    void add_within(Index i, double factor, double* sums, Index low, Index high) const {
        const T* x = values + i * stride;
        for (Index k = low; k < high; ++k) sums[k] += factor * double(x[k]);
    }

    // Asks for a row that will be needed soon.
    void fetch(Index i) const { fetch_lines(values + i * stride, features); }

    Index entries(Index) const { return features; }

    void fetch_place(Index) const {}

    template <class Visit>
    void for_each(Index i, Visit&& visit) const {
        const T* x = values + i * stride;
        for (Index k = 0; k < features; ++k) visit(k, double(x[k]));
    }
};

template <class T, class Column, class Start>
struct SparseView {
    const T* values;
    const Column* columns;
    const Start* starts;
    Index offset, step;

    template <class Visit>
    void for_each(Index i, Visit&& visit) const {
        const Index row = offset + i * step, end = Index(starts[row + 1]);
        for (Index e = Index(starts[row]); e < end; ++e)
            visit(Index(columns[e]), double(values[e]));
    }

    Index entries(Index i) const {
        const Index row = offset + i * step;
        return Index(starts[row + 1]) - Index(starts[row]);
    }

    // What `fetch` reads itself.
    void fetch_place(Index i) const { __builtin_prefetch(starts + offset + i * step); }

    void fetch(Index i) const {
        const Index row = offset + i * step, from = Index(starts[row]);
        fetch_lines(values + from, Index(starts[row + 1]) - from);
        fetch_lines(columns + from, Index(starts[row + 1]) - from);
    }

    double dot(Index i, const double* weights) const {
        const Index row = offset + i * step, end = Index(starts[row + 1]);
        double sums[4] = {};  // four sums hide the latency of the additions
        Index e = Index(starts[row]);
        for (; e + 4 <= end; e += 4)
            for (int k = 0; k < 4; ++k)
                sums[k] += double(values[e + k]) * one_by_one(weights[columns[e + k]]);
        for (; e < end; ++e) sums[0] += double(values[e]) * weights[columns[e]];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    // The entries of features low .. high alone; they ascend in a row.
    void add_within(Index i, double factor, double* sums, Index low, Index high) const {
        const Index row = offset + i * step;
        const Column* end = columns + Index(starts[row + 1]);
        const Column* at = std::lower_bound(columns + Index(starts[row]), end, Column(low));
        for (; at < end && Index(*at) < high; ++at)
            sums[*at] += factor * double(values[at - columns]);
    }

    void add(Index i, double factor, double* sums) const {
        for_each(i, [&](Index k, double value) { sums[k] += factor * value; });
    }
};

constexpr Index rows_turned_at_once = 64;

// Columns that lie apart (Fortran order): a few rows at a time are laid side by side.
template <class T, class Visit>
void visit_turned(const Rows& rows, const RowRange& range, Index from, Index to, Visit& visit) {
    std::vector<T> turned(std::size_t(rows_turned_at_once * rows.features));
    const T* base = static_cast<const T*>(rows.values);
    for (Index first = from; first < to; first += rows_turned_at_once) {
        const Index last = std::min(first + rows_turned_at_once, to);
        for (Index k = 0; k < rows.features; ++k)
            for (Index i = first; i < last; ++i)
                turned[std::size_t((i - first) * rows.features + k)] =
                    base[(range.offset + i * range.step) * rows.row_stride +
                         k * rows.column_stride];
        visit(DenseView<T>{turned.data() - first * rows.features, rows.features, rows.features},
              first, last);
    }
}

template <class T, class Column, class Start, class Visit>
void visit_sparse(const Rows& rows, const RowRange& range, Index from, Index to, Visit& visit) {
    visit(SparseView<T, Column, Start>{static_cast<const T*>(rows.values),
                                       static_cast<const Column*>(rows.columns),
                                       static_cast<const Start*>(rows.starts), range.offset,
                                       range.step},
          from, to);
}

template <class T, class Visit>
void visit_typed(const Rows& rows, const RowRange& range, Index from, Index to, Visit& visit) {
    using Narrow = std::int32_t;
    using Wide = std::int64_t;
    if (!rows.is_sparse() && rows.column_stride == 1) {
        const T* base = static_cast<const T*>(rows.values) + range.offset * rows.row_stride;
        visit(DenseView<T>{base, range.step * rows.row_stride, rows.features}, from, to);
    } else if (!rows.is_sparse()) {
        visit_turned<T>(rows, range, from, to, visit);
    } else if (rows.wide_columns) {
        rows.wide_starts ? visit_sparse<T, Wide, Wide>(rows, range, from, to, visit)
                         : visit_sparse<T, Wide, Narrow>(rows, range, from, to, visit);
    } else {
        rows.wide_starts ? visit_sparse<T, Narrow, Wide>(rows, range, from, to, visit)
                         : visit_sparse<T, Narrow, Narrow>(rows, range, from, to, visit);
    }
}

// Calls visit(view, from, to), once or for a few parts of the entries from .. to.
template <class Visit>
void visit_rows(const Rows& rows, const RowRange& range, Index from, Index to, Visit&& visit) {
    rows.is_double ? visit_typed<double>(rows, range, from, to, visit)
                   : visit_typed<float>(rows, range, from, to, visit);
}

// Stored entries of an average row.
inline double mean_entries(const Rows& rows) {
    if (!rows.is_sparse()) return double(rows.features);
    const Index last = rows.wide_starts ? static_cast<const std::int64_t*>(rows.starts)[rows.count]
                                        : static_cast<const std::int32_t*>(rows.starts)[rows.count];
    return double(last) / double(std::max<Index>(1, rows.count));
}

}  // namespace widemargin::WM_ISA
