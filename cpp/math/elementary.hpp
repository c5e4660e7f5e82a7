// exp, tanh and whole powers of a vector, within 2 units in the last place.
// exp: x = n ln 2 + r with |r| <= ln 2 / 2; a polynomial gives e^r, the exponent bits take n.
// tanh: an odd polynomial (or rational) near zero, 1 - 2 / (e^{2|x|} + 1) beyond.
// The coefficients near zero are those of S. Moshier's Cephes library (tanhf, tanh, expf).
#pragma once
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "math/simd.hpp"

namespace widemargin::WM_ISA {

#ifdef __AVX512F__

// 2^n y in one instruction, and rounding in one. (The masks change nothing but keep GCC 12 from
// warning of its own headers.)
constexpr __mmask16 every_lane = 0xffff;

inline Vector<float> exponential(Vector<float> x) {
    x = smaller(larger(x, broadcast(-87.33f)), broadcast(88.37f));
    const Vector<float> n = _mm512_maskz_roundscale_ps(every_lane, x * 1.44269504088896341f, 8);
    const Vector<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vector<float> p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return _mm512_maskz_scalef_ps(every_lane, (p * r) * r + (r + 1.0f), n);
}

#else

inline Vector<float> exponential(Vector<float> x) {
    constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    x = smaller(larger(x, broadcast(-87.33f)), broadcast(88.37f));
    const Vector<float> shifted = x * 1.44269504088896341f + shift;
    const Vector<float> n = shifted - shift;
    const Vector<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vector<float> p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const Vector<float> y = (p * r) * r + (r + 1.0f);
    const Integers<float> power = ((Integers<float>)shifted + 127) << 23;
    return y * (Vector<float>)power;
}

#endif

inline Vector<double> exponential(Vector<double> x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52
    x = smaller(larger(x, broadcast(-708.0)), broadcast(709.4));
    const Vector<double> shifted = x * 1.4426950408889634074 + shift;
    const Vector<double> n = shifted - shift;
    const Vector<double> r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    Vector<double> p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    const Vector<double> y = (p * r) * r + (r + 1.0);
    const Integers<double> power = ((Integers<double>)shifted + 1023) << 52;
    return y * (Vector<double>)power;
}

template <class V>
inline V magnitude(V x) {
    return x < 0 ? -x : x;
}

inline Vector<float> hyperbolic_tangent(Vector<float> x) {
    const Vector<float> z = x * x;
    Vector<float> p = z * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    const Vector<float> near_zero = p * z * x + x;
    const Vector<float> size = smaller(magnitude(x), broadcast(10.0f));
    const Vector<float> beyond = 1.0f - 2.0f / (exponential(size + size) + 1.0f);
    return size < 0.625f ? near_zero : (x < 0 ? -beyond : beyond);
}

inline Vector<double> hyperbolic_tangent(Vector<double> x) {
    const Vector<double> z = x * x;
    Vector<double> p = z * -9.64399179425052238628e-1 - 9.92877231001918586564e1;
    p = p * z - 1.61468768441708447952e3;
    Vector<double> q = z + 1.12811678491632931402e2;
    q = q * z + 2.23548839060100448583e3;
    q = q * z + 4.84406305325125486048e3;
    const Vector<double> near_zero = x + x * z * (p / q);
    const Vector<double> size = smaller(magnitude(x), broadcast(20.0));
    const Vector<double> beyond = 1.0 - 2.0 / (exponential(size + size) + 1.0);
    return size < 0.625 ? near_zero : (x < 0 ? -beyond : beyond);
}

// x^n for a whole n >= 0 by repeated squaring.
template <class V>
inline V whole_power(V x, int n) {
    V result = x - x + 1;
    for (; n > 0; n >>= 1) {
        if (n & 1) result *= x;
        x *= x;
    }
    return result;
}

}  // namespace widemargin::WM_ISA
