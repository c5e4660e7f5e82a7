#include <memory>

#include "bind/arrays.hpp"
#include "solve/text_pieces.hpp"

namespace widemargin {
namespace {

struct BoundText {
    std::unique_ptr<TextPieces> pieces;
    nb::object owner;  // keeps the text alive
};

// Lets Ctrl-C act between two pieces.
void look_at_keyboard() {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class T>
T* wanted(const std::optional<Out1<T>>& array) {
    return array ? array->data() : nullptr;
}

template <class T>
T* sized(Out1<T>& array, Index length) {
    require(Index(array.shape(0)) >= length, "an array of the text is too short");
    return array.data();
}

template <class T>
T* sized(std::optional<Out1<T>>& array, Index length) {
    return array ? sized(*array, length) : nullptr;
}

BoundText cut(In1<std::uint8_t> text, int threads) {
    const auto* first = reinterpret_cast<const char*>(text.data());
    const nb::gil_scoped_release release;
    auto pieces =
        std::make_unique<TextPieces>(first, Index(text.shape(0)), threads, look_at_keyboard);
    const nb::gil_scoped_acquire acquire;
    return {std::move(pieces), nb::cast(text)};
}

std::tuple<Index, Index, Index> totals(const BoundText& text) {
    const TextCounts counts = text.pieces->totals();
    return {counts.lines, counts.colons, counts.commas};
}

// Rows, entries and labels; lowest and highest index; a sentence on the first fault and its place;
// and whether it is only that an index needs wider columns.
using Found = std::tuple<Index, Index, Index, Index, Index, std::string, Index, bool>;

template <class Value, class Column>
Found parse(const BoundText& text, Out1<Value> values, Out1<Column> columns, Out1<Column> row_ends,
            Out1<double> labels, std::optional<Out1<Index>> label_ends,
            std::optional<Out1<Index>> queries, std::optional<Out1<Index>> slacks,
            std::optional<Out1<double>> costs, std::optional<Out1<Index>> comments, int width,
            bool non_finite, bool zero_based, int shift, int threads) {
    const TextCounts counts = text.pieces->totals();
    require(width >= 0 && (shift == 0 || shift == 1), "width or shift out of range");
    const Index all_labels =
        label_ends ? counts.lines + counts.commas : counts.lines * Index(width);
    const TextStyle style{width, label_ends.has_value(), non_finite, zero_based, shift};
    const TextArrays<Value, Column> to{
        sized(values, counts.colons),     sized(columns, counts.colons),
        sized(row_ends, counts.lines),    sized(labels, all_labels),
        sized(label_ends, counts.lines),  sized(queries, counts.lines),
        sized(slacks, counts.lines),      sized(costs, counts.lines),
        sized(comments, 2 * counts.lines)};
    Parsed found;
    {
        const nb::gil_scoped_release release;
        found = text.pieces->parse(style, to, threads, look_at_keyboard);
    }
    return {found.rows,    found.entries,         found.labels, found.lowest,
            found.highest, sentence(found.fault), found.place,  found.fault == Fault::index_wide};
}

template <class Value, class Column>
void def_parse(nb::class_<BoundText>& text) {
    text.def("parse", parse<Value, Column>, nb::arg("values").noconvert(),
             nb::arg("columns").noconvert(), nb::arg("row_ends").noconvert(),
             nb::arg("labels").noconvert(), nb::arg("label_ends").noconvert().none(),
             nb::arg("queries").noconvert().none(), nb::arg("slacks").noconvert().none(),
             nb::arg("costs").noconvert().none(), nb::arg("comments").noconvert().none(),
             nb::arg("width"), nb::arg("non_finite"), nb::arg("zero_based"), nb::arg("shift"),
             nb::arg("threads"));
}

// The arrays have an entry for each row from first to last, those of labels `width` entries.
nb::bytes write(const DataRows& data, Index first, Index last, std::optional<In1<double>> labels,
                std::optional<In1<Index>> whole_labels, std::optional<In1<Index>> label_ends,
                Index width, std::optional<In1<Index>> queries, std::optional<In1<Index>> slacks,
                std::optional<In1<double>> costs, int shift, int digits, bool zeros, int threads) {
    require(0 <= first && first <= last && last <= data.view.count, "rows out of range");
    const Index count = last - first;
    require(labels.has_value() != whole_labels.has_value(), "labels of one kind");
    require(digits >= 0 && digits <= 17 && width >= 0, "digits or width out of range");
    const Index given = Index(labels ? labels->shape(0) : whole_labels->shape(0));
    if (label_ends) {
        require(Index(label_ends->shape(0)) == count, "one end of labels for each row");
        Index before = 0;
        for (Index row = 0; row < count; before = label_ends->data()[row++])
            require(label_ends->data()[row] >= before, "ends of labels must rise");
        require(before <= given, "too few labels");
    }
    require(label_ends || given == count * width, "labels for each row");
    require((!queries || Index(queries->shape(0)) == count) &&
                (!slacks || Index(slacks->shape(0)) == count) &&
                (!costs || Index(costs->shape(0)) == count),
            "one query, slack and cost for each row");
    const RowTexts texts{labels ? labels->data() : nullptr,
                         whole_labels ? whole_labels->data() : nullptr,
                         label_ends ? label_ends->data() : nullptr,
                         width,
                         queries ? queries->data() : nullptr,
                         slacks ? slacks->data() : nullptr,
                         costs ? costs->data() : nullptr};
    std::string text;
    {
        const nb::gil_scoped_release release;
        text = write_rows(data.view, first, last, texts, {shift, digits, zeros}, threads);
    }
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_svmlight(nb::module_& m) {
    nb::class_<BoundText> text(m, "Text");
    text.def_prop_ro("totals", totals);
    def_parse<float, std::int32_t>(text);
    def_parse<float, std::int64_t>(text);
    def_parse<double, std::int32_t>(text);
    def_parse<double, std::int64_t>(text);
    m.def("text", cut, nb::arg("text"), nb::arg("threads"));
    m.def("write_rows", write, nb::arg("rows"), nb::arg("first"), nb::arg("last"),
          nb::arg("labels").none(), nb::arg("whole_labels").none(), nb::arg("label_ends").none(),
          nb::arg("width"), nb::arg("queries").none(), nb::arg("slacks").none(),
          nb::arg("costs").none(), nb::arg("shift"), nb::arg("digits"), nb::arg("zeros"),
          nb::arg("threads"));
}

}  // namespace widemargin
