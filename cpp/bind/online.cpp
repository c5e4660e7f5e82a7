#include "bind/arrays.hpp"
#include "solve/hot.hpp"

namespace widemargin {
namespace {

// The views of an online learner's settings, weights and moves, which Python owns and keeps alive.
struct Learner {
    Sweep sweep;
    SweepState state;
    SweepMoves moves;
    Index entries, rows, room;  // of the weights, the labels and the moves
    nb::object owner;
};

Learner make_learner(int rule, double rate, Index outputs, double offset, double constant,
                     Index batch, bool project, In1<Index> labels,
                     std::optional<In1<double>> importance, Out1<double> weights,
                     std::optional<Out1<double>> second, Out1<double> scale, Out1<Index> row,
                     Out1<Index> rival, Out1<double> amount, Out1<Index> time) {
    require(rule >= 0 && rule <= int(SweepRule::balanced), "no such rule");
    require(outputs >= 1 && batch >= 1, "at least one output and one row at a time");
    require(!project || rule == int(SweepRule::pegasos), "nothing to project");
    require(rule < int(SweepRule::winnow) || second.has_value(), "Winnow needs its exponents");
    require(!second || second->shape(0) == weights.shape(0), "one number for each weight");
    require(scale.shape(0) == 3, "scale, squared norm and clock");
    require(rival.shape(0) == row.shape(0) && amount.shape(0) == row.shape(0) &&
                time.shape(0) == row.shape(0),
            "one entry for each move");
    require(!importance || importance->shape(0) == labels.shape(0), "one importance for each row");
    const Index classes = outputs == 1 ? 2 : outputs;
    for (std::size_t i = 0; i < labels.shape(0); ++i)
        require(labels.data()[i] >= 0 && labels.data()[i] < classes, "no such class");
    return {{SweepRule(rule), rate, outputs, offset, constant, batch, 0.0, labels.data(), project,
             importance ? importance->data() : nullptr},
            {weights.data(), second ? second->data() : nullptr, scale.data(), scale.data() + 1,
             scale.data() + 2},
            {row.data(), rival.data(), amount.data(), time.data()},
            Index(weights.shape(0)),
            Index(labels.shape(0)),
            Index(row.shape(0)),
            nb::make_tuple(labels, importance, weights, second, scale, row, rival, amount, time)};
}

std::tuple<Index, Index> sweep(const DataRows& rows, const Learner& learner, In1<Index> order,
                               double seen) {
    const Index count = Index(order.shape(0));
    require(learner.rows == rows.view.count, "one label for each row");
    require(learner.entries == (rows.view.features + 1) * learner.sweep.outputs,
            "one weight for each feature and output, and one for the constant");
    require(count <= learner.room, "no room for the moves");
    require(rows.view.is_sparse() || rows.view.column_stride == 1,
            "the features of a row must lie side by side");
    for (Index at = 0; at < count; ++at)
        require(order.data()[at] >= 0 && order.data()[at] < learner.rows, "a row is out of range");
    nb::gil_scoped_release release;
    Sweep settings = learner.sweep;
    settings.seen = seen;
    const SweepCounts counts =
        hot().online.sweep(rows.view, settings, learner.state, order.data(), count, learner.moves);
    return {counts.moves, counts.mistakes};
}

std::tuple<Index, Index> sweep_block(const Learner& learner, In2<double> base, In2<double> gram,
                                     double seen) {
    const Index count = Index(gram.shape(0));
    require(count == Index(gram.shape(1)) && count == Index(base.shape(0)) &&
                Index(base.shape(1)) == learner.sweep.outputs,
            "a square matrix and the scores of its rows");
    require(count == learner.rows && learner.entries == count * learner.sweep.outputs,
            "one label and coefficient for each row");
    require(count <= learner.room, "no room for the moves");
    nb::gil_scoped_release release;
    Sweep settings = learner.sweep;
    settings.seen = seen;
    const SweepCounts counts = hot().online.sweep_block({base.data(), gram.data(), count}, settings,
                                                        learner.state, learner.moves);
    return {counts.moves, counts.mistakes};
}

void vote(In2<double> kernel, In1<Index> column, In1<Index> winner, In1<Index> loser,
          In1<double> amount, In1<double> survival, Index outputs, Out2<double> votes,
          int threads) {
    const auto count = column.shape(0);
    require(winner.shape(0) == count && loser.shape(0) == count && amount.shape(0) == count &&
                survival.shape(0) == count,
            "one entry for each move");
    const Index classes = outputs == 1 ? 2 : outputs;
    require(outputs >= 1 && Index(votes.shape(1)) == classes && votes.shape(0) == kernel.shape(0),
            "votes of each row for each class");
    for (std::size_t m = 0; m < count; ++m)
        require(column.data()[m] >= 0 && column.data()[m] < Index(kernel.shape(1)) &&
                    winner.data()[m] >= 0 && winner.data()[m] < classes && loser.data()[m] >= 0 &&
                    loser.data()[m] < classes,
                "a move is out of range");
    nb::gil_scoped_release release;
    hot().online.vote(kernel.data(), Index(kernel.shape(0)), Index(kernel.shape(1)),
                      {column.data(), winner.data(), loser.data(), amount.data(), survival.data(),
                       Index(count), outputs},
                      votes.data(), threads);
}

}  // namespace

void bind_online(nb::module_& m) {
    nb::class_<Learner>(m, "Learner");
    m.def("learner", make_learner, nb::arg("rule"), nb::arg("rate"), nb::arg("outputs"),
          nb::arg("offset"), nb::arg("constant"), nb::arg("batch"), nb::arg("project"),
          nb::arg("labels").noconvert(), nb::arg("importance").noconvert().none(),
          nb::arg("weights").noconvert(), nb::arg("second").noconvert().none(),
          nb::arg("scale").noconvert(), nb::arg("row").noconvert(), nb::arg("rival").noconvert(),
          nb::arg("amount").noconvert(), nb::arg("time").noconvert());
    m.def("sweep", sweep, nb::arg("rows"), nb::arg("learner"), nb::arg("order").noconvert(),
          nb::arg("seen"));
    m.def("sweep_block", sweep_block, nb::arg("learner"), nb::arg("base").noconvert(),
          nb::arg("gram").noconvert(), nb::arg("seen"));
    m.def("vote", vote, nb::arg("kernel").noconvert(), nb::arg("column").noconvert(),
          nb::arg("winner").noconvert(), nb::arg("loser").noconvert(),
          nb::arg("amount").noconvert(), nb::arg("survival").noconvert(), nb::arg("outputs"),
          nb::arg("votes").noconvert(), nb::arg("threads"));
}

}  // namespace widemargin
