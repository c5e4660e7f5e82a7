#include "solve/text_pieces.hpp"

#include <algorithm>
#include <string_view>

#include "data/number_text.hpp"
#include "math/parallel.hpp"

namespace widemargin {
namespace {

constexpr Index pieces_at_once = 64;  // for each thread, between two pauses
constexpr Index rows_of_piece = 256;  // written by one thread at a time

template <class Work>
void over_pieces(Index count, int threads, const TextPieces::Pause& pause, Work&& work) {
    for (Index first = 0; first < count; first += pieces_at_once * threads) {
        const Index last = std::min(count, first + pieces_at_once * threads);
        parallel(last - first, threads, [&](Index k, int) { work(first + k); });
        pause();
    }
}

template <class T>
T* shifted(T* array, Index offset) {
    return array ? array + offset : nullptr;
}

// The arrays of a piece, which begins at these places.
template <class Value, class Column>
TextArrays<Value, Column> at(const TextArrays<Value, Column>& to, const Parsed& place) {
    return {shifted(to.values, place.entries),   shifted(to.columns, place.entries),
            shifted(to.row_ends, place.rows),    shifted(to.labels, place.labels),
            shifted(to.label_ends, place.rows),  shifted(to.queries, place.rows),
            shifted(to.slacks, place.rows),      shifted(to.costs, place.rows),
            shifted(to.comments, 2 * place.rows)};
}

template <class T>
void move_down(T* to, const T* from, Index count) {
    if (to != from && to) std::copy(from, from + count, to);
}

// Moves what a piece holds down to its final place and makes its ends count from the beginning.
template <class Value, class Column>
void settle(const TextArrays<Value, Column>& to, const TextArrays<Value, Column>& from,
            const Parsed& place, const Parsed& found) {
    move_down(to.values, from.values, found.entries);
    move_down(to.columns, from.columns, found.entries);
    move_down(to.labels, from.labels, found.labels);
    move_down(to.queries, from.queries, found.rows);
    move_down(to.slacks, from.slacks, found.rows);
    move_down(to.costs, from.costs, found.rows);
    move_down(to.comments, from.comments, 2 * found.rows);
    for (Index row = 0; row < found.rows; ++row)
        to.row_ends[row] = from.row_ends[row] + Column(place.entries);
    for (Index row = 0; to.label_ends && row < found.rows; ++row)
        to.label_ends[row] = from.label_ends[row] + place.labels;
}

void add(Parsed& total, const Parsed& part) {
    total.rows += part.rows;
    total.entries += part.entries;
    total.labels += part.labels;
    total.highest = std::max(total.highest, part.highest);
    if (part.lowest >= 0)
        total.lowest = total.lowest < 0 ? part.lowest : std::min(total.lowest, part.lowest);
}

}  // namespace

TextPieces::TextPieces(const char* text, Index size, int threads, const Pause& pause,
                       Index piece_bytes)
    : text(text) {
    cut(size, piece_bytes);
    over_pieces(Index(counts.size()), threads, pause,
                [&](Index k) { counts[std::size_t(k)] = count_marks(begin(k), end(k)); });
}

void TextPieces::cut(Index length, Index piece_bytes) {
    bounds.push_back(0);
    const Index last = std::max<Index>(0, length - text_padding);
    while (bounds.back() < last) {
        const Index from = bounds.back(), near = std::min(from + piece_bytes, last);
        std::size_t newline = std::string_view(text + from, std::size_t(near - from)).rfind('\n');
        if (newline == std::string_view::npos)  // a line longer than a piece
            newline = std::string_view(text + from, std::size_t(last - from)).find('\n');
        if (newline == std::string_view::npos) break;
        bounds.push_back(from + Index(newline) + 1);
    }
    tail.assign(text + bounds.back(), std::size_t(length - bounds.back()));
    if (tail.empty() || tail.back() != '\n') tail += '\n';
    tail.append(text_padding, '\n');
    bounds.push_back(length);
    counts.resize(bounds.size() - 1);
}

const char* TextPieces::begin(Index piece) const {
    return piece + 1 == size() ? tail.data() : text + bounds[std::size_t(piece)];
}

const char* TextPieces::end(Index piece) const {
    return piece + 1 == size() ? tail.data() + tail.size() - text_padding
                               : text + bounds[std::size_t(piece) + 1];
}

TextCounts TextPieces::totals() const {
    TextCounts total;
    for (const TextCounts& part : counts) {
        total.lines += part.lines;
        total.colons += part.colons;
        total.commas += part.commas;
    }
    return total;
}

template <class Value, class Column>
Parsed TextPieces::parse(const TextStyle& style, const TextArrays<Value, Column>& to, int threads,
                         const Pause& pause) const {
    std::vector<Parsed> places(counts.size()), found(counts.size());
    for (std::size_t k = 1; k < counts.size(); ++k) {
        const TextCounts& before = counts[k - 1];
        places[k] = places[k - 1];
        places[k].rows += before.lines;
        places[k].entries += before.colons;
        places[k].labels +=
            style.multilabel ? before.lines + before.commas : before.lines * style.labels;
    }
    over_pieces(size(), threads, pause, [&](Index k) {
        const auto piece = std::size_t(k);
        found[piece] = parse_lines(begin(k), end(k), bounds[piece], counts[piece], style,
                                   at(to, places[piece]));
    });
    Parsed total;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        if (found[k].fault != Fault::none) return found[k];
        settle(at(to, total), at(to, places[k]), total, found[k]);
        add(total, found[k]);
    }
    return total;
}

template Parsed TextPieces::parse(const TextStyle&, const TextArrays<float, std::int32_t>&, int,
                                  const Pause&) const;
template Parsed TextPieces::parse(const TextStyle&, const TextArrays<float, std::int64_t>&, int,
                                  const Pause&) const;
template Parsed TextPieces::parse(const TextStyle&, const TextArrays<double, std::int32_t>&, int,
                                  const Pause&) const;
template Parsed TextPieces::parse(const TextStyle&, const TextArrays<double, std::int64_t>&, int,
                                  const Pause&) const;

std::string write_rows(const Rows& rows, Index first, Index last, const RowTexts& texts,
                       const WriteStyle& style, int threads) {
    std::vector<std::string> parts(std::size_t((last - first + rows_of_piece - 1) / rows_of_piece));
    parallel(Index(parts.size()), threads, [&](Index piece, int) {
        const Index begin = first + piece * rows_of_piece;
        std::string& part = parts[std::size_t(piece)];
        for (Index row = begin; row < std::min(last, begin + rows_of_piece); ++row) {
            write_row(part, rows, row, texts, row - first, style);
            part += '\n';
        }
    });
    std::string whole;
    std::size_t size = 0;
    for (const std::string& part : parts) size += part.size();
    whole.reserve(size);
    for (const std::string& part : parts) whole += part;
    return whole;
}

}  // namespace widemargin
