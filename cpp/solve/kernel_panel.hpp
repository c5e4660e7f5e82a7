// One panel of columns against packed left rows: the values themselves, or at once the sums that
// they go into. Only computing the values depends on the kernel; the rest is written once.
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
    Buffer<T> tile{std::size_t(rows_per_tile * columns_per_tile<T>)};
    Buffer<double> partial{std::size_t(columns_per_sparse_panel * lanes<double>)};
};

// Values of a dense panel against one group of rows_per_tile left rows.
template <Kind kind, class T>
void dense_group(const Panels<T>& panels, Index panel, const T* values, const LeftRows<T>& left,
                 Index group, T* const* out, Index column) {
    const Index row = group * rows_per_tile;
    dense_tile<kind, T>(left.values.data() + group * left.group_size, values,
                        panels.source.features, left.terms.data() + row,
                        panels.terms.data() + panel * panels.width, MapParameters<T>(panels.kernel),
                        out, column, int(std::min<Index>(rows_per_tile, left.count - row)));
}

// Values of a sparse panel against one block of left rows: results[column][row in the block].
template <Kind kind, class T, bool mapped>
void sparse_group(const Panels<T>& panels, Index panel, SparsePanel<T> packed,
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

template <class T>
struct PanelFunctions {
    void (*dense)(const Panels<T>&, Index, const T*, const LeftRows<T>&, Index, T* const*, Index);
    void (*sparse)(const Panels<T>&, Index, SparsePanel<T>, const LeftRows<T>&, Index, T*);
    void (*mapped)(const Panels<T>&, Index, SparsePanel<T>, const LeftRows<T>&, Index, T*);
};

template <Kind kind, class T>
PanelFunctions<T> functions_of() {
    if constexpr (kind == Kind::laplacian || kind == Kind::chi_squared ||
                  kind == Kind::intersection)
        return {dense_group<kind, T>, nullptr, nullptr};
    else return {dense_group<kind, T>, sparse_group<kind, T, false>, sparse_group<kind, T, true>};
}

template <class T>
PanelFunctions<T> choose_functions(Kind kind) {
    switch (kind) {
        case Kind::linear:
            return functions_of<Kind::linear, T>();
        case Kind::polynomial:
            return functions_of<Kind::polynomial, T>();
        case Kind::rbf:
            return functions_of<Kind::rbf, T>();
        case Kind::sigmoid:
            return functions_of<Kind::sigmoid, T>();
        case Kind::laplacian:
            return functions_of<Kind::laplacian, T>();
        case Kind::chi_squared:
            return functions_of<Kind::chi_squared, T>();
        case Kind::intersection:
            return functions_of<Kind::intersection, T>();
        default:
            return functions_of<Kind::cosine, T>();
    }
}

template <class T>
class PanelWorker {
  public:
    explicit PanelWorker(const Panels<T>& panels)
        : panels(panels), functions(choose_functions<T>(panels.kernel.kind)) {}

    // out[i][column + c] = k(left row i, column c of the panel), for the left rows from a group on.
    void rows(Index panel, const LeftRows<T>& left, T* const* out, Index column,
              Scratch<T>& scratch, Index first_group = 0) const {
        if (!panels.sparse) {
            const T* values = dense_values(panel, scratch);
            for (Index g = first_group; g < left.groups; ++g)
                functions.dense(panels, panel, values, left, g, out + g * rows_per_tile, column);
            return;
        }
        const SparsePanel<T> packed = sparse_values(panel, scratch);
        for (Index g = first_group; g < left.groups; ++g) {
            const Index row = g * rows_per_block<T>;
            sparse_results(panel, packed, left, g, scratch);
            scatter_rows<T>(scratch.results.data(), columns_per_sparse_panel,
                            int(std::min<Index>(rows_per_block<T>, left.count - row)), out + row,
                            column);
        }
    }

    // outputs[column of the panel] += sum over left rows i of moves[i] k(i, column).
    // moves holds zeros up to a whole number of groups.
    void update(Index panel, const LeftRows<T>& left, const double* moves, double* outputs,
                Scratch<T>& scratch) const {
        panels.sparse ? update_sparse(panel, left, moves, outputs, scratch)
                      : update_dense(panel, left, moves, outputs, scratch);
    }

  private:
    const Panels<T>& panels;
    PanelFunctions<T> functions;

    const T* dense_values(Index panel, Scratch<T>& scratch) const {
        const Index size = panels.source.features * panels.width;
        if (panels.stored) return panels.values.data() + panel * size;
        if (Index(scratch.panel.size()) < size) scratch.panel.resize(std::size_t(size));
        pack_dense_panel(panels, panel, scratch.panel.data());
        return scratch.panel.data();
    }

    SparsePanel<T> sparse_values(Index panel, Scratch<T>& scratch) const {
        const Index first = panel * panels.width;
        if (panels.stored)
            return {panels.starts.data() + first, panels.features.data(), panels.values.data()};
        const Index last = std::min(first + panels.width, panels.columns());
        pack_sparse_rows(panels, first, last, scratch.starts, scratch.features, scratch.values);
        return {scratch.starts.data(), scratch.features.data(), scratch.values.data()};
    }

    void sparse_results(Index panel, SparsePanel<T> packed, const LeftRows<T>& left, Index group,
                        Scratch<T>& scratch) const {
        (left.mapped ? functions.mapped : functions.sparse)(panels, panel, packed, left, group,
                                                            scratch.results.data());
    }

    void update_dense(Index panel, const LeftRows<T>& left, const double* moves, double* outputs,
                      Scratch<T>& scratch) const {
        constexpr int width = columns_per_tile<T>, vectors = width / lanes<double>;
        const T* values = dense_values(panel, scratch);
        T* out[rows_per_tile];
        for (int r = 0; r < rows_per_tile; ++r) out[r] = scratch.tile.data() + r * width;
        Vector<double> sum[vectors] = {};
        for (Index g = 0; g < left.groups; ++g) {
            functions.dense(panels, panel, values, left, g, out, 0);
            const Index row = g * rows_per_tile;
            const int valid = int(std::min<Index>(rows_per_tile, left.count - row));
            for (int r = 0; r < valid; ++r)
#pragma GCC unroll 8
                for (int v = 0; v < vectors; ++v)
                    sum[v] += moves[row + r] * load_as_double(out[r] + v * lanes<double>);
        }
        const Index first = panel * panels.width;
        double total[width];
        for (int v = 0; v < vectors; ++v) store(total + v * lanes<double>, sum[v]);
        for (int c = 0; c < width && first + c < panels.columns(); ++c)
            outputs[first + c] += total[c];
    }

    void update_sparse(Index panel, const LeftRows<T>& left, const double* moves, double* outputs,
                       Scratch<T>& scratch) const {
        constexpr int rows = rows_per_block<T>;
        const Index first = panel * panels.width;
        const Index columns = std::min(panels.width, panels.columns() - first);
        const SparsePanel<T> packed = sparse_values(panel, scratch);
        double* partial = scratch.partial.data();
        std::fill(partial, partial + columns * lanes<double>, 0.0);
        for (Index g = 0; g < left.groups; ++g) {
            sparse_results(panel, packed, left, g, scratch);
            const double* weights = moves + g * rows;
            for (Index c = 0; c < columns; ++c) {
                const T* result = scratch.results.data() + c * rows;
                Vector<double> even = load(partial + c * lanes<double>), odd{};
#pragma GCC unroll 8
                for (int r = 0; r < rows; r += 2 * lanes<double>) {
                    even += load_as_double(result + r) * load(weights + r);
                    odd += load_as_double(result + r + lanes<double>) *
                           load(weights + r + lanes<double>);
                }
                store(partial + c * lanes<double>, even + odd);
            }
        }
        for (Index c = 0; c < columns; ++c)
            outputs[first + c] += sum_of_lanes<double>(load(partial + c * lanes<double>));
    }
};

}  // namespace widemargin::WM_ISA
