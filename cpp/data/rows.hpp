// Rows: samples as one concept, whether they lie in a dense array (float or double, any strides) or
// in compressed sparse rows (32- or 64-bit indices). A view: it owns nothing and copies nothing.
#pragma once
#include <cstddef>
#include <cstdint>

namespace widemargin {

using Index = std::int64_t;  // a row, a column or a count of them

struct Rows {
    Index count = 0;
    Index features = 0;
    const void* values = nullptr;  // dense: the array; sparse: the stored entries
    bool is_double = true;
    Index row_stride = 0, column_stride = 0;  // dense only, in elements
    const void* starts = nullptr;             // sparse only: count + 1 offsets into the entries
    const void* columns = nullptr;  // sparse only: feature of each entry, ascending in a row
    bool wide_starts = false, wide_columns = false;

    bool is_sparse() const { return starts != nullptr; }

    // Calls visit(feature, value) for each stored entry of a row (dense: for each feature).
    template <class Visit>
    void for_each(Index row, Visit&& visit) const {
        is_double ? visit_typed<double>(row, visit) : visit_typed<float>(row, visit);
    }

    // Calls visit(feature, value) for each entry of a row that is not zero.
    template <class Visit>
    void for_each_nonzero(Index row, Visit&& visit) const {
        for_each(row, [&](Index feature, double value) {
            if (value != 0.0) visit(feature, value);
        });
    }

    // Stored entries of a row; every feature of a dense one.
    Index entries(Index row) const { return is_sparse() ? start(row + 1) - start(row) : features; }

    // Whether the offsets of sparse rows stay within so many entries and never go back.
    bool starts_within(Index entries) const {
        if (start(0) < 0 || start(count) > entries) return false;
        for (Index row = 0; row < count; ++row)
            if (start(row) > start(row + 1)) return false;
        return true;
    }

    // Whether all stored features of sparse rows exist; only then may rows be visited.
    bool columns_within_features() const {
        return wide_columns ? within_features(static_cast<const std::int64_t*>(columns))
                            : within_features(static_cast<const std::int32_t*>(columns));
    }

  private:
    template <class Column>
    bool within_features(const Column* column) const {
        bool outside = false;  // no early return: a loop without a way out is vector code
        for (Index e = start(0); e < start(count); ++e)
            outside |= column[e] < 0 || Index(column[e]) >= features;
        return !outside;
    }

    Index start(Index row) const {
        return wide_starts ? static_cast<const std::int64_t*>(starts)[row]
                           : static_cast<const std::int32_t*>(starts)[row];
    }

    template <class Value, class Visit>
    void visit_typed(Index row, Visit& visit) const {
        const auto* typed = static_cast<const Value*>(values);
        if (!is_sparse()) {
            const Value* first = typed + row * row_stride;
            for (Index k = 0; k < features; ++k) visit(k, double(first[k * column_stride]));
        } else if (wide_columns) {
            visit_sparse(typed, static_cast<const std::int64_t*>(columns), row, visit);
        } else {
            visit_sparse(typed, static_cast<const std::int32_t*>(columns), row, visit);
        }
    }

    template <class Value, class Column, class Visit>
    void visit_sparse(const Value* typed, const Column* column, Index row, Visit& visit) const {
        const Index end = start(row + 1);
        for (Index e = start(row); e < end; ++e) visit(Index(column[e]), double(typed[e]));
    }
};

}  // namespace widemargin
