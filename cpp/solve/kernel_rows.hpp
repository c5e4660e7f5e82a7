// Kernel blocks by panels, on all cores: whole rows written out, or reduced at once to weighted
// sums over rows (the update of a machine's outputs) or over columns (decision values,
// certificates) so that the block never reaches memory. Every value and every sum is computed in an
// order that does not depend on the number of threads.
#pragma once
#include "solve/kernel_panel.hpp"

namespace widemargin::WM_ISA {

template <class T>
Index left_group(const Panels<T>& panels) {
    return panels.sparse ? rows_per_block<T> : rows_per_tile;
}

// Left rows packed together: as many as keep the packed block within about a megabyte of cache,
// in whole tiles; a single block when features are mapped, since each map is of its own.
template <class T>
Index left_chunk(const Panels<T>& panels) {
    const Index size = left_group(panels);
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
    const PanelWorker<T> compute(panels);
    const Index chunk = left_chunk(panels), count = panels.panel_count();
    LeftRows<T> left;
    std::vector<Scratch<T>> scratch(threads);
    for (Index first = 0; first < n; first += chunk) {
        left.pack(panels, rows, ids + first, std::min(chunk, n - first));
        parallel((count + panels_at_once - 1) / panels_at_once, threads, [&](Index piece, int w) {
            const Index end = std::min((piece + 1) * panels_at_once, count);
            for (Index p = piece * panels_at_once; p < end; ++p)
                compute.rows(p, left, out + first, p * panels.width, scratch[w]);
        });
    }
}

// Writes the values below the diagonal of a square to the places above it, of W destination rows.
template <class T>
void mirror_rows(T* const* square, Index n, Index first) {
    constexpr Index W = lanes<T>;
    const Index last = std::min(first + W, n);
    Index i = std::min(first + W, n);
    for (Index j = first; j < last; ++j)
        for (Index below = j + 1; below < i; ++below) square[j][below] = square[below][j];
    if (last - first == W) {
        for (; i + W <= n; i += W) {
            Vector<T> tile[W];
#pragma GCC unroll 16
            for (Index r = 0; r < W; ++r) tile[r] = load(square[i + r] + first);
            transpose<T>(tile);
#pragma GCC unroll 16
            for (Index r = 0; r < W; ++r) store(square[first + r] + i, tile[r]);
        }
    }
    for (; i < n; ++i)
        for (Index j = first; j < last; ++j) square[j][i] = square[i][j];
}

// square[i][j] = k(column i, column j). The tiles below the diagonal and on it are computed, the
// others are their mirror image, which is equal to the last bit.
template <class T>
void kernel_square(const Panels<T>& panels, T* const* square, int threads) {
    const PanelWorker<T> compute(panels);
    const Index chunk = left_chunk(panels), group = left_group(panels);
    const Index n = panels.columns(), width = panels.width;
    LeftRows<T> left;
    std::vector<Scratch<T>> scratch(threads);
    for (Index first = 0; first < n; first += chunk) {
        const Index last = std::min(first + chunk, n);
        left.pack(panels, panels.source, panels.chosen.data() + first, last - first);
        parallel((last + width - 1) / width, threads, [&](Index p, int w) {
            const Index above = std::max<Index>(0, p * width - first) / group;
            compute.rows(p, left, square + first, p * width, scratch[w], above);
        });
    }
    parallel((n + lanes<T> - 1) / lanes<T>, threads,
             [&](Index piece, int) { mirror_rows(square, n, piece * lanes<T>); });
}

// outputs[j] += sum over the n rows ids of moves[i] k(rows[ids[i]], j), for every column j. The
// kernel values never leave the cache.
template <class T>
void kernel_update(const Panels<T>& panels, const Rows& rows, const Index* ids, Index n,
                   const double* moves, double* outputs, int threads) {
    const PanelWorker<T> compute(panels);
    const Index chunk = left_chunk(panels), count = panels.panel_count();
    const Index group = left_group(panels);
    LeftRows<T> left;
    std::vector<Scratch<T>> scratch(threads);
    for (Index first = 0; first < n; first += chunk) {
        const Index packed = std::min(chunk, n - first);
        left.pack(panels, rows, ids + first, packed);
        std::vector<double> padded_moves(std::size_t((packed + group - 1) / group * group), 0.0);
        std::copy(moves + first, moves + first + packed, padded_moves.begin());
        parallel((count + panels_at_once - 1) / panels_at_once, threads, [&](Index piece, int w) {
            const Index end = std::min((piece + 1) * panels_at_once, count);
            for (Index p = piece * panels_at_once; p < end; ++p)
                compute.update(p, left, padded_moves.data(), outputs, scratch[w]);
        });
    }
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
    const PanelWorker<T> compute(panels);
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
                compute.rows(j / panels.width, worker.left, worker.out.data(), j - first,
                             worker.scratch);
            reduce_columns(sums, columns, worker.out.data(), first, last, count,
                           result + top * row_size);
        }
    });
}

}  // namespace widemargin::WM_ISA
