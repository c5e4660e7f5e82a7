// A text of many rows, parsed and written by several threads: cut at ends of lines into pieces.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/svmlight.hpp"

namespace widemargin {

// The last piece is a copy with a newline and padding behind it, so that readers may look beyond
// its end; the others have more text there.
class TextPieces {
  public:
    // Called now and then between pieces; may throw to stop.
    using Pause = std::function<void()>;

    TextPieces(const char* text, Index size, int threads, const Pause& pause,
               Index piece_bytes = 1 << 20);

    // Bounds from above of what the text holds.
    TextCounts totals() const;

    // Parses all of the text. Arrays are as large as the totals allow; afterwards what they hold is
    // at their beginning, and row and label ends count from there. The first fault of the text is
    // returned whatever the number of threads.
    template <class Value, class Column>
    Parsed parse(const TextStyle& style, const TextArrays<Value, Column>& to, int threads,
                 const Pause& pause) const;

  private:
    const char* text;
    std::vector<Index> bounds;  // pieces + 1 offsets into the text
    std::string tail;
    std::vector<TextCounts> counts;

    Index size() const { return Index(counts.size()); }
    const char* begin(Index piece) const;
    const char* end(Index piece) const;
    void cut(Index length, Index piece_bytes);
};

// Writes rows first to last, each with a newline; the texts are those of these rows.
std::string write_rows(const Rows& rows, Index first, Index last, const RowTexts& texts,
                       const WriteStyle& style, int threads);

}  // namespace widemargin
