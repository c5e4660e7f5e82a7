// Any bytes are parsed and written without touching memory that is not theirs, by any number of
// threads alike, and what was written parses to the same numbers. For libFuzzer, or with
// fuzz_main.cpp; always with the sanitizers of addresses and undefined behaviour.
#include <bit>
#include <cstdlib>
#include <memory>

#include "data/svmlight.hpp"
#include "solve/text_pieces.hpp"

namespace {

using namespace widemargin;

void check(bool condition) {
    if (!condition) std::abort();
}

// Arrays of exactly the size that the totals promise.
template <class Value, class Column>
struct Read {
    std::vector<Value> values;
    std::vector<Column> columns, row_ends;
    std::vector<double> labels, costs;
    std::vector<Index> label_ends, queries, slacks, comments;
    Parsed found;

    Read(const std::string& text, const TextStyle& style, int threads, Index piece_bytes) {
        const auto pause = [] {};
        const TextPieces pieces(text.data(), Index(text.size()), threads, pause, piece_bytes);
        const TextCounts counts = pieces.totals();
        const auto lines = std::size_t(counts.lines);
        values.resize(std::size_t(counts.colons));
        columns.resize(values.size());
        row_ends.resize(lines);
        labels.resize(style.multilabel ? lines + std::size_t(counts.commas)
                                       : lines * std::size_t(style.labels));
        for (auto* array : {&label_ends, &queries, &slacks}) array->resize(lines);
        costs.resize(lines);
        comments.resize(2 * lines);
        found = pieces.parse(
            style,
            TextArrays<Value, Column>{values.data(), columns.data(), row_ends.data(), labels.data(),
                                      style.multilabel ? label_ends.data() : nullptr,
                                      queries.data(), slacks.data(), costs.data(), comments.data()},
            threads, pause);
        check(found.place >= 0 && found.place <= Index(text.size()));
        if (found.fault != Fault::none) return;
        check(found.rows <= counts.lines && found.entries <= counts.colons);
        check(found.labels <= Index(labels.size()));
        check_rows(text, style);
    }

    void check_rows(const std::string& text, const TextStyle& style) const {
        Index first = 0;
        for (Index row = 0; row < found.rows; ++row) {
            const Index last = row_ends[std::size_t(row)];
            check(first <= last && last <= found.entries);
            for (Index e = first; e < last; ++e) {
                check(columns[std::size_t(e)] >= -style.shift);
                check(e == first || columns[std::size_t(e)] > columns[std::size_t(e - 1)]);
            }
            const Index* comment = comments.data() + 2 * row;
            check(0 <= comment[0] && comment[0] <= comment[1] && comment[1] <= Index(text.size()));
            first = last;
        }
        check(first == found.entries);
    }

    Rows rows() const {
        Rows view;
        view.count = found.rows;
        view.features = found.highest + 1;
        view.values = values.data();
        view.is_double = sizeof(Value) == sizeof(double);
        return view;
    }
};

template <class T>
bool same(T a, T b) {
    return std::bit_cast<std::array<char, sizeof(T)>>(a) ==
               std::bit_cast<std::array<char, sizeof(T)>>(b) ||
           (a != a && b != b);
}

template <class Value, class Column>
void expect_equal(const Read<Value, Column>& a, const Read<Value, Column>& b) {
    check(a.found.fault == b.found.fault);
    if (a.found.fault != Fault::none) return;
    check(a.found.rows == b.found.rows && a.found.entries == b.found.entries);
    check(a.found.labels == b.found.labels && a.found.lowest == b.found.lowest);
    check(a.found.highest == b.found.highest);
    for (std::size_t e = 0; e < std::size_t(a.found.entries); ++e)
        check(same(a.values[e], b.values[e]) && a.columns[e] == b.columns[e]);
    for (std::size_t k = 0; k < std::size_t(a.found.labels); ++k)
        check(same(a.labels[k], b.labels[k]));
    for (std::size_t row = 0; row < std::size_t(a.found.rows); ++row) {
        check(a.row_ends[row] == b.row_ends[row] && a.queries[row] == b.queries[row]);
        check(a.slacks[row] == b.slacks[row] && same(a.costs[row], b.costs[row]));
    }
}

template <class Value, class Column>
void read_and_write(const std::string& text, const TextStyle& style) {
    using Reading = Read<Value, Column>;
    const Reading read(text, style, 1, Index(1) << 20);
    const Reading pieces(text, style, 3, 40);
    expect_equal(read, pieces);
    if (read.found.fault != Fault::none) {
        check(read.found.place == pieces.found.place);
        return;
    }
    std::vector<Column> starts(read.row_ends.begin(), read.row_ends.begin() + read.found.rows);
    starts.insert(starts.begin(), 0);
    Rows rows = read.rows();
    rows.starts = starts.data();
    rows.columns = read.columns.data();
    rows.wide_starts = rows.wide_columns = sizeof(Column) == 8;
    const RowTexts texts{read.labels.data(),
                         nullptr,
                         style.multilabel ? read.label_ends.data() : nullptr,
                         style.labels,
                         read.queries.data(),
                         read.slacks.data(),
                         read.costs.data()};
    const std::string written =
        write_rows(rows, 0, rows.count, texts, WriteStyle{style.shift, 0, false}, 2);
    expect_equal(read, Reading(written, style, 1, Index(1) << 20));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const int choice = data[0];
    const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
    TextStyle style;
    style.multilabel = choice & 1;
    style.non_finite = choice & 2;
    style.zero_based = choice & 4;
    style.shift = !style.zero_based || (choice & 8) ? 1 : 0;
    style.labels = choice & 16 ? 2 : 1;
    if (choice & 32) read_and_write<double, std::int64_t>(text, style);
    else if (choice & 64) read_and_write<float, std::int32_t>(text, style);
    else read_and_write<double, std::int32_t>(text, style);
    return 0;
}
