#include "data/number_text.hpp"
#include "data/svmlight.hpp"

namespace widemargin {
namespace {

class RowWriter {
  public:
    RowWriter(std::string& out, int digits) : out(out), digits(digits) {}

    void labels(const RowTexts& texts, Index row) {
        const bool list = texts.label_ends != nullptr;
        const Index first = list ? (row ? texts.label_ends[row - 1] : 0) : row * texts.width;
        const Index last = list ? texts.label_ends[row] : first + texts.width;
        for (Index k = first; k < last; ++k) {
            if (k > first) out += list ? ',' : ' ';
            texts.labels ? number(texts.labels[k]) : number(texts.whole_labels[k]);
        }
    }

    template <class T>
    void pair(const char* name, T value) {
        out += ' ';
        out += name;
        number(value);
    }

    template <class T>
    void entry(Index index, T value) {
        out += ' ';
        number(index);
        out += ':';
        number(value);
    }

  private:
    std::string& out;
    const int digits;

    template <class T>
    void number(T value) {
        char text[longest_number];
        if constexpr (std::is_integral_v<T>)
            out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
        else out.append(text, write_number(text, value, digits));
    }
};

}  // namespace

void write_row(std::string& out, const Rows& rows, Index row, const RowTexts& texts, Index place,
               const WriteStyle& style) {
    RowWriter writer(out, style.digits);
    writer.labels(texts, place);
    if (texts.queries) writer.pair("qid:", texts.queries[place]);
    if (texts.slacks) writer.pair("sid:", texts.slacks[place]);
    if (texts.costs) writer.pair("cost:", texts.costs[place]);
    const bool all = style.zeros || rows.is_sparse();
    rows.for_each(row, [&](Index column, double value) {
        if (value == 0 && !all) return;
        if (rows.is_double) writer.entry(column + style.shift, value);
        else writer.entry(column + style.shift, float(value));
    });
}

}  // namespace widemargin
