#ifdef _OPENMP
#include <omp.h>
#endif

#include "bind/arrays.hpp"
#include "math/parallel.hpp"
#include "solve/hot.hpp"
#include "solve/working_set.hpp"

namespace widemargin {
namespace {

// The views of one machine's arrays, which Python owns and keeps alive.
struct Box {
    BoxProblem view;
    nb::object owner;
};

Box make_box(Out1<double> output, In1<double> linear, In1<double> lower, In1<double> upper,
             Out1<double> x, In1<std::int8_t> group, int groups) {
    const auto rows = output.shape(0), variables = x.shape(0);
    require(rows > 0 && (variables == rows || variables == 2 * rows),
            "there must be one or two variables for each row");
    require(linear.shape(0) == variables && lower.shape(0) == variables &&
                upper.shape(0) == variables && group.shape(0) == variables,
            "all arrays of variables must have one length");
    require(groups == 1 || groups == 2, "one or two groups of variables");
    Box box;
    box.view = {Index(rows),  int(variables / rows), groups,   output.data(), linear.data(),
                lower.data(), upper.data(),          x.data(), group.data()};
    box.owner = nb::make_tuple(output, linear, lower, upper, x, group);
    return box;
}

std::vector<std::tuple<double, double, double, Index>> reach_of(const Box& box, int threads) {
    Reach reaches[2];
    {
        nb::gil_scoped_release release;
        hot().reach(box.view, reaches, threads);
    }
    std::vector<std::tuple<double, double, double, Index>> result;
    for (int g = 0; g < box.view.groups; ++g)
        result.emplace_back(reaches[g].lowest_rising, reaches[g].highest_falling,
                            reaches[g].free_sum, reaches[g].free_count);
    return result;
}

std::tuple<double, double, double> sums_of(const Box& box, const std::vector<double>& multipliers,
                                           int threads) {
    require(int(multipliers.size()) == box.view.groups, "one multiplier for each group");
    Sums sums;
    {
        nb::gil_scoped_release release;
        sums = hot().sums(box.view, multipliers.data(), threads);
    }
    return {sums.gap, sums.quadratic, sums.linear};
}

std::vector<Index> violators_of(const Box& box, In1<std::uint8_t> taken, Index want, int threads) {
    require(Index(taken.shape(0)) == box.view.variables(), "one mark for each variable");
    nb::gil_scoped_release release;
    Reach reaches[2];
    hot().reach(box.view, reaches, threads);
    std::vector<Index> chosen;
    WorkingSetSearch search(box.view, reaches, taken.data());
    for (int g = 0; g < box.view.groups; ++g) search.collect(g, want / box.view.groups, chosen);
    return chosen;
}

template <class T>
void apply_rows(Out1<double> outputs, In2<T> arena, In1<Index> slots, In1<double> moves,
                int threads) {
    require(slots.shape(0) == moves.shape(0), "one move for each slot");
    require(arena.shape(1) >= outputs.shape(0), "rows of the arena too short");
    std::vector<const T*> kernel(slots.shape(0));
    for (std::size_t b = 0; b < kernel.size(); ++b) {
        require(slots.data()[b] >= 0 && slots.data()[b] < Index(arena.shape(0)),
                "a slot is out of range");
        kernel[b] = arena.data() + slots.data()[b] * Index(arena.shape(1));
    }
    nb::gil_scoped_release release;
    hot().of<T>().apply_rows(outputs.data(), Index(outputs.shape(0)), kernel.data(), moves.data(),
                             Index(kernel.size()), threads);
}

// block[b][targets[c]] = arena[slots[b]][columns[c]].
template <class T>
void gather_block(In2<T> arena, In1<Index> slots, In1<Index> columns, In1<Index> targets,
                  Out2<T> block, int threads) {
    require(columns.shape(0) == targets.shape(0), "one target for each column");
    require(slots.shape(0) <= block.shape(0), "the block has too few rows");
    const Index width = Index(arena.shape(1)), out_width = Index(block.shape(1));
    for (std::size_t c = 0; c < columns.shape(0); ++c)
        require(columns.data()[c] >= 0 && columns.data()[c] < width && targets.data()[c] >= 0 &&
                    targets.data()[c] < out_width,
                "a column is out of range");
    for (std::size_t b = 0; b < slots.shape(0); ++b)
        require(slots.data()[b] >= 0 && slots.data()[b] < Index(arena.shape(0)),
                "a slot is out of range");
    nb::gil_scoped_release release;
    const Index rows = Index(slots.shape(0)), count = Index(columns.shape(0));
    parallel(rows, threads, [&](Index b, int) {
        const T* from = arena.data() + slots.data()[b] * width;
        T* to = block.data() + b * out_width;
        for (Index c = 0; c < count; ++c) to[targets.data()[c]] = from[columns.data()[c]];
    });
}

template <class T>
std::tuple<Index, double, bool> solve_block(In2<T> kernel, In1<T> diagonal, Out1<T> gradient,
                                            Out1<double> x, In1<double> lower, In1<double> upper,
                                            In1<std::int8_t> group, int groups, double tolerance,
                                            Index limit) {
    BlockProblem<T> p{};
    p.size = Index(x.shape(0));
    p.padded = Index(gradient.shape(0));
    require(p.padded >= p.size && p.padded % row_padding == 0 &&
                Index(diagonal.shape(0)) == p.padded && Index(kernel.shape(0)) >= p.size &&
                Index(kernel.shape(1)) == p.padded,
            "block arrays must be padded alike");
    require(Index(lower.shape(0)) == p.size && Index(upper.shape(0)) == p.size &&
                Index(group.shape(0)) == p.size && (groups == 1 || groups == 2),
            "block arrays must have one length");
    BlockResult result;
    {
        nb::gil_scoped_release release;
        Buffer<T> limits(std::size_t(2 * groups * p.padded));
        p.groups = groups;
        p.kernel = kernel.data();
        p.diagonal = diagonal.data();
        p.gradient = gradient.data();
        p.limits = limits.data();
        p.x = x.data();
        p.lower = lower.data();
        p.upper = upper.data();
        p.group = group.data();
        result = hot().of<T>().solve_block(p, tolerance, limit);
    }
    return {result.iterations, result.violation, result.negative_curvature};
}

template <class T>
void bind_typed(nb::module_& m) {
    m.def("apply_rows", apply_rows<T>, nb::arg("outputs").noconvert(), nb::arg("arena").noconvert(),
          nb::arg("slots"), nb::arg("moves"), nb::arg("threads"));
    m.def("gather_block", gather_block<T>, nb::arg("arena").noconvert(), nb::arg("slots"),
          nb::arg("columns"), nb::arg("targets"), nb::arg("block").noconvert(), nb::arg("threads"));
    m.def("solve_block", solve_block<T>, nb::arg("kernel").noconvert(), nb::arg("diagonal"),
          nb::arg("gradient").noconvert(), nb::arg("x").noconvert(), nb::arg("lower"),
          nb::arg("upper"), nb::arg("group"), nb::arg("groups"), nb::arg("tolerance"),
          nb::arg("limit"));
}

}  // namespace

void bind_machine(nb::module_& m) {
    nb::class_<Box>(m, "Box")
        .def("reach", reach_of, nb::arg("threads"))
        .def("sums", sums_of, nb::arg("multipliers"), nb::arg("threads"))
        .def("violators", violators_of, nb::arg("taken"), nb::arg("want"), nb::arg("threads"));
    m.def("box", make_box, nb::arg("output").noconvert(), nb::arg("linear").noconvert(),
          nb::arg("lower").noconvert(), nb::arg("upper").noconvert(), nb::arg("x").noconvert(),
          nb::arg("group").noconvert(), nb::arg("groups"));
    bind_typed<float>(m);
    bind_typed<double>(m);
    m.def("thread_limit", [] {
#ifdef _OPENMP
        return omp_get_max_threads();  // what OMP_NUM_THREADS, joblib and threadpoolctl allow
#else
        return 1 << 20;
#endif
    });
}

}  // namespace widemargin
