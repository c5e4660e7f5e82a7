// The array types that the bindings demand, and nothing else.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "data/rows.hpp"

namespace nb = nanobind;

namespace widemargin {

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Strided2 = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char* sentence) {
    if (!condition) throw std::invalid_argument(sentence);
}

// A view of the caller's data; Python keeps the arrays alive beside it.
struct DataRows {
    Rows view;
    nb::object owner;
};

void bind_rows(nb::module_& m);
void bind_panels(nb::module_& m);
void bind_machine(nb::module_& m);
void bind_small(nb::module_& m);
void bind_joint(nb::module_& m);
void bind_svmlight(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_online(nb::module_& m);

}  // namespace widemargin
