"""What LIBSVM and LIBLINEAR themselves decide, asked without their Python code."""

import ctypes
from typing import Any

import numpy as np
from liblinear.liblinear import feature_node, liblinear
from liblinear.liblinear import gen_feature_nodearray as linear_nodes
from libsvm.svm import gen_svm_nodearray as svm_nodes
from libsvm.svm import libsvm


def libsvm_decisions(model: Any, given: Any, kernel: str) -> tuple[Any, Any]:
    """Return what LIBSVM decides; its own Python function gives nu-SVC too small a buffer."""
    first = 0 if kernel == "precomputed" else 1
    k = model.get_nr_class()
    labels, values = [], []
    for row in np.asarray(given).tolist():
        buffer = (ctypes.c_double * (k * (k - 1) // 2))()
        nodes, _ = svm_nodes(dict(enumerate(row, first)), isKernel=first == 0)
        labels.append(libsvm.svm_predict_values(model, nodes, buffer))
        values.append(list(buffer))
    return np.array(labels), np.array(values)


def liblinear_decisions(model: Any, X: Any) -> tuple[Any, Any]:
    """Return what LIBLINEAR decides; its own Python function gives type 4 too small a buffer."""
    bias, features = model.bias, model.get_nr_feature()
    machines = model.get_nr_class()
    if model.param.solver_type != 4 and machines == 2:
        machines = 1
    labels, values = [], []
    for row in np.asarray(X):
        buffer = (ctypes.c_double * machines)()
        nodes, _ = linear_nodes(row)
        if bias >= 0:
            nodes[len(nodes) - 2] = feature_node(features + 1, bias)
        labels.append(liblinear.predict_values(model, nodes, buffer))
        values.append(list(buffer))
    return np.array(labels), np.array(values)
