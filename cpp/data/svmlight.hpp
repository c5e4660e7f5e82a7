// The text format of LIBSVM and SVMlight, one row a line:
//
//     label [qid:number] [sid:number] [cost:number] index:value index:value ...  # comment
//
// Text is parsed in pieces of whole lines, which are independent of one another. The caller counts
// first, so that every piece knows where in the arrays its numbers go and nothing is copied twice.
#pragma once
#include <string>

#include "data/rows.hpp"

namespace widemargin {

struct TextCounts {
    Index lines = 0, colons = 0, commas = 0;
};

// Bounds from above: rows <= lines, entries <= colons, labels <= lines + commas.
TextCounts count_marks(const char* begin, const char* end);

enum class Fault {
    none,
    label_missing,
    label_wrong,
    label_not_finite,
    pair_wrong,
    value_wrong,
    value_not_finite,
    index_zero,
    index_order,
    index_large,
    index_wide,  // does not fit the type of `columns`: parse again with a wider one
    query_wrong,
    slack_wrong,
    cost_wrong,
};

const char* sentence(Fault fault);

struct TextStyle {
    int labels = 1;           // numbers at the start of each line,
    bool multilabel = false;  // or any count of them, separated by commas
    bool non_finite = false;  // whether nan and inf are values
    bool zero_based = true;   // whether an index of 0 is allowed
    int shift = 0;            // what is taken off each index
};

// Where the numbers of a piece go; null where they are not wanted.
template <class Value, class Column>
struct TextArrays {
    Value* values;
    Column* columns;
    Column* row_ends;  // entries of the piece up to the end of each row
    double* labels;
    Index* label_ends = nullptr;  // multilabel only
    Index* queries = nullptr;
    Index* slacks = nullptr;
    double* costs = nullptr;
    Index* comments = nullptr;  // first and last character of each, as offsets
};

struct Parsed {
    Index rows = 0, entries = 0, labels = 0;
    Index lowest = -1, highest = -1;  // index in the text; -1 without entries
    Fault fault = Fault::none;
    Index place = 0;  // of the fault, as offset from the beginning plus the origin
};

// Parses whole lines; end[-1] is a newline, and `text_padding` characters behind it can be read.
// `origin` is added to offsets; `counts` are those of the lines.
template <class Value, class Column>
Parsed parse_lines(const char* begin, const char* end, Index origin, const TextCounts& counts,
                   const TextStyle& style, const TextArrays<Value, Column>& to);

// What stands before and behind the entries of a row; null where there is nothing.
struct RowTexts {
    const double* labels = nullptr;       // one row of `width` for each row,
    const Index* whole_labels = nullptr;  // or a whole number,
    const Index* label_ends = nullptr;    // or, separated by commas, as many as these bounds tell
    Index width = 1;
    const Index* queries = nullptr;
    const Index* slacks = nullptr;
    const double* costs = nullptr;
};

struct WriteStyle {
    int shift = 0;       // what is added to each column
    int digits = 0;      // significant digits; 0 for the shortest text that reads back the same
    bool zeros = false;  // whether zeros of dense rows are written
};

// Appends a row and the texts of a place, without the end of the line.
void write_row(std::string& out, const Rows& rows, Index row, const RowTexts& texts, Index place,
               const WriteStyle& style);

}  // namespace widemargin
