// The pair `index:value` as almost all of them are written, read at one glance: up to eight digits,
// a colon, and a number with at most fifteen digits and no exponent, all in sixteen characters.
//
// Bit k of a mask tells something about character k. The next pair can begin to be read as soon as
// the first blank is found; where the words of this pair end follows from the masks by a few
// operations without any branch, so that a mixture of short and long, whole and fractional numbers
// costs no mispredicted jumps.
#pragma once
#include "data/number_text.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace widemargin {

struct UsualPair {
    bool valid = false;
    bool ends_line = false;
    int length = 0;  // up to the blank or newline behind it
    std::uint64_t index = 0;
    double value = 0;
};

#ifdef __SSE2__

[[gnu::always_inline]] inline UsualPair read_usual_pair(const char* text) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
    const auto equal = [&](char c) { return _mm_cmpeq_epi8(x, _mm_set1_epi8(c)); };
    const auto mask = [](__m128i bytes) { return unsigned(_mm_movemask_epi8(bytes)); };
    const auto lowest = [](unsigned mask) { return mask & (0u - mask); };
    constexpr unsigned beyond = 1u << 16;
    const unsigned end = lowest(mask(_mm_or_si128(equal(' '), equal('\n'))) | beyond);
    // What is no digit: a colon, a minus behind it, a point and the end, and nothing else.
    const __m128i digits = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
    unsigned others = beyond | (0xffff & ~mask(is_digit));
    const unsigned colon = lowest(others);
    const unsigned minus = (colon << 1) & mask(equal('-'));
    others ^= colon | minus;
    const unsigned whole_end = lowest(others);
    const unsigned point = whole_end & mask(equal('.'));
    others ^= point;
    const unsigned end_at = unsigned(std::countr_zero(end));
    const unsigned colon_at = unsigned(std::countr_zero(colon));
    const unsigned value_at = colon_at + 1 + (minus != 0);
    const unsigned whole_end_at = unsigned(std::countr_zero(whole_end));
    const unsigned fraction_at = whole_end_at + (point != 0);
    const unsigned whole = whole_end_at - value_at, fraction = end_at - fraction_at;
    const bool valid = (colon & mask(equal(':'))) && end == lowest(others) && end != beyond &&
                       colon_at - 1 < 8 && whole <= 8 && fraction <= 8 && whole + fraction - 1 < 15;
    if (!valid) return {};
    std::uint64_t mantissa = digits_between(text, value_at, whole_end_at);
    double size = double(std::int64_t(mantissa));
    if (fraction) {
        mantissa = mantissa * whole_powers[fraction] + digits_between(text, fraction_at, end_at);
        size = double(std::int64_t(mantissa)) / exact_powers[fraction];
    }
    return {true, (end & mask(equal('\n'))) != 0, int(end_at), digits_between(text, 0, colon_at),
            with_sign(size, minus != 0)};
}

#else

inline UsualPair read_usual_pair(const char*) {
    return {};
}

#endif

}  // namespace widemargin
