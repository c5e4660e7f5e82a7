// The fused kernel tile: joins a few rows with a panel of columns feature by feature, and applies
// norms and kernel map before the sums leave the registers.
//   dense:  rows_per_tile x two vectors of columns; per feature one broadcast and one multiply-add
//           for each accumulator.
//   sparse: one column at a time against a block of rows that lies feature by feature; per stored
//           entry one multiply-add for each vector of rows. Zeros cost nothing, so it wins as soon
//           as about half of the entries are zero.
#pragma once
#include "math/kernel_map.hpp"
#include "solve/panels.hpp"

namespace widemargin::WM_ISA {

// Accumulators, two column vectors and one broadcast fill the registers (32 or 16).
constexpr int rows_per_tile = vector_bytes == 64 ? 12 : 6;
template <class T>
constexpr int columns_per_tile = 2 * lanes<T>;

// Rows that the sparse path takes at once: 4 vectors of AVX-512, 8 narrower ones.
template <class T>
constexpr int vectors_per_block = vector_bytes == 64 ? 4 : 8;
template <class T>
constexpr int rows_per_block = vectors_per_block<T> * lanes<T>;
constexpr int columns_per_sparse_panel = 64;

// left: [feature][rows_per_tile]; panel: [feature][columns_per_tile]. Writes `valid` rows.
template <Kind kind, class T>
inline void dense_tile(const T* left, const T* panel, Index features, const T* left_terms,
                       const T* panel_terms, const MapParameters<T>& map, T* const* out,
                       Index column, int valid) {
    constexpr int R = rows_per_tile, W = lanes<T>;
    Vector<T> sum[R][2] = {};
    for (Index k = 0; k < features; ++k) {
        const Vector<T> b0 = load(panel), b1 = load(panel + W);
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r) {
            const Vector<T> a = broadcast(left[r]);
            sum[r][0] = Accumulate<kind>::join(sum[r][0], a, b0);
            sum[r][1] = Accumulate<kind>::join(sum[r][1], a, b1);
        }
        left += R;
        panel += 2 * W;
    }
    const Vector<T> t0 = load(panel_terms), t1 = load(panel_terms + W);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
        if (r >= valid) break;
        const Vector<T> term = broadcast(left_terms[r]);
        store(out[r] + column, map_kernel<kind, T>(sum[r][0], t0, term, map));
        store(out[r] + column + W, map_kernel<kind, T>(sum[r][1], t1, term, map));
    }
}

// The kernel values of one sparse column against a block of rows: result[row in the block].
template <Kind kind, class T, bool mapped>
inline void sparse_column(const SparsePanel<T>& panel, int column, T column_term, const T* block,
                          const std::int32_t* slot_of, const T* block_terms,
                          const MapParameters<T>& map, T* result) {
    constexpr int V = vectors_per_block<T>, W = lanes<T>;
    Vector<T> sum[V] = {};
    for (Index e = panel.starts[column]; e < panel.starts[column + 1]; ++e) {
        const Index feature = panel.features[e];
        const T* row = block + (mapped ? Index(slot_of[feature]) : feature) * (V * W);
        const Vector<T> value = broadcast(panel.values[e]);
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) sum[v] += value * load(row + v * W);
    }
    const Vector<T> term = broadcast(column_term);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
        const Vector<T> block_term = load(block_terms + v * W);
        store(result + v * W, map_kernel<kind, T>(sum[v], term, block_term, map));
    }
}

// Writes results[column][row] to out[row][column], a square of vectors at a time.
template <class T>
inline void scatter_rows(const T* results, int columns, int valid, T* const* out, Index column) {
    constexpr int W = lanes<T>, B = rows_per_block<T>;
    for (int r = 0; r < valid; r += W) {
        const int rows = valid - r < W ? valid - r : W;
        for (int c = 0; c < columns; c += W) {
            Vector<T> square[W];
#pragma GCC unroll 16
            for (int i = 0; i < W; ++i) square[i] = load(results + (c + i) * B + r);
            transpose<T>(square);
#pragma GCC unroll 16
            for (int i = 0; i < W; ++i) {
                if (i < rows) store(out[r + i] + column + c, square[i]);
            }
        }
    }
}

}  // namespace widemargin::WM_ISA
