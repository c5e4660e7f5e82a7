#include "bind/arrays.hpp"

namespace widemargin {
namespace {

template <class T>
DataRows from_dense(Strided2<T> values) {
    Rows rows;
    rows.count = Index(values.shape(0));
    rows.features = Index(values.shape(1));
    rows.values = values.data();
    rows.is_double = sizeof(T) == sizeof(double);
    rows.row_stride = values.stride(0);
    rows.column_stride = values.stride(1);
    return {rows, nb::cast(values)};
}

template <class T, class Start, class Column>
DataRows from_sparse(In1<T> values, In1<Start> starts, In1<Column> columns, Index features) {
    require(starts.shape(0) > 0, "row starts must hold one more entry than there are rows");
    Rows rows;
    rows.count = Index(starts.shape(0)) - 1;
    rows.features = features;
    rows.values = values.data();
    rows.is_double = sizeof(T) == sizeof(double);
    rows.starts = starts.data();
    rows.columns = columns.data();
    rows.wide_starts = sizeof(Start) == 8;
    rows.wide_columns = sizeof(Column) == 8;
    require(values.shape(0) == columns.shape(0), "there must be one column for each value");
    require(rows.starts_within(Index(columns.shape(0))),
            "row starts must ascend from 0 to at most the number of values");
    require(rows.columns_within_features(), "a column is out of range");
    return {rows, nb::make_tuple(values, starts, columns)};
}

template <class T, class Start, class Column>
void def_sparse(nb::module_& m) {
    m.def("sparse_rows", from_sparse<T, Start, Column>, nb::arg("values").noconvert(),
          nb::arg("starts").noconvert(), nb::arg("columns").noconvert(), nb::arg("features"));
}

}  // namespace

void bind_rows(nb::module_& m) {
    nb::class_<DataRows>(m, "Rows")
        .def_prop_ro("count", [](const DataRows& r) { return r.view.count; })
        .def_prop_ro("features", [](const DataRows& r) { return r.view.features; })
        .def_prop_ro("is_sparse", [](const DataRows& r) { return r.view.is_sparse(); });
    m.def("dense_rows", from_dense<float>, nb::arg("values").noconvert());
    m.def("dense_rows", from_dense<double>, nb::arg("values").noconvert());
    def_sparse<float, std::int32_t, std::int32_t>(m);
    def_sparse<float, std::int64_t, std::int32_t>(m);
    def_sparse<float, std::int32_t, std::int64_t>(m);
    def_sparse<float, std::int64_t, std::int64_t>(m);
    def_sparse<double, std::int32_t, std::int32_t>(m);
    def_sparse<double, std::int64_t, std::int32_t>(m);
    def_sparse<double, std::int32_t, std::int64_t>(m);
    def_sparse<double, std::int64_t, std::int64_t>(m);
}

}  // namespace widemargin
