#include <limits>
#include <memory>

#include "bind/arrays.hpp"
#include "bind/counting.hpp"
#include "solve/hot.hpp"

namespace widemargin {
namespace {

template <class T>
struct BoundPanels {
    Panels<T> panels;
    nb::object source;  // keeps the data alive
};

template <class T>
void check_ids(const In1<Index>& ids, Index rows) {
    for (std::size_t i = 0; i < ids.shape(0); ++i)
        require(ids.data()[i] >= 0 && ids.data()[i] < rows, "a row number is out of range");
}

template <class T>
BoundPanels<T>* make(nb::object source, In1<Index> chosen, int kind, double gamma, double coef0,
                     int degree, std::optional<In1<double>> centre, bool sparse, bool stored,
                     int threads) {
    const Rows& rows = nb::cast<const DataRows&>(source).view;
    require(kind >= 0 && kind <= int(Kind::cosine), "unknown kernel kind");
    check_ids<T>(chosen, rows.count);
    auto bound = std::make_unique<BoundPanels<T>>();
    Panels<T>& p = bound->panels;
    p.kernel = {Kind(kind), gamma, coef0, degree};
    p.source = rows;
    p.chosen.assign(chosen.data(), chosen.data() + chosen.shape(0));
    if (centre) {
        require(Index(centre->shape(0)) == rows.features && !rows.is_sparse() && !sparse,
                "a centre needs dense rows and one value per feature");
        p.centre.assign(centre->data(), centre->data() + centre->shape(0));
    }
    require(!sparse || p.kernel.of_products(), "this kernel compares feature by feature: dense");
    require(!sparse || rows.features <= std::numeric_limits<std::int32_t>::max(),
            "at most 2147483647 features; drop the empty columns or hash them to fewer");
    p.sparse = sparse;
    p.stored = stored;
    bound->source = std::move(source);
    nb::gil_scoped_release release;
    hot().of<T>().pack_panels(p, threads);
    return bound.release();
}

template <class T>
void rows_into(const BoundPanels<T>& bound, const DataRows& rows, In1<Index> ids, Out2<T> arena,
               In1<Index> slots, int threads) {
    require(Index(arena.shape(1)) >= padded(bound.panels.columns()), "rows of the arena too short");
    require(slots.shape(0) == ids.shape(0), "one slot for each row");
    require(rows.view.features == bound.panels.source.features, "feature counts differ");
    check_ids<T>(ids, rows.view.count);
    check_ids<T>(slots, Index(arena.shape(0)));
    std::vector<T*> out(ids.shape(0));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = arena.data() + slots.data()[i] * Index(arena.shape(1));
    kernel_values += Index(out.size()) * bound.panels.columns();
    nb::gil_scoped_release release;
    hot().of<T>().kernel_rows(bound.panels, rows.view, ids.data(), Index(out.size()), out.data(),
                              threads);
}

template <class T>
void square_into(const BoundPanels<T>& bound, Out2<T> square, int threads) {
    const Index n = bound.panels.columns();
    require(Index(square.shape(0)) >= n && Index(square.shape(1)) >= padded(n),
            "the square must hold a padded row for each column");
    std::vector<T*> out(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) out[std::size_t(i)] = square.data() + i * Index(square.shape(1));
    count_square(n);
    nb::gil_scoped_release release;
    hot().of<T>().kernel_square(bound.panels, out.data(), threads);
}

template <class T>
void sums_into(const BoundPanels<T>& bound, const DataRows& rows, In1<Index> ids,
               In2<double> weights, In1<Index> group_starts, Out2<double> result, int threads) {
    const ColumnSums sums{weights.data(), Index(weights.shape(0)), group_starts.data(),
                          Index(group_starts.shape(0)) - 1};
    require(Index(weights.shape(1)) == bound.panels.columns(), "one weight for each column");
    require(result.shape(0) == ids.shape(0) && Index(result.shape(1)) == sums.groups * sums.outputs,
            "the result must hold groups x outputs for each row");
    require(rows.view.features == bound.panels.source.features, "feature counts differ");
    check_ids<T>(ids, rows.view.count);
    kernel_values += Index(ids.shape(0)) * bound.panels.columns();
    nb::gil_scoped_release release;
    hot().of<T>().kernel_sums(bound.panels, rows.view, ids.data(), Index(ids.shape(0)), sums,
                              result.data(), threads);
}

// The packed sparse rows as data: what is mostly zero is read as entries from then on.
template <class T>
DataRows as_rows(nb::handle_t<BoundPanels<T>> self) {
    const Panels<T>& panels = nb::cast<const BoundPanels<T>&>(self).panels;
    require(panels.sparse && panels.stored, "only stored sparse panels can be read as rows");
    Rows rows;
    rows.count = panels.columns();
    rows.features = panels.source.features;
    rows.values = panels.values.data();
    rows.is_double = sizeof(T) == sizeof(double);
    rows.starts = panels.starts.data();
    rows.columns = panels.features.data();
    rows.wide_starts = true;
    return {rows, nb::borrow(self)};
}

template <class T>
void update(const BoundPanels<T>& bound, const DataRows& rows, In1<Index> ids, In1<double> moves,
            Out1<double> outputs, int threads) {
    require(moves.shape(0) == ids.shape(0), "one move for each row");
    require(Index(outputs.shape(0)) == bound.panels.columns(), "one output for each column");
    require(rows.view.features == bound.panels.source.features, "feature counts differ");
    check_ids<T>(ids, rows.view.count);
    kernel_values += Index(ids.shape(0)) * bound.panels.columns();
    nb::gil_scoped_release release;
    hot().of<T>().kernel_update(bound.panels, rows.view, ids.data(), Index(ids.shape(0)),
                                moves.data(), outputs.data(), threads);
}

template <class T>
void bind_typed(nb::module_& m, const char* name) {
    using Bound = BoundPanels<T>;
    nb::class_<Bound>(m, name)
        .def(
            "__init__",
            [](Bound* self, nb::object source, In1<Index> chosen, int kind, double gamma,
               double coef0, int degree, std::optional<In1<double>> centre, bool sparse,
               bool stored, int threads) {
                std::unique_ptr<Bound> made(make<T>(std::move(source), chosen, kind, gamma, coef0,
                                                    degree, centre, sparse, stored, threads));
                new (self) Bound(std::move(*made));
            },
            nb::arg("source"), nb::arg("chosen"), nb::arg("kind"), nb::arg("gamma"),
            nb::arg("coef0"), nb::arg("degree"), nb::arg("centre").none(), nb::arg("sparse"),
            nb::arg("stored"), nb::arg("threads"))
        .def("rows_into", rows_into<T>, nb::arg("rows"), nb::arg("ids"),
             nb::arg("arena").noconvert(), nb::arg("slots"), nb::arg("threads"))
        .def("square_into", square_into<T>, nb::arg("square").noconvert(), nb::arg("threads"))
        .def("sums_into", sums_into<T>, nb::arg("rows"), nb::arg("ids"), nb::arg("weights"),
             nb::arg("group_starts"), nb::arg("result").noconvert(), nb::arg("threads"))
        .def("update", update<T>, nb::arg("rows"), nb::arg("ids"), nb::arg("moves"),
             nb::arg("outputs").noconvert(), nb::arg("threads"))
        .def("as_rows", as_rows<T>)
        .def_prop_ro("columns", [](const Bound& b) { return b.panels.columns(); })
        .def_prop_ro("nbytes", [](const Bound& b) { return b.panels.bytes(); });
}

template <class T>
void def_elementary(nb::module_& m) {
    m.def("elementary", [](int function, In1<T> in, Out1<T> out) {
        require(in.shape(0) == out.shape(0), "input and output differ in length");
        hot().of<T>().elementary(function, in.data(), out.data(), Index(in.shape(0)));
    });
}

}  // namespace

void bind_panels(nb::module_& m) {
    bind_typed<float>(m, "Panels32");
    bind_typed<double>(m, "Panels64");
    def_elementary<float>(m);
    def_elementary<double>(m);
    m.attr("row_padding") = row_padding;
    m.def("count_kernel_values", [](Index more) { return kernel_values += more; }, nb::arg("more"));
    m.def("padded", padded);
    m.def("instruction_set", [] { return std::string(hot().name); });
    m.def("instruction_sets", instruction_sets);
    m.def("use_instruction_set", use_instruction_set);
}

}  // namespace widemargin
