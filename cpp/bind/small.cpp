#include "bind/arrays.hpp"
#include "bind/counting.hpp"
#include "math/parallel.hpp"
#include "solve/small_machine.hpp"

namespace widemargin {
namespace {

using Multipliers = std::vector<std::tuple<double, double, double>>;
// gap, x'Kx, linear'x, violation, multipliers
using Certified = std::tuple<double, double, double, double, Multipliers>;

// violation, dual objective and gap at the start; steps, whether a curvature was negative, the end
using Told = std::tuple<double, double, double, Index, bool, Certified>;

Certified told(const Certificate& c, int groups) {
    Multipliers multipliers;
    for (int g = 0; g < groups; ++g)
        multipliers.emplace_back(c.multiplier[g].value, c.multiplier[g].low, c.multiplier[g].high);
    return {c.sums.gap, c.sums.quadratic, c.sums.linear, c.violation, multipliers};
}

Certified certify_box(In1<double> output, In1<double> linear, In1<double> lower, In1<double> upper,
                      In1<double> x, In1<std::int8_t> group, int groups, In1<double> diagonal,
                      int threads) {
    const Index rows = Index(output.shape(0)), variables = Index(x.shape(0));
    require(rows > 0 && (variables == rows || variables == 2 * rows) &&
                diagonal.shape(0) == output.shape(0),
            "there must be one or two variables, and a diagonal entry, for each row");
    require(linear.shape(0) == x.shape(0) && lower.shape(0) == x.shape(0) &&
                upper.shape(0) == x.shape(0) && group.shape(0) == x.shape(0),
            "all arrays of variables must have one length");
    require(groups == 1 || groups == 2, "one or two groups of variables");
    const BoxProblem box{rows,          int(variables / rows), groups,       output.data(),
                         linear.data(), lower.data(),          upper.data(), x.data(),
                         group.data()};
    Certificate found;
    {
        nb::gil_scoped_release release;
        found = certify(box, diagonal.data(), threads);
    }
    return told(found, groups);
}

// All arrays of variables and rows hold those of one machine after the other; `shapes` has the
// rows, sides and groups of each.
std::vector<Told> solve_small(const DataRows& rows, int kind, double gamma, double coef0,
                              int degree, std::optional<In1<double>> centre, bool sparse,
                              In1<double> diagonal, In1<Index> ids, In1<double> linear,
                              In1<double> lower, In1<double> upper, In1<std::int8_t> group,
                              Out1<double> x, Out1<double> outputs, In2<Index> shapes,
                              In1<double> tolerances, Index limit, int threads) {
    SmallKernel kernel{{Kind(kind), gamma, coef0, degree}, rows.view, {}, sparse, diagonal.data()};
    if (centre) kernel.centre.assign(centre->data(), centre->data() + centre->shape(0));
    require(kind >= 0 && kind <= int(Kind::cosine), "unknown kernel kind");
    require(Index(diagonal.shape(0)) == rows.view.count, "a diagonal entry for each row");
    for (std::size_t i = 0; i < ids.shape(0); ++i)
        require(ids.data()[i] >= 0 && ids.data()[i] < rows.view.count, "a row is out of range");
    const std::size_t count = shapes.shape(0), variables = x.shape(0);
    require(shapes.shape(1) == 3 && tolerances.shape(0) == count, "rows, sides and groups of each");
    require(linear.shape(0) == variables && lower.shape(0) == variables &&
                upper.shape(0) == variables && group.shape(0) == variables &&
                outputs.shape(0) == ids.shape(0),
            "all arrays of variables must have one length");
    std::vector<SmallMachine> machines(count);
    Index row = 0, t = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const Index* shape = shapes.data() + 3 * k;
        machines[k] = {
            {shape[0], int(shape[1]), int(shape[2]), outputs.data() + row, linear.data() + t,
             lower.data() + t, upper.data() + t, x.data() + t, group.data() + t},
            ids.data() + row,
            x.data() + t,
            outputs.data() + row,
            tolerances.data()[k]};
        row += shape[0];
        t += shape[0] * shape[1];
        require(shape[0] > 0 && shape[1] > 0 && shape[1] < 3 && shape[2] > 0 && shape[2] < 3 &&
                    row <= Index(ids.shape(0)) && t <= Index(variables),
                "the shapes do not add up");
        count_square(shape[0]);
    }
    std::vector<SmallOutcome> outcomes(count);
    {
        nb::gil_scoped_release release;
        std::vector<SmallSolver> solvers(std::size_t(std::max(1, threads)));
        parallel(Index(count), threads, [&](Index k, int worker) {
            outcomes[std::size_t(k)] =
                solvers[std::size_t(worker)].run(kernel, machines[std::size_t(k)], limit);
        });
    }
    std::vector<Told> result;
    for (std::size_t k = 0; k < count; ++k) {
        const SmallOutcome& o = outcomes[k];
        result.emplace_back(o.first_violation, o.first_dual, o.first_gap, o.steps.iterations,
                            o.steps.negative_curvature,
                            told(o.certificate, machines[k].box.groups));
    }
    return result;
}

}  // namespace

void bind_small(nb::module_& m) {
    m.def("certify", certify_box, nb::arg("output"), nb::arg("linear"), nb::arg("lower"),
          nb::arg("upper"), nb::arg("x"), nb::arg("group"), nb::arg("groups"), nb::arg("diagonal"),
          nb::arg("threads"));
    m.def("solve_small", solve_small, nb::arg("rows"), nb::arg("kind"), nb::arg("gamma"),
          nb::arg("coef0"), nb::arg("degree"), nb::arg("centre").none(), nb::arg("sparse"),
          nb::arg("diagonal"), nb::arg("ids"), nb::arg("linear"), nb::arg("lower"),
          nb::arg("upper"), nb::arg("group"), nb::arg("x").noconvert(),
          nb::arg("outputs").noconvert(), nb::arg("shapes"), nb::arg("tolerances"),
          nb::arg("limit"), nb::arg("threads"));
}

}  // namespace widemargin
