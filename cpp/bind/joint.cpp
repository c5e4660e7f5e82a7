#include "bind/arrays.hpp"
#include "solve/hot.hpp"

namespace widemargin {
namespace {

void check_labels(const In1<Index>& labels, Index classes) {
    for (std::size_t i = 0; i < labels.shape(0); ++i)
        require(labels.data()[i] >= 0 && labels.data()[i] < classes, "a label is out of range");
}

std::tuple<double, double, double, double> measure_joint(In2<double> outputs,
                                                         In2<double> coefficients,
                                                         In1<Index> labels, In1<double> costs,
                                                         Out1<double> violations, int threads) {
    const JointProblem p{Index(outputs.shape(1)), Index(outputs.shape(0)), outputs.data(),
                         coefficients.data(),     labels.data(),           costs.data()};
    require(Index(coefficients.shape(0)) == p.classes && Index(coefficients.shape(1)) == p.rows,
            "coefficients and outputs must have one shape");
    require(Index(labels.shape(0)) == p.rows && Index(costs.shape(0)) == p.rows &&
                Index(violations.shape(0)) == p.rows,
            "one label, cost and violation for each row");
    check_labels(labels, p.classes);
    JointSums sums;
    {
        nb::gil_scoped_release release;
        sums = hot().measure_joint(p, violations.data(), threads);
    }
    return {sums.gap, sums.quadratic, sums.linear, sums.violation};
}

template <class T>
void apply_joint(Out2<double> outputs, In2<T> arena, In1<Index> slots, In2<double> moves,
                 int threads) {
    const Index classes = Index(outputs.shape(0)), rows = Index(slots.shape(0));
    require(Index(moves.shape(0)) == classes && Index(moves.shape(1)) == rows,
            "one move for each class and slot");
    require(arena.shape(1) >= outputs.shape(1), "rows of the arena too short");
    std::vector<const T*> kernel(slots.shape(0));
    for (std::size_t b = 0; b < kernel.size(); ++b) {
        require(slots.data()[b] >= 0 && slots.data()[b] < Index(arena.shape(0)),
                "a slot is out of range");
        kernel[b] = arena.data() + slots.data()[b] * Index(arena.shape(1));
    }
    nb::gil_scoped_release release;
    hot().of<T>().apply_joint(outputs.data(), Index(outputs.shape(1)), classes, kernel.data(),
                              moves.data(), rows, threads);
}

template <class T>
std::tuple<Index, double> solve_joint_block(In2<T> kernel, In1<double> diagonal,
                                            In2<double> gradient, Out2<double> coefficients,
                                            In1<Index> labels, In1<double> costs, double tolerance,
                                            Index limit) {
    const JointBlock<T> p{Index(gradient.shape(1)),
                          Index(kernel.shape(1)),
                          Index(gradient.shape(0)),
                          kernel.data(),
                          diagonal.data(),
                          gradient.data(),
                          coefficients.data(),
                          labels.data(),
                          costs.data()};
    require(p.padded >= p.size && p.padded % row_padding == 0 && Index(kernel.shape(0)) >= p.size,
            "rows of the kernel must be padded");
    require(Index(coefficients.shape(0)) == p.classes && Index(coefficients.shape(1)) == p.size,
            "coefficients and gradient must have one shape");
    require(Index(diagonal.shape(0)) == p.size && Index(labels.shape(0)) == p.size &&
                Index(costs.shape(0)) == p.size,
            "block arrays must have one length");
    check_labels(labels, p.classes);
    BlockResult result;
    {
        nb::gil_scoped_release release;
        result = hot().of<T>().solve_joint_block(p, tolerance, limit);
    }
    return {result.iterations, result.violation};
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("apply_joint", apply_joint<T>, nb::arg("outputs").noconvert(),
          nb::arg("arena").noconvert(), nb::arg("slots"), nb::arg("moves"), nb::arg("threads"));
    m.def("solve_joint_block", solve_joint_block<T>, nb::arg("kernel").noconvert(),
          nb::arg("diagonal"), nb::arg("gradient"), nb::arg("coefficients").noconvert(),
          nb::arg("labels"), nb::arg("costs"), nb::arg("tolerance"), nb::arg("limit"));
}

}  // namespace

void bind_joint(nb::module_& m) {
    m.def("measure_joint", measure_joint, nb::arg("outputs"), nb::arg("coefficients"),
          nb::arg("labels"), nb::arg("costs"), nb::arg("violations").noconvert(),
          nb::arg("threads"));
    bind_typed<float>(m);
    bind_typed<double>(m);
}

}  // namespace widemargin
