// The sums over coefficients of one step of preconditioned conjugate gradients, each in one pass
// over its vectors. They are formed over pieces of fixed size joined in order, so that threads do
// not change them. The loop that calls them, and the paper, are in linear_conjugate.py.
#pragma once
#include <algorithm>
#include <vector>

#include "math/parallel.hpp"
#include "solve/linear_losses.hpp"
#include "solve/linear_types.hpp"

namespace widemargin::WM_ISA {

constexpr Index coefficients_in_piece = 1 << 14;

// Runs visit(k, count) for vectors of coefficients from k on, and adds up what it returns.
template <class Visit>
double sum_over_coefficients(Index size, int threads, Visit&& visit) {
    const Index pieces = (size + coefficients_in_piece - 1) / coefficients_in_piece;
    std::vector<double> parts(static_cast<std::size_t>(pieces));
    parallel(pieces, threads, [&](Index piece, int) {
        const Index from = piece * coefficients_in_piece;
        const Index to = std::min(from + coefficients_in_piece, size);
        Vector<double> sum{};
        for (Index k = from; k < to; k += lanes<double>) sum += visit(k, to - k);
        parts[std::size_t(piece)] = sum_of_lanes<double>(sum);
    });
    double total = 0;
    for (const double part : parts) total += part;
    return total;
}

// bent += l2 along; returns along . bent.
inline double bend_along(const ConjugateState& s, int threads) {
    return sum_over_coefficients(s.size, threads, [&](Index k, Index count) {
        const Vector<double> along = load_some(s.along + k, count);
        const Vector<double> bent =
            load_some(s.bent + k, count) + load_some(s.l2 + k, count) * along;
        store_some(s.bent + k, bent, count);
        return along * bent;
    });
}

// move += length along, residual -= length bent; returns residual . residual / diagonal.
inline double advance(const ConjugateState& s, double length, int threads) {
    return sum_over_coefficients(s.size, threads, [&](Index k, Index count) {
        const Vector<double> move = load_some(s.move + k, count),
                             residual = load_some(s.residual + k, count) -
                                        length * load_some(s.bent + k, count);
        store_some(s.move + k, move + length * load_some(s.along + k, count), count);
        store_some(s.residual + k, residual, count);
        return residual * residual * load_some(s.inverse + k, count);
    });
}

// along = residual / diagonal + share along.
inline void turn(const ConjugateState& s, double share, int threads) {
    sum_over_coefficients(s.size, threads, [&](Index k, Index count) {
        const Vector<double> whitened =
            load_some(s.residual + k, count) * load_some(s.inverse + k, count);
        store_some(s.along + k, whitened + share * load_some(s.along + k, count), count);
        return Vector<double>{};
    });
}

}  // namespace widemargin::WM_ISA
