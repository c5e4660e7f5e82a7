"""What runs on a GPU: the table that drives the tests of the GPU, and the page of the manual.

``python tests/gpu_cases.py`` writes the page anew.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cases import KERNELS
from scipy import sparse

from widemargin import (
    SVC,
    SVDD,
    SVR,
    LinearOneClassSVM,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from widemargin.kernels import RBF, FunctionKernel, Linear

PAGE = Path(__file__).resolve().parents[1] / "docs" / "gpu.md"


def squared(A: Any, B: Any) -> Any:
    """Return (x.z + 1)², with operators that arrays of any library have."""
    product = A @ B.T + 1
    return product * product


# Each kernel as the parameter of an estimator.
GPU_KERNELS: dict[str, Any] = {
    **KERNELS,
    "sum, product, multiple": RBF(0.2) * RBF(0.3) + 0.5 * Linear(),
    "FunctionKernel": FunctionKernel(squared),
    "function": squared,
    "precomputed": "precomputed",
}

INPUTS: dict[str, Callable[[Any], Any]] = {
    "dense float64": lambda X: X,
    "dense float32": lambda X: X.astype(np.float32),
    "CSR": sparse.csr_matrix,
    "array of the GPU": lambda X: X,  # sent there by the test
}


@dataclass(frozen=True)
class GpuCase:
    """An estimator and the kind of targets that it takes."""

    make: Callable[..., Any]
    targets: str  # "classes", "numbers" or "none"


ESTIMATORS: dict[str, GpuCase] = {
    "SVC, one against one": GpuCase(
        lambda **kw: SVC(decision_function_shape="ovo", **kw), "classes"
    ),
    "SVC, one against the rest": GpuCase(lambda **kw: SVC(multi_class="ovr", **kw), "classes"),
    "SVC, jointly": GpuCase(lambda **kw: SVC(multi_class="joint", **kw), "classes"),
    "NuSVC": GpuCase(lambda **kw: NuSVC(nu=0.3, decision_function_shape="ovo", **kw), "classes"),
    "SVR": GpuCase(SVR, "numbers"),
    "NuSVR": GpuCase(NuSVR, "numbers"),
    "OneClassSVM": GpuCase(lambda **kw: OneClassSVM(nu=0.3, **kw), "none"),
    "SVDD": GpuCase(lambda **kw: SVDD(nu=0.3, **kw), "none"),
}


# Each linear machine, given device and tolerance.
LINEAR_ESTIMATORS: dict[str, Callable[..., Any]] = {
    "LinearSVC, squared hinge": LinearSVC,
    "LinearSVC, one against one": lambda **kw: LinearSVC(multi_class="ovo", **kw),
    "LinearSVC, jointly": lambda **kw: LinearSVC(multi_class="crammer_singer", **kw),
    "LinearSVC, hinge": lambda **kw: LinearSVC(loss="hinge", **kw),
    "LinearSVC, l1": lambda **kw: LinearSVC(penalty="l1", **kw),
    "LinearSVR": LinearSVR,
    "LinearSVR, squared": lambda **kw: LinearSVR(loss="squared_epsilon_insensitive", **kw),
    "LogisticRegression": LogisticRegression,
    "LogisticRegression, elastic net": lambda **kw: LogisticRegression(penalty="elasticnet", **kw),
    "LinearOneClassSVM": LinearOneClassSVM,
}


def runs(kernel: str, storage: str) -> bool:
    """Tell whether a kernel takes the storage at all, on any backend."""
    return not (kernel in ("precomputed", "function", "FunctionKernel") and storage == "CSR")


def page() -> str:
    """Return the page: each line of the table is a set of tests."""
    lines = [
        "# What runs on a GPU",
        "",
        'With `device="cuda"`, or rows that lie on a GPU already. Every mark stands for tests that',
        "compare objectives and decisions with those of the CPU; this page is written by",
        "`python tests/gpu_cases.py`. The estimators are",
        f"{', '.join(f'`{name}`' for name in ESTIMATORS)}.",
        "",
        f"| kernel | {' | '.join(INPUTS)} |",
        f"|---|{'---|' * len(INPUTS)}",
    ]
    for kernel in GPU_KERNELS:
        marks = ["yes" if runs(kernel, storage) else "-" for storage in INPUTS]
        lines.append(f"| {kernel} | {' | '.join(marks)} |")
    lines += [
        "",
        "Linear machines, by Newton's method and, at the end, interior-point steps:",
        "",
        f"| estimator | {' | '.join(INPUTS)} |",
        f"|---|{'---|' * len(INPUTS)}",
    ]
    lines += [f"| {name} |{' yes |' * len(INPUTS)}" for name in LINEAR_ESTIMATORS]
    lines += [
        "",
        "What a GPU cannot do raises one sentence: kernels on objects such as strings; of linear",
        'machines `solver="dual"`, `partial_fit`, and an l1 penalty on more than 1500 features.',
        "`backend_` says what ran. Of machines that learn all classes jointly the GPU computes the",
        "kernel values, while the processor makes the steps, as it does for the Newton steps that",
        "finish hard blocks.",
        "The solutions of l1-penalised systems, and small systems, are the processor's too.",
        "Perceptrons, `Pegasos`, `SubgradientSVC` and their like run on the CPU;",
        "rows that lie on a GPU they refuse.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
