// Vectors of the widest register of the instruction set this translation unit is compiled for, by
// the compilers' own vector extension: one source for SSE2, AVX2, AVX-512 and any other machine.
// Included only by files that are compiled once per instruction set; WM_ISA names their namespace,
// so that code compiled for one set can never be merged by the linker with that of another.
#pragma once
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cstdint>
#include <utility>

#ifndef WM_ISA
#error "WM_ISA must name the instruction set this file is compiled for"
#endif

namespace widemargin::WM_ISA {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class T>
struct Simd;

template <>
struct Simd<float> {
    typedef float Vector __attribute__((vector_size(vector_bytes)));
    typedef float Unaligned __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
    typedef std::int32_t Integers __attribute__((vector_size(vector_bytes)));
    using Integer = std::int32_t;
    static constexpr int width = vector_bytes / 4;
};

template <>
struct Simd<double> {
    typedef double Vector __attribute__((vector_size(vector_bytes)));
    typedef double Unaligned __attribute__((vector_size(vector_bytes), aligned(8), may_alias));
    typedef std::int64_t Integers __attribute__((vector_size(vector_bytes)));
    using Integer = std::int64_t;
    static constexpr int width = vector_bytes / 8;
};

template <class T>
using Vector = typename Simd<T>::Vector;
template <class T>
using Integers = typename Simd<T>::Integers;
template <class T>
constexpr int lanes = Simd<T>::width;

template <class T>
inline Vector<T> load(const T* from) {
    return *reinterpret_cast<const typename Simd<T>::Unaligned*>(from);
}

template <class T>
inline void store(T* to, Vector<T> value) {
    *reinterpret_cast<typename Simd<T>::Unaligned*>(to) = value;
}

template <class T>
inline Vector<T> broadcast(T value) {
    return value - Vector<T>{};
}

// 0, 1, 2, ... one for each lane.
template <class T>
inline Integers<T> lane_numbers() {
    Integers<T> numbers{};
    for (int lane = 0; lane < lanes<T>; ++lane) numbers[lane] = lane;
    return numbers;
}

template <class V>
inline V smaller(V a, V b) {
    return a < b ? a : b;
}

template <class V>
inline V larger(V a, V b) {
    return a > b ? a : b;
}

#ifdef __AVX512F__

// GCC makes two instructions of the comparisons above, because of what they do with NaN, which is
// what the single instruction does too. (The masks keep GCC 12 from warning of its own headers.)
inline Vector<float> smaller(Vector<float> a, Vector<float> b) {
    return _mm512_maskz_min_ps(0xffff, a, b);
}

inline Vector<float> larger(Vector<float> a, Vector<float> b) {
    return _mm512_maskz_max_ps(0xffff, a, b);
}

inline Vector<double> smaller(Vector<double> a, Vector<double> b) {
    return _mm512_maskz_min_pd(0xff, a, b);
}

inline Vector<double> larger(Vector<double> a, Vector<double> b) {
    return _mm512_maskz_max_pd(0xff, a, b);
}

#endif

template <class T>
inline T sum_of_lanes(Vector<T> v) {
    T total = 0;
    for (int lane = 0; lane < lanes<T>; ++lane) total += v[lane];
    return total;
}

inline Vector<double> load_as_double(const double* from) {
    return load(from);
}

inline Vector<double> load_as_double(const float* from) {
    typedef float Half __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));
    return __builtin_convertvector(*reinterpret_cast<const Half*>(from), Vector<double>);
}

namespace detail {

// Lane `lane` of the lower (half 0) or upper (half 1) interleaving of two vectors by runs of `run`.
constexpr int interleaved(int lane, int run, int half, int width) {
    const int pair = lane / (2 * run), within = lane % (2 * run);
    const int source = pair * 2 * run + half * run + within % run;
    return within < run ? source : width + source;
}

template <class T, int run, int half, int... lane>
inline Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(a, b, interleaved(lane, run, half, lanes<T>)...);
}

template <class T, int run>
inline void transpose_step(Vector<T> (&rows)[lanes<T>]) {
    if constexpr (run < lanes<T>) {
        using Lanes = std::make_integer_sequence<int, lanes<T>>;
#pragma GCC unroll 16
        for (int i = 0; i < lanes<T>; ++i) {
            if (i & run) continue;
            const Vector<T> a = rows[i], b = rows[i + run];
            rows[i] = interleave<T, run, 0>(a, b, Lanes{});
            rows[i + run] = interleave<T, run, 1>(a, b, Lanes{});
        }
        transpose_step<T, run * 2>(rows);
    }
}

}  // namespace detail

// Transposes a square of vectors in registers, by log2(width) rounds of interleaving.
template <class T>
inline void transpose(Vector<T> (&rows)[lanes<T>]) {
    detail::transpose_step<T, 1>(rows);
}

}  // namespace widemargin::WM_ISA
