// Packing: rows of any storage become panels (columns of the kernel block) or left rows.
#pragma once
#include <algorithm>

#include "math/parallel.hpp"
#include "solve/kernel_tile.hpp"

namespace widemargin::WM_ISA {

// Compilers fuse a multiplication and an addition in one loop and not in another; asked for by
// name, they do it wherever the machine can, and a norm is the same number wherever it is computed.
inline double plus_square(double sum, double value) {
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(value, value, sum);
#else
    return sum + value * value;
#endif
}

// A panel is packed and a left row is packed by these same few lines, so that k(a, b) = k(b, a) to
// the last bit: values are rounded to T first, and the norm is that of the rounded values.
template <class T, class Visit>
inline double visit_rounded(const Panels<T>& panels, const Rows& rows, Index row, Visit&& visit) {
    double squared = 0;
    const double* centre = panels.centre.empty() ? nullptr : panels.centre.data();
    const auto take = [&](Index feature, double value) {
        const T rounded = T(centre ? value - centre[feature] : value);
        squared = plus_square(squared, double(rounded));
        visit(feature, rounded);
    };
    if (centre && rows.is_sparse()) {  // an entry that is not stored is a zero, which moves too
        Index next = 0;
        const auto fill_to = [&](Index end) {
            for (; next < end; ++next) take(next, 0.0);
        };
        rows.for_each(row, [&](Index feature, double value) {
            fill_to(feature);
            take(next++, value);
        });
        fill_to(rows.features);
    } else {
        panels.sparse ? rows.for_each_nonzero(row, take) : rows.for_each(row, take);
    }
    return squared;
}

template <class T>
inline void pack_dense_panel(const Panels<T>& panels, Index panel, T* to) {
    const Index width = panels.width, first = panel * width;
    const Index features = panels.source.features;
    if (panels.source.is_sparse() || first + width > panels.columns())
        std::fill(to, to + features * width, T(0));
    for (Index c = 0; c < width && first + c < panels.columns(); ++c)
        visit_rounded(panels, panels.source, panels.chosen[first + c],
                      [&](Index k, T value) { to[k * width + c] = value; });
}

// Packs the rows of a sparse panel behind each other; starts are offsets into values.
template <class T>
inline void pack_sparse_rows(const Panels<T>& panels, Index first, Index last,
                             std::vector<Index>& starts, std::vector<std::int32_t>& features,
                             Buffer<T>& values) {
    starts.assign(1, 0);
    features.clear();
    Index total = 0;
    for (Index c = first; c < last; ++c) total += panels.source.entries(panels.chosen[c]);
    values.resize(std::size_t(total));
    for (Index c = first; c < last; ++c) {
        visit_rounded(panels, panels.source, panels.chosen[c], [&](Index k, T value) {
            values[features.size()] = value;
            features.push_back(std::int32_t(k));
        });
        starts.push_back(Index(features.size()));
    }
}

template <class T>
void pack_panels(Panels<T>& panels, int threads) {
    panels.width = panels.sparse ? columns_per_sparse_panel : columns_per_tile<T>;
    const Index columns = panels.columns(), count = panels.panel_count();
    const Index width = panels.width, features = panels.source.features;
    panels.terms.resize(std::size_t(padded(columns)));
    std::fill(panels.terms.data(), panels.terms.data() + padded(columns), T(0));
    parallel(count, threads, [&](Index p, int) {
        for (Index c = p * width; c < std::min((p + 1) * width, columns); ++c) {
            const double squared =
                visit_rounded(panels, panels.source, panels.chosen[c], [](Index, T) {});
            panels.terms[c] = T(row_term(panels.kernel, squared));
        }
    });
    if (!panels.stored) return;
    if (panels.sparse) {
        pack_sparse_rows(panels, 0, columns, panels.starts, panels.features, panels.values);
        panels.features.shrink_to_fit();
        return;
    }
    panels.values.resize(std::size_t(count * width * features));
    parallel(count, threads, [&](Index p, int) {
        pack_dense_panel(panels, p, panels.values.data() + p * width * features);
    });
}

// Rows of the left side, packed for the tile; count <= capacity chosen by the driver.
template <class T>
struct LeftRows {
    Index count = 0;
    Index groups = 0;      // groups of rows_per_tile, or blocks of rows_per_block
    Index group_size = 0;  // elements of one group
    Buffer<T> values;      // [group][feature or slot][row in the group]
    Buffer<T> terms;       // padded to whole groups
    bool mapped = false;   // sparse with many features: only features that occur have a slot
    std::vector<std::int32_t> slot_of;  // slot 0 holds zeros
    std::vector<Index> occurring;

    void pack(const Panels<T>& panels, const Rows& rows, const Index* ids, Index n);

  private:
    void lay_out(const Panels<T>& panels, const Rows& rows, const Index* ids);
};

constexpr Index features_without_map = 4096;

template <class T>
void LeftRows<T>::lay_out(const Panels<T>& panels, const Rows& rows, const Index* ids) {
    const Index size = panels.sparse ? rows_per_block<T> : rows_per_tile;
    groups = (count + size - 1) / size;
    Index slots = rows.features;
    mapped = panels.sparse && rows.features > features_without_map;
    if (mapped) {
        if (Index(slot_of.size()) != rows.features) slot_of.assign(rows.features, 0);
        for (const Index feature : occurring) slot_of[feature] = 0;
        occurring.clear();
        for (Index i = 0; i < count; ++i)
            rows.for_each_nonzero(ids[i], [&](Index k, double) {
                if (slot_of[k]) return;
                occurring.push_back(k);
                slot_of[k] = std::int32_t(occurring.size());
            });
        slots = Index(occurring.size()) + 1;
    }
    group_size = slots * size;
    const auto needed = std::size_t(groups * group_size);
    if (values.size() < needed) values.resize(needed);
    if (Index(terms.size()) < groups * size) terms.resize(std::size_t(groups * size));
}

template <class T>
void LeftRows<T>::pack(const Panels<T>& panels, const Rows& rows, const Index* ids, Index n) {
    count = n;
    lay_out(panels, rows, ids);
    const Index size = panels.sparse ? rows_per_block<T> : rows_per_tile;
    const bool leaves_gaps = panels.sparse || rows.is_sparse() || count % size != 0;
    if (leaves_gaps) std::fill(values.data(), values.data() + groups * group_size, T(0));
    std::fill(terms.data(), terms.data() + groups * size, T(0));
    for (Index i = 0; i < count; ++i) {
        T* to = values.data() + i / size * group_size + i % size;
        const double squared = visit_rounded(panels, rows, ids[i], [&](Index k, T value) {
            to[(mapped ? Index(slot_of[k]) : k) * size] = value;
        });
        terms[i] = T(row_term(panels.kernel, squared));
    }
}

}  // namespace widemargin::WM_ISA
