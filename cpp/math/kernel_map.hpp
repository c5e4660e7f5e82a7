// The kernels, twice split: `Accumulate` joins two rows feature by feature into one number, and
// `map_kernel` turns that number and one term per row into the kernel value. Formulas:
//   linear u.v   polynomial (g u.v + r)^d   rbf exp(-g |u-v|^2)   sigmoid tanh(g u.v + r)
//   laplacian exp(-g |u-v|_1)   chi squared exp(-g sum (u-v)^2/(u+v))   intersection sum min(u,v)
//   cosine u.v / (|u| |v|)
#pragma once
#include <cmath>

#include "math/elementary.hpp"
#include "math/kernel_spec.hpp"

namespace widemargin::WM_ISA {

template <Kind kind>
struct Accumulate {
    template <class V>
    static V join(V sum, V a, V b) {
        return sum + a * b;
    }
};

template <>
struct Accumulate<Kind::laplacian> {
    template <class V>
    static V join(V sum, V a, V b) {
        return sum + magnitude(V(a - b));
    }
};

template <>
struct Accumulate<Kind::chi_squared> {
    template <class V>
    static V join(V sum, V a, V b) {
        const V difference = a - b, total = a + b;
        const V safe = total > 0 ? total : total + 1;  // 0/0 counts as 0: the difference is 0 too
        return sum + difference * difference / safe;
    }
};

template <>
struct Accumulate<Kind::intersection> {
    template <class V>
    static V join(V sum, V a, V b) {
        return sum + smaller(a, b);
    }
};

// The number a row contributes by itself: gamma |x|^2 for distances, 1/|x| for angles, else 0.
inline double row_term(const KernelSpec& kernel, double squared_norm) {
    if (kernel.kind == Kind::rbf) return kernel.gamma * squared_norm;
    if (kernel.kind == Kind::cosine) return squared_norm > 0 ? 1.0 / std::sqrt(squared_norm) : 0.0;
    return 0.0;
}

template <class T>
struct MapParameters {
    T gamma, coef0;
    int degree;
    explicit MapParameters(const KernelSpec& kernel)
        : gamma(T(kernel.gamma)), coef0(T(kernel.coef0)), degree(kernel.degree) {}
};

template <Kind kind, class T>
inline Vector<T> map_kernel(Vector<T> joined, Vector<T> term, Vector<T> other_term,
                            const MapParameters<T>& p) {
    if constexpr (kind == Kind::rbf) {
        const Vector<T> exponent = joined * (p.gamma + p.gamma) - (term + other_term);
        return exponential(smaller(exponent, Vector<T>{}));
    } else if constexpr (kind == Kind::polynomial) {
        return whole_power(joined * p.gamma + p.coef0, p.degree);
    } else if constexpr (kind == Kind::sigmoid) {
        return hyperbolic_tangent(joined * p.gamma + p.coef0);
    } else if constexpr (kind == Kind::laplacian || kind == Kind::chi_squared) {
        return exponential(joined * -p.gamma);
    } else if constexpr (kind == Kind::cosine) {
        return joined * (term * other_term);
    } else {
        return joined;
    }
}

}  // namespace widemargin::WM_ISA
