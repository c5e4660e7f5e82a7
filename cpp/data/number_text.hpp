// Numbers as decimal text, read and written exactly: what is read is the double nearest to the
// text, and what is written is the shortest text that reads back as the same number.
//
// Reading takes eight characters at a time (an idea of D. Lemire, Number parsing at a gigabyte per
// second, 2021): a mask tells how many of them are digits, three multiplications their value. With
// at most 2^53 as digits and a power of ten up to 22, one division of two exact doubles rounds
// correctly (W. Clinger, How to read floating point numbers accurately, 1990); all else goes to
// std::from_chars.
//
// Readers may look at, but do not depend on, `text_padding` bytes after the last newline.
#pragma once
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace widemargin {

inline constexpr int text_padding = 80;

struct Digits {
    std::uint64_t value;
    int count;  // 0 to 8
};

// The value of eight digits, the first in the lowest byte.
inline std::uint64_t digits_value(std::uint64_t digits) {
    constexpr std::uint64_t pairs = 0x000000FF000000FF;
    digits = digits * 10 + (digits >> 8);
    return ((digits & pairs) * 0x000F424000000064 +
            ((digits >> 16) & pairs) * 0x0000271000000001) >>
           32;
}

// The digits [first, last) of the text, at most eight.
inline std::uint64_t digits_between(const char* text, unsigned first, unsigned last) {
    std::uint64_t word;
    std::memcpy(&word, text + first, 8);
    word ^= 0x3030303030303030;
    const unsigned missing = 8 - (last - first);  // 8 if there are none
    return digits_value((word << (4 * missing)) << (4 * missing));
}

// The digits that the text begins with, eight at most.
inline Digits leading_digits(const char* text) {
    std::uint64_t word;
    std::memcpy(&word, text, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    word ^= 0x3030303030303030;  // a digit becomes its value, anything else 10 or more
    const std::uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
    const int count = others ? std::countr_zero(others) / 8 : 8;
    if (count == 0) return {0, 0};
    return {digits_value(word << (64 - 8 * count)), count};  // as if zeros stood before them
}

inline constexpr std::uint64_t whole_powers[] = {1,      10,      100,      1000,     10000,
                                                 100000, 1000000, 10000000, 100000000};
inline constexpr double exact_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Appends all digits at `text` to `value` and returns how many; more than 19 in all overflow.
inline int append_digits(const char*& text, std::uint64_t& value) {
    int total = 0;
    Digits part;
    do {
        part = leading_digits(text);
        value = value * whole_powers[part.count] + part.value;
        text += part.count;
        total += part.count;
    } while (part.count == 8);
    return total;
}

inline constexpr int most_fives = 27;  // 5^27 is the largest power of 64 bits

inline constexpr auto powers_of_five = [] {
    std::array<std::uint64_t, most_fives + 1> powers{1};
    for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = 5 * powers[k - 1];
    return powers;
}();

// mantissa / 10^power, rounded once: the quotient by 5^power to 63 bits or more, of which the last
// stands for all that follow.
inline double divide_by_power(std::uint64_t mantissa, int power) {
    const std::uint64_t fives = powers_of_five[std::size_t(power)];
    const int up = std::countl_zero(mantissa), fives_up = std::countl_zero(fives);
    const std::uint64_t divisor = fives << fives_up;
    const unsigned __int128 dividend = static_cast<unsigned __int128>(mantissa << up) << 63;
    std::uint64_t quotient = std::uint64_t(dividend / divisor);
    quotient |= static_cast<unsigned __int128>(quotient) * divisor != dividend;
    const std::int64_t exponent = fives_up - up - 63 - power;  // of two, from -153 to 0
    return double(quotient) * std::bit_cast<double>((1023 + exponent) << 52);
}

// Whether a number beyond the range of double is too small for it rather than too large: its
// leading digit stands behind the point, exponent included.
inline bool is_too_small(const char* text, const char* end, bool hexadecimal) {
    long place = 0;  // of the leading digit that is not zero; the first behind the point has -1
    bool point = false, leading = true;
    for (; text < end && (*text | 0x20) != (hexadecimal ? 'p' : 'e'); ++text) {
        if (*text == '.') {
            point = true;
        } else {
            leading = leading && *text == '0';
            place += leading ? (point ? -1 : 0) : (point ? 0 : 1);
        }
    }
    if (hexadecimal) place *= 4;
    if (text == end) return place < 0;
    const bool negative = *++text == '-';
    if (*text == '-' || *text == '+') ++text;
    long exponent = 0;
    if (std::from_chars(text, end, exponent).ec != std::errc{}) return negative;
    return place < (negative ? exponent : -exponent);
}

// What need not be quick: nan, inf, hexadecimal, more digits than a product of doubles carries.
// `first` is behind the sign. Returns the end, or null if there is no number.
inline const char* read_unusual_number(const char* first, double& value) {
    if (*first == '-') return nullptr;  // a second sign
    const bool hexadecimal = first[0] == '0' && (first[1] | 0x20) == 'x';
    if (hexadecimal) first += 2;
    const char* last = first;
    while (static_cast<unsigned char>(*last) > ' ') ++last;
    const auto [end, error] = std::from_chars(
        first, last, value, hexadecimal ? std::chars_format::hex : std::chars_format::general);
    if (error == std::errc::invalid_argument) return nullptr;
    if (error == std::errc::result_out_of_range)
        value =
            is_too_small(first, end, hexadecimal) ? 0.0 : std::numeric_limits<double>::infinity();
    return end;
}

// The value or its negative, without a jump: signs are hard to predict.
inline double with_sign(double value, bool negative) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ std::uint64_t(negative)
                                                                           << 63);
}

// Reads a number in any notation of C or Python. Returns its end, or null if there is none.
inline const char* read_number(const char* text, double& value) {
    const bool negative = *text == '-';
    const char* const first = text + (int(negative) | int(*text == '+'));
    const char* p = first;
    std::uint64_t mantissa = 0;
    int digits = append_digits(p, mantissa), exponent = 0;
    if (*p == '.') {
        ++p;
        exponent = -append_digits(p, mantissa);
        digits -= exponent;
    }
    bool usual = digits > 0 && digits <= 19;
    if ((*p | 0x20) == 'e' && usual) {
        const char* power = p + 1;
        const bool small = *power == '-';
        power += small || *power == '+';
        const Digits e = leading_digits(power);
        usual = e.count > 0 && e.count < 8;
        exponent += small ? -int(e.value) : int(e.value);
        p = power + e.count;
    } else if (*p == 'x' || *p == 'X') {
        usual = false;
    }
    const bool exact = mantissa <= (std::uint64_t(1) << 53);
    if (usual && exact && exponent >= -22 && exponent <= 22)
        value = exponent > 0 ? double(mantissa) * exact_powers[exponent]
                             : double(mantissa) / exact_powers[-exponent];
    else if (usual && !exact && exponent >= -most_fives && exponent <= 0)
        value = divide_by_power(mantissa, -exponent);
    else p = read_unusual_number(first, value);
    value = with_sign(value, negative);
    return p;
}

inline constexpr int longest_number = 400;  // characters that write_number may need

// Writes the shortest text that reads back as the same number; or `digits` significant digits.
template <class T>
char* write_number(char* out, T value, int digits) {
    if (std::isnan(value)) return static_cast<char*>(std::memcpy(out, "nan", 3)) + 3;
    char* const last = out + longest_number;
    if (digits > 0) return std::to_chars(out, last, value, std::chars_format::general, digits).ptr;
    if (std::abs(value) < T(1e15) && value == std::trunc(value) && !(value == 0))
        return std::to_chars(out, last, std::int64_t(value)).ptr;
    char* end = std::to_chars(out, last, value).ptr;
    if constexpr (sizeof(T) < sizeof(double)) {
        // Readers take text for a double first; rounding twice must not lead elsewhere.
        double read = 0;
        std::from_chars(out, end, read);
        if (T(read) != value) end = std::to_chars(out, last, double(value)).ptr;
    }
    return end;
}

}  // namespace widemargin
