// Kernel blocks by panels, on all cores: whole rows written out (training), or reduced at once to
// weighted sums (decision values, certificates) so that the block never reaches memory.
// Every value and every sum is computed in an order that does not depend on the number of threads.
#pragma once
#include "solve/hot.hpp"
#include "solve/packing.hpp"

namespace widemargin::WM_ISA {

template <class T>
struct Scratch {  // of one thread
    Buffer<T> panel;
    std::vector<Index> starts;
    std::vector<std::int32_t> features;
    Buffer<T> values;
    Buffer<T> results{std::size_t(columns_per_sparse_panel * rows_per_block<T>)};
};

template <Kind kind, class T>
void dense_panel(const Panels<T>& panels, Index panel, const LeftRows<T>& left, T* const* out,
                 Index column, Scratch<T>& scratch) {
    const Index features = panels.source.features, size = features * panels.width;
    const T* values = panels.values.data() + panel * size;
    if (!panels.stored) {
        if (Index(scratch.panel.size()) < size) scratch.panel.resize(std::size_t(size));
        pack_dense_panel(panels, panel, scratch.panel.data());
        values = scratch.panel.data();
    }
    const MapParameters<T> map(panels.kernel);
    for (Index g = 0; g < left.groups; ++g) {
        const Index row = g * rows_per_tile;
        dense_tile<kind, T>(left.values.data() + g * left.group_size, values, features,
                            left.terms.data() + row, panels.terms.data() + panel * panels.width,
                            map, out + row, column,
                            int(std::min<Index>(rows_per_tile, left.count - row)));
    }
}

template <Kind kind, class T, bool mapped>
void sparse_block(const Panels<T>& panels, Index panel, SparsePanel<T> packed,
                  const LeftRows<T>& left, Index group, T* results) {
    const Index first = panel * panels.width;
    const Index columns = std::min(panels.width, panels.columns() - first);
    const MapParameters<T> map(panels.kernel);
    for (Index c = 0; c < columns; ++c)
        sparse_column<kind, T, mapped>(
            packed, int(c), panels.terms[first + c], left.values.data() + group * left.group_size,
            left.slot_of.data(), left.terms.data() + group * rows_per_block<T>, map,
            results + c * rows_per_block<T>);
}

template <Kind kind, class T>
void sparse_panel(const Panels<T>& panels, Index panel, const LeftRows<T>& left, T* const* out,
                  Index column, Scratch<T>& scratch) {
    const Index first = panel * panels.width;
    SparsePanel<T> packed{panels.starts.data() + first, panels.features.data(),
                          panels.values.data()};
    if (!panels.stored) {
        const Index last = std::min(first + panels.width, panels.columns());
        pack_sparse_rows(panels, first, last, scratch.starts, scratch.features, scratch.values);
        packed = {scratch.starts.data(), scratch.features.data(), scratch.values.data()};
    }
    for (Index g = 0; g < left.groups; ++g) {
        const Index row = g * rows_per_block<T>;
        const auto block = left.mapped ? sparse_block<kind, T, true> : sparse_block<kind, T, false>;
        block(panels, panel, packed, left, g, scratch.results.data());
        scatter_rows<T>(scratch.results.data(), columns_per_sparse_panel,
                        int(std::min<Index>(rows_per_block<T>, left.count - row)), out + row,
                        column);
    }
}

template <class T>
using PanelFunction = void (*)(const Panels<T>&, Index, const LeftRows<T>&, T* const*, Index,
                               Scratch<T>&);

template <Kind kind, class T>
PanelFunction<T> panel_function(bool sparse) {
    if constexpr (kind == Kind::laplacian || kind == Kind::chi_squared ||
                  kind == Kind::intersection)
        return dense_panel<kind, T>;
    else return sparse ? sparse_panel<kind, T> : dense_panel<kind, T>;
}

template <class T>
PanelFunction<T> choose_panel_function(const Panels<T>& panels) {
    const bool s = panels.sparse;
    switch (panels.kernel.kind) {
        case Kind::linear:
            return panel_function<Kind::linear, T>(s);
        case Kind::polynomial:
            return panel_function<Kind::polynomial, T>(s);
        case Kind::rbf:
            return panel_function<Kind::rbf, T>(s);
        case Kind::sigmoid:
            return panel_function<Kind::sigmoid, T>(s);
        case Kind::laplacian:
            return panel_function<Kind::laplacian, T>(s);
        case Kind::chi_squared:
            return panel_function<Kind::chi_squared, T>(s);
        case Kind::intersection:
            return panel_function<Kind::intersection, T>(s);
        default:
            return panel_function<Kind::cosine, T>(s);
    }
}

// Left rows packed together: as many as keep the packed block within about a megabyte of cache,
// in whole tiles; a single block when features are mapped, since each map is of its own.
template <class T>
Index left_chunk(const Panels<T>& panels) {
    const Index size = panels.sparse ? rows_per_block<T> : rows_per_tile;
    const Index features = std::max<Index>(1, panels.source.features);
    if (panels.sparse && features > features_without_map) return size;
    const Index fit = (Index(1) << 20) / Index(sizeof(T)) / features / size * size;
    return std::max(size, fit);
}

constexpr Index panels_at_once = 4;

// out[i][0 .. padded(columns)) = k(rows[ids[i]], column) for the n rows ids.
template <class T>
void kernel_rows(const Panels<T>& panels, const Rows& rows, const Index* ids, Index n,
                 T* const* out, int threads) {
    const PanelFunction<T> compute = choose_panel_function(panels);
    const Index chunk = left_chunk(panels), count = panels.panel_count();
    LeftRows<T> left;
    std::vector<Scratch<T>> scratch(threads);
    for (Index first = 0; first < n; first += chunk) {
        left.pack(panels, rows, ids + first, std::min(chunk, n - first));
        parallel((count + panels_at_once - 1) / panels_at_once, threads, [&](Index piece, int w) {
            const Index end = std::min((piece + 1) * panels_at_once, count);
            for (Index p = piece * panels_at_once; p < end; ++p)
                compute(panels, p, left, out + first, p * panels.width, scratch[w]);
        });
    }
}

inline Vector<double> load_as_double(const double* from) {
    return load(from);
}

inline Vector<double> load_as_double(const float* from) {
    typedef float Half __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const Half*>(from), Vector<double>);
}

// sum of a[j] * weights[j]; four partial sums hide the latency of the additions.
template <class T>
inline double weighted_sum(const T* a, const double* weights, Index n) {
    constexpr Index W = lanes<double>;
    Vector<double> sum[4] = {};
    Index j = 0;
    for (; j + 4 * W <= n; j += 4 * W)
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u)
            sum[u] += load_as_double(a + j + u * W) * load(weights + j + u * W);
    double rest = 0;
    for (; j < n; ++j) rest += double(a[j]) * weights[j];
    return sum_of_lanes<double>((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

template <class T>
void reduce_columns(const ColumnSums& sums, Index columns, const T* const* block, Index first,
                    Index last, Index rows, double* result) {
    for (Index g = 0; g < sums.groups; ++g) {
        const Index from = std::max(first, sums.group_starts[g]);
        const Index to = std::min(last, sums.group_starts[g + 1]);
        if (from >= to) continue;
        for (Index i = 0; i < rows; ++i)
            for (Index o = 0; o < sums.outputs; ++o)
                result[(i * sums.groups + g) * sums.outputs + o] += weighted_sum(
                    block[i] + (from - first), sums.weights + o * columns + from, to - from);
    }
}

constexpr Index columns_per_reduction = 512;

template <class T>
void kernel_sums(const Panels<T>& panels, const Rows& rows, const Index* ids, Index n,
                 const ColumnSums& sums, double* result, int threads) {
    const PanelFunction<T> compute = choose_panel_function(panels);
    const Index chunk = std::min<Index>(left_chunk(panels), panels.sparse ? 64 : 48);
    const Index chunks = (n + chunk - 1) / chunk, columns = panels.columns();
    const Index row_size = sums.groups * sums.outputs;
    std::fill(result, result + n * row_size, 0.0);
    struct Worker {
        Scratch<T> scratch;
        LeftRows<T> left;
        Buffer<T> block;
        std::vector<T*> out;
    };
    std::vector<Worker> workers(threads);
    parallel(chunks, threads, [&](Index c, int w) {
        Worker& worker = workers[w];
        if (worker.out.empty()) {
            worker.block.resize(std::size_t(chunk * columns_per_reduction));
            for (Index i = 0; i < chunk; ++i)
                worker.out.push_back(worker.block.data() + i * columns_per_reduction);
        }
        const Index top = c * chunk, count = std::min(chunk, n - top);
        worker.left.pack(panels, rows, ids + top, count);
        for (Index first = 0; first < columns; first += columns_per_reduction) {
            const Index last = std::min(first + columns_per_reduction, columns);
            for (Index j = first; j < last; j += panels.width)
                compute(panels, j / panels.width, worker.left, worker.out.data(), j - first,
                        worker.scratch);
            reduce_columns(sums, columns, worker.out.data(), first, last, count,
                           result + top * row_size);
        }
    });
}

}  // namespace widemargin::WM_ISA
