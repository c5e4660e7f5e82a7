#include "bind/arrays.hpp"

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // objects may outlive the interpreter: a model held to the end
    m.doc() = "The compiled core of widemargin: the loops that touch every number.";
    widemargin::bind_rows(m);
    widemargin::bind_panels(m);
    widemargin::bind_machine(m);
    widemargin::bind_small(m);
    widemargin::bind_joint(m);
    widemargin::bind_svmlight(m);
    widemargin::bind_linear(m);
    widemargin::bind_online(m);
}
