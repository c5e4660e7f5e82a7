// What the loops of linear machines are given and what they say; free of any instruction set.
#pragma once
#include "data/rows.hpp"

namespace widemargin {

// With t the target, f the output and y = +-1 the class:
//   hinge max(0, 1 - y f), its square, logistic log(1 + exp(-y f)),
//   insensitive max(0, |t - f| - epsilon), its square, one_class max(0, -f).
enum class LossKind : int {
    hinge,
    squared_hinge,
    logistic,
    insensitive,
    squared_insensitive,
    one_class
};

// Each loss is max over p of p (t - f) - conjugate(p), p being the dual variable divided by the
// cost. A width > 0 subtracts width / 2 (p - centre)^2 and so rounds the kinks off over that many
// units of f; with a good centre the rounding hardly changes the loss.
struct LinearLoss {
    LossKind kind = LossKind::hinge;
    double epsilon = 0;
    double width = 0;
};

// One entry for each row; centre may be null, which means zero.
struct LinearSamples {
    Index count = 0;
    const double* target = nullptr;
    const double* cost = nullptr;
    const double* centre = nullptr;
};

// Sums over rows: the rounded loss, the loss, minus its conjugate at the dual variables, the dual
// variables, and how many rows are curved.
struct LossSums {
    double rounded = 0, loss = 0, dual = 0, total = 0;
    Index curved = 0;
};

// The rounded loss along a ray, and its first two derivatives.
struct RayPoint {
    double value = 0, slope = 0, curvature = 0;
};

// Entry i of all arrays belongs to row offset + i * step of the data, for first <= i < last.
struct RowRange {
    Index first, last, offset, step;
};

// gradient . move + 1/2 move' hessian move + sum l1_k |x_k + move_k|, and product = hessian move.
struct PenalisedQuadratic {
    Index size;
    const double *hessian, *gradient, *x, *l1;
    double *move, *product;
};

// Conjugate gradients for (L + X' H X) move = -gradient: the vectors have one entry for each
// coefficient, inverse is one over the diagonal of the matrix, bent the matrix times along.
struct ConjugateState {
    Index size;
    const double *l2, *inverse;
    double *move, *residual, *along, *bent;
};

// The state of dual coordinate descent; bias_reach is 1 / bias_l2, or zero without a bias.
struct DescentProblem {
    LossKind kind;
    double epsilon, l2, bias_reach;
    double safety;  // a row whose variable rests at its bound more safely than this is set aside
    const double *target, *cost, *norms;
    double *dual, *weights, *bias;
};

// How far an epoch has come: the next place in the order and how many places are still worked on;
// the largest violation met, and the sum of the gaps of the rows before their moves.
struct DescentSweep {
    Index at = 0, active = 0;
    double worst = 0, gap = 0;
};

// Sums of losses and of minus their conjugates, and the largest violation, for given dual
// variables.
struct Judgement {
    double loss = 0, dual = 0, violation = 0;
};

// The table of functions; see the headers linear_*.hpp.
struct LinearTable {
    LossSums (*respond)(const LinearLoss&, const LinearSamples&, const double* output, double* dual,
                        double* curvature, int threads);
    RayPoint (*along_ray)(const LinearLoss&, const LinearSamples&, const double* output,
                          const double* move, double length, int threads);
    void (*times)(const Rows&, const RowRange&, const double* weights, double bias, double* output,
                  int threads);
    double (*times_transposed)(const Rows&, const RowRange&, const double* dual, double* sums,
                               int threads);
    double (*times_curvature)(const Rows&, const RowRange&, const double* curvature,
                              const double* weights, double bias, double* sums, int threads);
    void (*gram)(const Rows&, const RowRange&, const double* curvature, double* gram, int threads);
    void (*weighted_squares)(const Rows&, const RowRange&, const double* factors, double* sums,
                             int threads);
    void (*row_norms)(const Rows&, const RowRange&, double* norms, int threads);
    Index (*descend_quadratic)(const PenalisedQuadratic&, double share, Index sweeps);
    void (*descend)(const Rows&, const DescentProblem&, Index* order, DescentSweep&, Index entries,
                    std::uint64_t seed);
    Judgement (*judge)(const LinearLoss&, const LinearSamples&, const double* output,
                       const double* share, int threads);
    double (*bend_along)(const ConjugateState&, int threads);
    double (*advance)(const ConjugateState&, double length, int threads);
    void (*turn)(const ConjugateState&, double share, int threads);
    double (*solve_positive)(const double* matrix, Index size, Index width, double* right,
                             Index count, int threads);
    void (*transposed_of)(const Rows&, const Index* ids, Index count, const double* factor,
                          double* sums, int threads);
    void (*times_of)(const Rows&, const Index* ids, Index count, const double* weights,
                     double* output, int threads);
    void (*row_products)(const Rows&, const Index* ids, Index count, const double* scale,
                         double* products, int threads);
};

}  // namespace widemargin
