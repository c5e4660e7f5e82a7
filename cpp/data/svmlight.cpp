#include "data/svmlight.hpp"

#include <algorithm>

#include "data/number_text.hpp"
#include "data/short_pairs.hpp"
#include "data/usual_pair.hpp"

namespace widemargin {
namespace {

bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

bool ends_word(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '#';
}

// Reads a whole number with or without a sign; null if there is none or it is too large.
const char* read_whole(const char* text, Index& value) {
    const char* last = text += *text == '+';
    while (!ends_word(*last)) ++last;
    const auto [end, error] = std::from_chars(text, last, value);
    return error == std::errc{} && end == last ? end : nullptr;
}

// Reads the lines of a piece one after the other; `p` says where it stands.
template <class Value, class Column>
class LineReader {
  public:
    LineReader(const char* begin, const char* end, Index origin, const TextCounts& counts,
               const TextStyle& style, const TextArrays<Value, Column>& to)
        : p(begin),
          begin(begin),
          end(end),
          origin(origin),
          // Where pairs are so short, most of them have one digit behind the colon.
          short_pairs(2 * (end - begin) < 13 * counts.colons),
          style(style),
          to(to) {}

    Parsed read() {
        while (p < end && result.fault == Fault::none) {
            skip_blanks();
            if (*p == '\n') ++p;
            else if (*p == '#') p = line_end() + 1;
            else if (read_row()) ++result.rows;
        }
        return result;
    }

  private:
    static constexpr std::uint64_t largest = std::min<std::uint64_t>(
        std::numeric_limits<Column>::max(), std::numeric_limits<Index>::max() - 1);
    const char* p;
    const char* const begin;
    const char* const end;
    const Index origin;
    const bool short_pairs;
    const TextStyle style;
    const TextArrays<Value, Column> to;
    Parsed result;

    void skip_blanks() {
        while (is_blank(*p)) ++p;
    }

    const char* line_end() const {
        if (*p == '\n') return p;
        return static_cast<const char*>(std::memchr(p, '\n', std::size_t(end - p)));
    }

    Index offset(const char* place) const { return origin + (place - begin); }

    bool fail(Fault fault, const char* place) {
        result.fault = fault;
        result.place = offset(place);
        return false;
    }

    bool read_row() {
        const Index row = result.rows;
        if (to.queries) to.queries[row] = 0;
        if (to.slacks) to.slacks[row] = 0;
        if (to.costs) to.costs[row] = 1;
        if (!(style.multilabel ? read_label_list() : read_labels())) return false;
        skip_blanks();
        if (!read_entries()) return false;
        const char* const last = line_end();
        if (to.comments) keep_comment(row, last);
        p = last + 1;
        return true;
    }

    void keep_comment(Index row, const char* last) {
        if (last > p && last[-1] == '\r') --last;
        const bool any = *p == '#' && last > p;
        to.comments[2 * row] = any ? offset(p) + 1 : 0;
        to.comments[2 * row + 1] = any ? offset(last) : 0;
    }

    // One digit, perhaps with a sign, as most labels are.
    bool read_short_label() {
        const bool minus = *p == '-', sign = minus || *p == '+';
        const unsigned digit = static_cast<unsigned char>(p[sign]) - unsigned('0');
        if (digit > 9 || (p[sign + 1] != ' ' && p[sign + 1] != '\n')) return false;
        to.labels[result.labels++] = (1.0 - 2.0 * minus) * digit;
        p += sign + 1;
        return true;
    }

    bool read_label(char separator) {
        if (read_short_label()) return true;
        double value = 0;
        const char* const last = read_number(p, value);
        if (!last || !(ends_word(*last) || *last == separator)) {
            const char* word = last ? last : p;
            while (!ends_word(*word) && *word != ':') ++word;
            return fail(*word == ':' ? Fault::label_missing : Fault::label_wrong, p);
        }
        if (!std::isfinite(value) && !style.non_finite) return fail(Fault::label_not_finite, p);
        to.labels[result.labels++] = value;
        p = last;
        return true;
    }

    bool read_labels() {
        for (int k = 0; k < style.labels; ++k) {
            skip_blanks();
            if (!read_label(' ')) return false;
        }
        return true;
    }

    // Labels separated by commas; none if the first word is an entry or another pair.
    bool read_label_list() {
        const char* word = p;
        while (!ends_word(*word) && *word != ':') ++word;
        if (*word != ':') {
            if (!read_label(',')) return false;
            while (*p == ',') {
                ++p;
                if (!read_label(',')) return false;
            }
        }
        to.label_ends[result.rows] = result.labels;
        return true;
    }

    // Reads the pairs of a row; afterwards `p` is at the newline or the comment.
    bool read_entries() {
        const Index before = result.entries;
        Index entry = before, previous = style.zero_based ? -1 : 0;
        const char* at = p;
        if (short_pairs && read_short_pairs(at, entry, previous)) p = at;
        else if (!read_pairs(at, entry, previous)) return false;
        if (entry > before) {
            const Index first = Index(to.columns[before]) + style.shift;
            result.lowest = result.lowest < 0 ? first : std::min(result.lowest, first);
            result.highest = std::max(result.highest, previous);
        }
        result.entries = entry;
        to.row_ends[result.rows] = Column(entry);
        return true;
    }

    // Reads pairs for as long as their values are one digit; whether that is to the end of the
    // line.
    bool read_short_pairs(const char*& at, Index& entry, Index& previous) const {
        while (true) {
            auto [colons, newlines] = find_short_pairs(at);
            if (colons == 0) return false;
            unsigned start = 0;
            for (; colons != 0; colons &= colons - 1) {
                const auto colon = unsigned(std::countr_zero(colons));
                if (colon - start > 8) break;
                const std::uint64_t index = digits_between(at, start, colon);
                if (Index(index) <= previous) break;
                previous = Index(index);
                to.values[entry] = Value(at[colon + 1] - '0');
                to.columns[entry] = Column(previous - style.shift);
                ++entry;
                start = colon + 3;
                if (newlines >> (colon + 2) & 1) {
                    at += colon + 2;
                    return true;
                }
            }
            at += start;
            if (colons != 0) return false;
        }
    }

    // Reads pairs of any form; afterwards `p` is at the newline or the comment.
    bool read_pairs(const char* at, Index& entry, Index& previous) {
        while (true) {
            UsualPair pair = read_usual_pair(at);
            if (!pair.valid) [[unlikely]] {
                p = at;
                skip_blanks();
                if (*p == '\n' || *p == '#') return true;
                if (!read_word(pair)) return false;
                at = p;
                if (!pair.valid) continue;
            }
            if (pair.index > largest) return fail(wide_fault(pair.index), at);
            if (Index(pair.index) <= previous) return fail(order_fault(pair.index), at);
            previous = Index(pair.index);
            to.values[entry] = Value(pair.value);
            to.columns[entry] = Column(previous - style.shift);
            ++entry;
            at += pair.length;
            if (pair.ends_line) {
                p = at;
                return true;
            }
            ++at;
        }
    }

    // Reads any word behind the labels: a pair of unusual form, or qid:, sid: or cost:, whose
    // number is kept.
    bool read_word(UsualPair& pair) {
        const char* colon = p;
        const int digits = append_digits(colon, pair.index);
        if (digits == 0) return read_prefixed();
        if (*colon != ':') return fail(Fault::pair_wrong, p);
        if (digits > 19) return fail(Fault::index_large, p);
        const char* const last = read_number(colon + 1, pair.value);
        if (!last || !ends_word(*last)) return fail(Fault::value_wrong, colon + 1);
        if (!std::isfinite(Value(pair.value)) && !style.non_finite)
            return fail(Fault::value_not_finite, colon + 1);
        pair.valid = true;
        pair.length = int(last - p) - (*last != ' ');  // what is no blank is looked at again
        return true;
    }

    Fault order_fault(std::uint64_t index) const {
        return index == 0 && !style.zero_based ? Fault::index_zero : Fault::index_order;
    }

    static Fault wide_fault(std::uint64_t index) {
        return index < std::uint64_t(std::numeric_limits<Index>::max()) ? Fault::index_wide
                                                                        : Fault::index_large;
    }

    // qid:, sid: or cost: at `p`.
    bool read_prefixed() {
        const char* const word = p;
        if (std::memcmp(word, "cost:", 5) == 0) {
            double cost = 1;
            const char* const last = read_number(word + 5, cost);
            if (!last || !ends_word(*last) || !std::isfinite(cost))
                return fail(Fault::cost_wrong, word + 5);
            if (to.costs) to.costs[result.rows] = cost;
            p = last;
            return true;
        }
        const bool query = std::memcmp(word, "qid:", 4) == 0;
        if (!query && std::memcmp(word, "sid:", 4) != 0) return fail(Fault::pair_wrong, word);
        Index number = 0;
        const char* const last = read_whole(word + 4, number);
        if (!last) return fail(query ? Fault::query_wrong : Fault::slack_wrong, word + 4);
        Index* const numbers = query ? to.queries : to.slacks;
        if (numbers) numbers[result.rows] = number;
        p = last;
        return true;
    }
};

}  // namespace

const char* sentence(Fault fault) {
    switch (fault) {
        case Fault::none:
            return "";
        case Fault::label_missing:
            return "the row has no label before its first index:value pair";
        case Fault::label_wrong:
            return "the label is not a number";
        case Fault::label_not_finite:
            return "the label is not finite";
        case Fault::pair_wrong:
            return "expected index:value";
        case Fault::value_wrong:
            return "the value is not a number";
        case Fault::value_not_finite:
            return "the value is not finite";
        case Fault::index_zero:
            return "index 0 in a file whose indices begin at 1";
        case Fault::index_order:
            return "indices must rise from entry to entry of a row";
        case Fault::index_large:
            return "the index does not fit into 64 bits";
        case Fault::index_wide:
            return "the index does not fit into 32 bits";
        case Fault::query_wrong:
            return "qid: needs a whole number";
        case Fault::slack_wrong:
            return "sid: needs a whole number";
        case Fault::cost_wrong:
            return "cost: needs a finite number";
    }
    return "";
}

TextCounts count_marks(const char* begin, const char* end) {
    constexpr int lanes = 64;
    TextCounts counts;
    while (begin < end) {
        // Counters of one byte each, for as long as they cannot overflow.
        std::uint8_t lines[lanes] = {}, colons[lanes] = {}, commas[lanes] = {};
        const Index steps = std::min<Index>(255, (end - begin) / lanes);
        for (Index step = 0; step < steps; ++step, begin += lanes)
            for (int k = 0; k < lanes; ++k) {
                lines[k] += begin[k] == '\n';
                colons[k] += begin[k] == ':';
                commas[k] += begin[k] == ',';
            }
        for (int k = 0; k < lanes; ++k) {
            counts.lines += lines[k];
            counts.colons += colons[k];
            counts.commas += commas[k];
        }
        if (steps == 0)
            for (; begin < end; ++begin) {
                counts.lines += *begin == '\n';
                counts.colons += *begin == ':';
                counts.commas += *begin == ',';
            }
    }
    return counts;
}

template <class Value, class Column>
Parsed parse_lines(const char* begin, const char* end, Index origin, const TextCounts& counts,
                   const TextStyle& style, const TextArrays<Value, Column>& to) {
    return LineReader<Value, Column>(begin, end, origin, counts, style, to).read();
}

template Parsed parse_lines(const char*, const char*, Index, const TextCounts&, const TextStyle&,
                            const TextArrays<float, std::int32_t>&);
template Parsed parse_lines(const char*, const char*, Index, const TextCounts&, const TextStyle&,
                            const TextArrays<float, std::int64_t>&);
template Parsed parse_lines(const char*, const char*, Index, const TextCounts&, const TextStyle&,
                            const TextArrays<double, std::int32_t>&);
template Parsed parse_lines(const char*, const char*, Index, const TextCounts&, const TextStyle&,
                            const TextArrays<double, std::int64_t>&);

}  // namespace widemargin
