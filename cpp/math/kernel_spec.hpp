// A kernel by name and parameters. The numbers of the kinds are those of widemargin.kernels.Kind.
#pragma once

namespace widemargin {

enum class Kind : int {
    linear = 0,
    polynomial = 1,
    rbf = 2,
    sigmoid = 3,
    laplacian = 4,
    chi_squared = 5,
    intersection = 6,
    cosine = 7,
};

struct KernelSpec {
    Kind kind = Kind::rbf;
    double gamma = 1.0;
    double coef0 = 0.0;
    int degree = 3;

    // Whether the kernel is a function of the inner product (and so of distances), which makes
    // zeros of no account; the others compare feature by feature.
    bool of_products() const {
        return kind != Kind::laplacian && kind != Kind::chi_squared && kind != Kind::intersection;
    }
};

}  // namespace widemargin
