// Panels: the columns of a kernel block, laid out for the tile. A panel is a group of rows of the
// data that the tile takes at once: dense, feature by feature (values[feature][row in the panel]),
// or sparse, row by row. Panels are stored once if memory allows, or packed anew at each use.
#pragma once
#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "data/rows.hpp"
#include "math/kernel_spec.hpp"

namespace widemargin {

// Uninitialised memory on a cache line boundary.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t count) { resize(count); }
    void resize(std::size_t count) {
        const std::size_t unit = count * sizeof(T) < 2 * huge_page ? 64 : huge_page;
        const std::size_t bytes = (count * sizeof(T) + unit - 1) / unit * unit;
        memory_.reset(bytes ? static_cast<T*>(std::aligned_alloc(unit, bytes)) : nullptr);
        if (bytes && !memory_) throw std::bad_alloc();
#ifdef __linux__
        if (unit == huge_page) madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // a wish
#endif
        size_ = count;
    }
    T* data() { return memory_.get(); }
    const T* data() const { return memory_.get(); }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return memory_.get()[i]; }
    const T& operator[](std::size_t i) const { return memory_.get()[i]; }

  private:
    static constexpr std::size_t huge_page = 1 << 21;
    struct Release {
        void operator()(T* p) const { std::free(p); }
    };
    std::unique_ptr<T, Release> memory_;
    std::size_t size_ = 0;
};

// The rows [0, rows) of one panel in sparse form: offsets, features and values.
template <class T>
struct SparsePanel {
    const Index* starts;
    const std::int32_t* features;
    const T* values;
};

constexpr Index row_padding =
    64;  // kernel rows are written in whole multiples of this many columns

inline Index padded(Index count) {
    return (count + row_padding - 1) / row_padding * row_padding;
}

template <class T>
struct Panels {
    KernelSpec kernel;
    Rows source;
    std::vector<Index> chosen;   // the rows of the source that are the columns here
    std::vector<double> centre;  // subtracted from every row (distances only), or empty
    bool sparse = false;
    bool stored = true;
    Index width = 0;            // columns in a panel
    Buffer<T> terms;            // one per column, see row_term
    Buffer<T> values;           // stored dense panels, or the values of sparse rows
    std::vector<Index> starts;  // stored sparse rows
    std::vector<std::int32_t> features;

    Index columns() const { return Index(chosen.size()); }
    Index panel_count() const { return (columns() + width - 1) / width; }
    // Bytes held beyond the source.
    std::size_t bytes() const {
        return values.size() * sizeof(T) + terms.size() * sizeof(T) +
               features.size() * sizeof(std::int32_t) + starts.size() * sizeof(Index) +
               chosen.size() * sizeof(Index);
    }
};

}  // namespace widemargin
