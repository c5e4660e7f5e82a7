// exp, tanh and whole powers of a vector, within 2 units in the last place.
// exp: x = n ln 2 + r with |r| <= ln 2 / 2; a polynomial gives e^r, the exponent bits take n. With
// AVX-512 n counts sixteenths, and a table gives their share.
// tanh: an odd polynomial (or rational) near zero, 1 - 2 / (e^{2|x|} + 1) beyond.
// The coefficients near zero are those of S. Moshier's Cephes library (tanhf, tanh, expf).
#pragma once
#include "math/simd.hpp"

namespace widemargin::WM_ISA {

#ifdef __AVX512F__

// x = (k / 16) ln 2 + r with |r| <= ln 2 / 32. A table in a register gives 2^(j/16) for the last
// four bits j of k, one instruction multiplies by 2^floor(k/16), and on so short a way few terms of
// e^r suffice: (e^r - 1) / r is interpolated at Chebyshev's points. (The masks change nothing but
// keep GCC 12 from warning of its own headers.)
alignas(64) constexpr double roots_of_two[16] = {1.0,
                                                 1.0442737824274138,
                                                 1.0905077326652577,
                                                 1.1387886347566916,
                                                 1.189207115002721,
                                                 1.241857812073484,
                                                 1.2968395546510096,
                                                 1.3542555469368927,
                                                 1.4142135623730951,
                                                 1.4768261459394993,
                                                 1.5422108254079407,
                                                 1.6104903319492543,
                                                 1.681792830507429,
                                                 1.7562521603732995,
                                                 1.8340080864093424,
                                                 1.9152065613971474};
alignas(64) constexpr float rounded_roots_of_two[16] = {
    1.0f,          1.0442737824f, 1.0905077327f, 1.1387886348f, 1.1892071150f, 1.2418578121f,
    1.2968395547f, 1.3542555469f, 1.4142135624f, 1.4768261459f, 1.5422108254f, 1.6104903319f,
    1.6817928305f, 1.7562521604f, 1.8340080864f, 1.9152065614f};

inline Vector<float> exponential(Vector<float> x) {
    constexpr float shift = 786432.0f;  // 1.5 * 2^19: adding it rounds to a sixteenth
    x = smaller(larger(x, broadcast(-87.33f)), broadcast(88.37f));
    const Vector<float> shifted = x * 1.44269504088896341f + shift;
    const Vector<float> n = shifted - shift;
    const Vector<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    const Vector<float> root =
        _mm512_maskz_permutexvar_ps(0xffff, (__m512i)shifted, load(rounded_roots_of_two));
    const Vector<float> p = (r * 0.16666959914f + 0.50001466243f) * r + 1.0f;
    return _mm512_maskz_scalef_ps(0xffff, (root * r) * p + root, n);
}

inline Vector<double> exponential(Vector<double> x) {
    constexpr double shift = 422212465065984.0;  // 1.5 * 2^48
    x = smaller(larger(x, broadcast(-708.0)), broadcast(709.4));
    const Vector<double> shifted = x * 1.4426950408889634074 + shift;
    const Vector<double> n = shifted - shift;
    const Vector<double> r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    const Vector<double> root = _mm512_maskz_permutex2var_pd(
        0xff, load(roots_of_two), (__m512i)shifted, load(roots_of_two + 8));
    Vector<double> p = r * 0.0013889063440655327 + 0.008333472974951229;
    p = p * r + 0.041666666663595475;
    p = p * r + 0.16666666664209706;
    p = p * r + 0.5;
    p = p * r + 1.0;
    return _mm512_maskz_scalef_pd(0xff, (root * r) * p + root, n);
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

#endif

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
