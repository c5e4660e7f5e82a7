// Pairs `index:value` whose value is one digit, as in files of categories, found 64 characters at a
// time.
//
// Bit k of a mask tells something about character k. A pair is seen at its colon, behind which one
// digit and a blank or newline must stand, and before which there are digits alone; so all pairs of
// a window are known before the first of them is read, and where one begins does not have to wait
// for the one before it.
#pragma once
#include "data/number_text.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace widemargin {

inline constexpr int window_size = 64;

struct ShortPairs {
    std::uint64_t colons = 0;  // of the pairs that the text begins with
    std::uint64_t newlines = 0;
};

#ifdef __SSE2__

[[gnu::always_inline]] inline ShortPairs find_short_pairs(const char* text) {
    std::uint64_t digits = 0, colons = 0, blanks = 0, newlines = 0;
    for (int part = 0; part < window_size; part += 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + part));
        const auto mask = [part](__m128i bytes) {
            return std::uint64_t(unsigned(_mm_movemask_epi8(bytes))) << part;
        };
        const auto equal = [&](char c) { return mask(_mm_cmpeq_epi8(x, _mm_set1_epi8(c))); };
        const __m128i sizes = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        digits |= mask(_mm_cmpeq_epi8(_mm_min_epu8(sizes, _mm_set1_epi8(9)), sizes));
        colons |= equal(':');
        blanks |= equal(' ');
        newlines |= equal('\n');
    }
    const std::uint64_t pairs = colons & (digits >> 1) & ((blanks | newlines) >> 2);
    const std::uint64_t without_index = pairs & ((pairs << 3) | 1);
    const std::uint64_t others = ~(digits | pairs | (pairs << 2)) | without_index;
    const std::uint64_t before = (others & (0 - others)) - 1;  // all, if there are no others
    return {pairs & before, newlines};
}

#else

inline ShortPairs find_short_pairs(const char*) {
    return {};
}

#endif

}  // namespace widemargin
