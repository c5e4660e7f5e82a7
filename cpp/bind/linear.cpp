#include "bind/arrays.hpp"
#include "solve/hot.hpp"

namespace widemargin {
namespace {

// The views of one linear machine's samples, which Python owns and keeps alive.
struct Samples {
    LinearSamples view;
    nb::object owner;
};

Samples make_samples(In1<double> target, In1<double> cost, std::optional<In1<double>> centre) {
    const Index count = Index(target.shape(0));
    require(Index(cost.shape(0)) == count && (!centre || Index(centre->shape(0)) == count),
            "one target, cost and centre for each row");
    return {{count, target.data(), cost.data(), centre ? centre->data() : nullptr},
            nb::make_tuple(target, cost, centre)};
}

LinearLoss loss_of(int kind, double epsilon, double width) {
    require(kind >= 0 && kind <= int(LossKind::one_class), "no such loss");
    return {LossKind(kind), epsilon, width};
}

std::tuple<double, double, double, double, Index> respond(const Samples& samples, int kind,
                                                          double epsilon, double width,
                                                          In1<double> output, Out1<double> dual,
                                                          Out1<double> curvature, int threads) {
    const auto count = std::size_t(samples.view.count);
    require(output.shape(0) == count && dual.shape(0) == count && curvature.shape(0) == count,
            "one output, dual variable and curvature for each row");
    nb::gil_scoped_release release;
    const LossSums sums =
        hot().linear.respond(loss_of(kind, epsilon, width), samples.view, output.data(),
                             dual.data(), curvature.data(), threads);
    return {sums.rounded, sums.loss, sums.dual, sums.total, sums.curved};
}

std::tuple<double, double, double> along_ray(const Samples& samples, int kind, double epsilon,
                                             double width, In1<double> output, In1<double> move,
                                             double length, int threads) {
    const auto count = std::size_t(samples.view.count);
    require(output.shape(0) == count && move.shape(0) == count, "one output and move for each row");
    nb::gil_scoped_release release;
    const RayPoint point = hot().linear.along_ray(loss_of(kind, epsilon, width), samples.view,
                                                  output.data(), move.data(), length, threads);
    return {point.value, point.slope, point.curvature};
}

// Checks that the range lies within the rows and the array of `entries` numbers.
RowRange range_of(const DataRows& rows, Index first, Index last, Index offset, Index step,
                  std::size_t entries) {
    require(0 <= first && first <= last && last <= Index(entries), "the range leaves the array");
    require(
        step >= 1 && offset >= 0 && (first == last || offset + (last - 1) * step < rows.view.count),
        "the range leaves the rows");
    return {first, last, offset, step};
}

void require_features(const DataRows& rows, std::size_t size) {
    require(Index(size) == rows.view.features, "one number for each feature");
}

void times(const DataRows& rows, Index first, Index last, Index offset, Index step,
           In1<double> weights, double bias, Out1<double> output, int threads) {
    const RowRange range = range_of(rows, first, last, offset, step, output.shape(0));
    require_features(rows, weights.shape(0));
    nb::gil_scoped_release release;
    hot().linear.times(rows.view, range, weights.data(), bias, output.data(), threads);
}

double times_transposed(const DataRows& rows, Index first, Index last, Index offset, Index step,
                        In1<double> dual, Out1<double> sums, int threads) {
    const RowRange range = range_of(rows, first, last, offset, step, dual.shape(0));
    require_features(rows, sums.shape(0));
    nb::gil_scoped_release release;
    return hot().linear.times_transposed(rows.view, range, dual.data(), sums.data(), threads);
}

double times_curvature(const DataRows& rows, Index first, Index last, Index offset, Index step,
                       In1<double> curvature, In1<double> weights, double bias, Out1<double> sums,
                       int threads) {
    const RowRange range = range_of(rows, first, last, offset, step, curvature.shape(0));
    require_features(rows, weights.shape(0));
    require_features(rows, sums.shape(0));
    nb::gil_scoped_release release;
    return hot().linear.times_curvature(rows.view, range, curvature.data(), weights.data(), bias,
                                        sums.data(), threads);
}

void gram(const DataRows& rows, Index first, Index last, Index offset, Index step,
          In1<double> curvature, Out2<double> gram, int threads) {
    const RowRange range = range_of(rows, first, last, offset, step, curvature.shape(0));
    require(Index(gram.shape(0)) == rows.view.features + 1 && gram.shape(0) == gram.shape(1),
            "a square matrix over the features and the bias");
    nb::gil_scoped_release release;
    hot().linear.gram(rows.view, range, curvature.data(), gram.data(), threads);
}

void weighted_squares(const DataRows& rows, Index first, Index last, Index offset, Index step,
                      In1<double> factors, Out1<double> sums, int threads) {
    const RowRange range = range_of(rows, first, last, offset, step, factors.shape(0));
    require_features(rows, sums.shape(0));
    nb::gil_scoped_release release;
    hot().linear.weighted_squares(rows.view, range, factors.data(), sums.data(), threads);
}

void row_norms(const DataRows& rows, Index first, Index last, Index offset, Index step,
               Out1<double> norms, int threads) {
    const RowRange range = range_of(rows, first, last, offset, step, norms.shape(0));
    nb::gil_scoped_release release;
    hot().linear.row_norms(rows.view, range, norms.data(), threads);
}

// The vectors of conjugate gradients, which Python owns and keeps alive.
struct Conjugate {
    ConjugateState view;
    nb::object owner;
};

Conjugate make_conjugate(In1<double> l2, In1<double> inverse, Out1<double> move,
                         Out1<double> residual, Out1<double> along, Out1<double> bent) {
    const auto size = l2.shape(0);
    require(inverse.shape(0) == size && move.shape(0) == size && residual.shape(0) == size &&
                along.shape(0) == size && bent.shape(0) == size,
            "one number for each coefficient");
    return {{Index(size), l2.data(), inverse.data(), move.data(), residual.data(), along.data(),
             bent.data()},
            nb::make_tuple(l2, inverse, move, residual, along, bent)};
}

double bend_along(const Conjugate& state, int threads) {
    nb::gil_scoped_release release;
    return hot().linear.bend_along(state.view, threads);
}

double advance(const Conjugate& state, double length, int threads) {
    nb::gil_scoped_release release;
    return hot().linear.advance(state.view, length, threads);
}

void turn(const Conjugate& state, double share, int threads) {
    nb::gil_scoped_release release;
    hot().linear.turn(state.view, share, threads);
}

double solve_positive(In2<double> matrix, Out2<double> right, int threads) {
    require(matrix.shape(0) <= matrix.shape(1) && right.shape(1) == matrix.shape(0),
            "a square matrix, perhaps padded, and right sides as rows");
    nb::gil_scoped_release release;
    return hot().linear.solve_positive(matrix.data(), Index(matrix.shape(0)),
                                       Index(matrix.shape(1)), right.data(), Index(right.shape(0)),
                                       threads);
}

void require_rows(const DataRows& rows, In1<Index> ids) {
    for (std::size_t p = 0; p < ids.shape(0); ++p)
        require(ids.data()[p] >= 0 && ids.data()[p] < rows.view.count, "a row is out of range");
}

void times_of(const DataRows& rows, In1<Index> ids, In1<double> weights, Out1<double> output,
              int threads) {
    require(output.shape(0) == ids.shape(0), "one output for each row");
    require_features(rows, weights.shape(0));
    require_rows(rows, ids);
    nb::gil_scoped_release release;
    hot().linear.times_of(rows.view, ids.data(), Index(ids.shape(0)), weights.data(), output.data(),
                          threads);
}

void transposed_of(const DataRows& rows, In1<Index> ids, In1<double> factor, Out1<double> sums,
                   int threads) {
    require(factor.shape(0) == ids.shape(0), "one factor for each row");
    require_features(rows, sums.shape(0));
    require_rows(rows, ids);
    nb::gil_scoped_release release;
    hot().linear.transposed_of(rows.view, ids.data(), Index(ids.shape(0)), factor.data(),
                               sums.data(), threads);
}

void row_products(const DataRows& rows, In1<Index> ids, In1<double> scale, Out2<double> products,
                  int threads) {
    const auto count = ids.shape(0);
    require(products.shape(0) == count && products.shape(1) == count, "a square matrix over rows");
    require_features(rows, scale.shape(0));
    require_rows(rows, ids);
    nb::gil_scoped_release release;
    hot().linear.row_products(rows.view, ids.data(), Index(count), scale.data(), products.data(),
                              threads);
}

Index descend_quadratic(In2<double> hessian, In1<double> gradient, In1<double> x, In1<double> l1,
                        Out1<double> move, Out1<double> product, double share, Index sweeps) {
    const auto size = gradient.shape(0);
    require(hessian.shape(0) == size && hessian.shape(1) == size && x.shape(0) == size &&
                l1.shape(0) == size && move.shape(0) == size && product.shape(0) == size,
            "one number for each coefficient");
    nb::gil_scoped_release release;
    return hot().linear.descend_quadratic({Index(size), hessian.data(), gradient.data(), x.data(),
                                           l1.data(), move.data(), product.data()},
                                          share, sweeps);
}

std::tuple<Index, Index, double, double> descend(const DataRows& rows, const Samples& samples,
                                                 int kind, double epsilon, double l2,
                                                 double bias_reach, double safety,
                                                 In1<double> norms, Out1<double> dual,
                                                 Out1<double> weights, Out1<double> bias,
                                                 Out1<Index> order, Index at, Index active,
                                                 Index entries, std::uint64_t seed) {
    const auto count = std::size_t(samples.view.count);
    require(Index(count) == rows.view.count && norms.shape(0) == count && dual.shape(0) == count &&
                bias.shape(0) == 1,
            "one number for each row");
    require(0 <= at && at <= active && active <= Index(order.shape(0)), "the order is shorter");
    require_features(rows, weights.shape(0));
    const LossKind loss = loss_of(kind, epsilon, 0).kind;
    for (Index k = 0; k < active; ++k)
        require(order.data()[k] >= 0 && order.data()[k] < Index(count), "a row is out of range");
    nb::gil_scoped_release release;
    DescentSweep sweep{at, active, 0, 0};
    hot().linear.descend(
        rows.view,
        {loss, epsilon, l2, bias_reach, safety, samples.view.target, samples.view.cost,
         norms.data(), dual.data(), weights.data(), bias.data()},
        order.data(), sweep, entries, seed);
    return {sweep.at, sweep.active, sweep.worst, sweep.gap};
}

std::tuple<double, double, double> judge(const Samples& samples, int kind, double epsilon,
                                         In1<double> output, In1<double> share, int threads) {
    const auto count = std::size_t(samples.view.count);
    require(output.shape(0) == count && share.shape(0) == count,
            "one output and dual variable for each row");
    nb::gil_scoped_release release;
    const Judgement sums = hot().linear.judge(loss_of(kind, epsilon, 0), samples.view,
                                              output.data(), share.data(), threads);
    return {sums.loss, sums.dual, sums.violation};
}

}  // namespace

void bind_linear(nb::module_& m) {
    nb::class_<Samples>(m, "Samples");
    m.def("samples", make_samples, nb::arg("target").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("centre").none());
    m.def("respond", respond, nb::arg("samples"), nb::arg("kind"), nb::arg("epsilon"),
          nb::arg("width"), nb::arg("output"), nb::arg("dual").noconvert(),
          nb::arg("curvature").noconvert(), nb::arg("threads"));
    m.def("along_ray", along_ray, nb::arg("samples"), nb::arg("kind"), nb::arg("epsilon"),
          nb::arg("width"), nb::arg("output"), nb::arg("move"), nb::arg("length"),
          nb::arg("threads"));
    m.def("times", times, nb::arg("rows"), nb::arg("first"), nb::arg("last"), nb::arg("offset"),
          nb::arg("step"), nb::arg("weights"), nb::arg("bias"), nb::arg("output").noconvert(),
          nb::arg("threads"));
    m.def("times_transposed", times_transposed, nb::arg("rows"), nb::arg("first"), nb::arg("last"),
          nb::arg("offset"), nb::arg("step"), nb::arg("dual"), nb::arg("sums").noconvert(),
          nb::arg("threads"));
    m.def("times_curvature", times_curvature, nb::arg("rows"), nb::arg("first"), nb::arg("last"),
          nb::arg("offset"), nb::arg("step"), nb::arg("curvature"), nb::arg("weights"),
          nb::arg("bias"), nb::arg("sums").noconvert(), nb::arg("threads"));
    m.def("gram", gram, nb::arg("rows"), nb::arg("first"), nb::arg("last"), nb::arg("offset"),
          nb::arg("step"), nb::arg("curvature"), nb::arg("gram").noconvert(), nb::arg("threads"));
    m.def("weighted_squares", weighted_squares, nb::arg("rows"), nb::arg("first"), nb::arg("last"),
          nb::arg("offset"), nb::arg("step"), nb::arg("factors"), nb::arg("sums").noconvert(),
          nb::arg("threads"));
    m.def("row_norms", row_norms, nb::arg("rows"), nb::arg("first"), nb::arg("last"),
          nb::arg("offset"), nb::arg("step"), nb::arg("norms").noconvert(), nb::arg("threads"));
    nb::class_<Conjugate>(m, "Conjugate");
    m.def("conjugate", make_conjugate, nb::arg("l2").noconvert(), nb::arg("inverse").noconvert(),
          nb::arg("move").noconvert(), nb::arg("residual").noconvert(),
          nb::arg("along").noconvert(), nb::arg("bent").noconvert());
    m.def("bend_along", bend_along, nb::arg("state"), nb::arg("threads"));
    m.def("advance", advance, nb::arg("state"), nb::arg("length"), nb::arg("threads"));
    m.def("turn", turn, nb::arg("state"), nb::arg("share"), nb::arg("threads"));
    m.def("solve_positive", solve_positive, nb::arg("matrix"), nb::arg("right").noconvert(),
          nb::arg("threads"));
    m.def("times_of", times_of, nb::arg("rows"), nb::arg("ids"), nb::arg("weights"),
          nb::arg("output").noconvert(), nb::arg("threads"));
    m.def("transposed_of", transposed_of, nb::arg("rows"), nb::arg("ids"), nb::arg("factor"),
          nb::arg("sums").noconvert(), nb::arg("threads"));
    m.def("row_products", row_products, nb::arg("rows"), nb::arg("ids"), nb::arg("scale"),
          nb::arg("products").noconvert(), nb::arg("threads"));
    m.def("descend_quadratic", descend_quadratic, nb::arg("hessian"), nb::arg("gradient"),
          nb::arg("x"), nb::arg("l1"), nb::arg("move").noconvert(), nb::arg("product").noconvert(),
          nb::arg("share"), nb::arg("sweeps"));
    m.def("descend", descend, nb::arg("rows"), nb::arg("samples"), nb::arg("kind"),
          nb::arg("epsilon"), nb::arg("l2"), nb::arg("bias_reach"), nb::arg("safety"),
          nb::arg("norms"), nb::arg("dual").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("bias").noconvert(), nb::arg("order").noconvert(), nb::arg("at"),
          nb::arg("active"), nb::arg("entries"), nb::arg("seed"));
    m.def("judge", judge, nb::arg("samples"), nb::arg("kind"), nb::arg("epsilon"),
          nb::arg("output"), nb::arg("share"), nb::arg("threads"));
}

}  // namespace widemargin
