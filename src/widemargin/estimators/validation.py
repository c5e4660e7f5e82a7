"""Turning what users pass into what the library works on, or one clear sentence."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, validate_data

from ..backends.choice import is_on_gpu
from ..backends.cpu import is_sparse
from ..kernels import FunctionKernel, Kernel, from_name

__all__ = [
    "ON_GPU",
    "check_choice",
    "check_flag",
    "check_gram",
    "check_number",
    "check_rows",
    "check_signs",
    "check_weights",
    "resolve_kernel",
]

Vector = NDArray[np.float64]

FLOATS = (np.float64, np.float32)
ENTRIES_AT_ONCE = 1 << 20
FEW_ENTRIES = 1 << 12
ON_GPU = "X lies on a GPU, and {} runs on the CPU only; copy it to the host first"


def check_number(
    name: str,
    value: object,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
    open_high: bool = False,
    whole: bool = False,
) -> None:
    """Require a finite number in a range; the error names the parameter and what was found."""
    kind = Integral if whole else Real
    good = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if good:
        number = float(value)  # type: ignore[arg-type]  # checked just above
        good = np.isfinite(number) and low <= number <= high
        good = good and not (open_low and number == low) and not (open_high and number == high)
    if not good:
        span = f"{'(' if open_low or low == -np.inf else '['}{low:g}, {high:g}"
        span += ")" if open_high or high == np.inf else "]"
        noun = "a whole number" if whole else "a number"
        raise ValueError(f"{name} must be {noun} in {span}, found {value!r}")


def check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Require one of a few values."""
    if not any(value is c or (isinstance(c, str) and value == c) for c in choices):
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {listed}, found {value!r}")


def check_flag(name: str, value: object) -> None:
    """Require a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, found {value!r}")


def check_rows(estimator: Any, X: Any, y: Any = None, *, reset: bool, objects: bool) -> Any:
    """Return rows as a float32 or float64 array or canonical CSR matrix, copied only if need be.

    With `objects` the rows are left as they are; only their number is checked.
    """
    if objects:
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
        X = X.tolist() if isinstance(X, np.ndarray) and X.ndim == 1 else X
        if y is not None:
            check_consistent_length(X, y)
        if (X.shape[0] if hasattr(X, "shape") else len(X)) == 0:
            raise ValueError("X has 0 rows; at least 1 is needed")
        return X
    if _is_ready(estimator, X, reset):
        if y is not None:
            check_consistent_length(X, y)
        return X
    if is_on_gpu(X):
        raise ValueError(ON_GPU.format(type(estimator).__name__))
    try:
        X = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=FLOATS,
            accept_sparse="csr",
            accept_large_sparse=True,
        )
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"X must hold numbers, but {error}; encode columns of text (OneHotEncoder), "
            "or choose a kernel on objects"
        ) from None
    if y is not None:
        check_consistent_length(X, y)
    if is_sparse(X) and not X.has_canonical_format:
        X = X.copy()  # the caller's matrix stays as it is
        X.sum_duplicates()
    return X


def _is_ready(estimator: Any, X: Any, reset: bool) -> bool:
    """Say whether rows are few and already what the check would make of them; note their width.

    The check by scikit-learn takes as long as deciding a row over a thousand support vectors.
    """
    ready = (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.flags.c_contiguous
        and 0 < X.size <= FEW_ENTRIES
        and bool(np.isfinite(X).all())
    )
    if not ready:
        return False
    if reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return True
    named = hasattr(estimator, "feature_names_in_")
    return not named and bool(getattr(estimator, "n_features_in_", -1) == X.shape[1])


def check_gram(X: Any, rows: int | None = None) -> None:
    """Require a kernel matrix to be dense, and square at fit."""
    if is_sparse(X):
        raise TypeError("Sparse precomputed kernels are not supported; pass a dense matrix")
    if rows is None and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be a square matrix. Input is a {X.shape[0]}x{X.shape[1]} "
            "matrix. At fit it holds the kernel between all pairs of training rows"
        )


def check_weights(sample_weight: Any, rows: int, *, name: str = "sample_weight") -> Vector:
    """Return a weight for each row; None means one."""
    if sample_weight is None:
        return np.ones(rows)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, but {error}") from None
    if weights.ndim == 0:
        weights = np.full(rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array")
    if weights.shape != (rows,):
        raise ValueError(
            f"{name} and X have incompatible shapes: {weights.shape} vs {rows} rows of X"
        )
    if not np.isfinite(weights).all():
        raise ValueError(f"{name} contains NaN or infinity; give a finite weight to each row")
    if (weights < 0).any() and (weights > 0).any():
        raise ValueError(
            f"{name} has {int((weights < 0).sum())} negative entries; "
            "a weight of 0 leaves a row out, negative weights mean nothing here"
        )
    if not (weights > 0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return weights


def resolve_kernel(
    kernel: Any, gamma: Any, degree: Any, coef0: Any, X: Any, weights: Vector
) -> Kernel | None:
    """Return the kernel object with numbers for all parameters, or None for a given matrix."""
    if isinstance(kernel, str) and kernel == "precomputed":
        return None
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ValueError(
            f"kernel must be a kernel object, found the class {kernel.__name__}; "
            f"write kernel={kernel.__name__}()"
        )
    if isinstance(kernel, Kernel):
        chosen: Kernel = kernel
    elif callable(kernel):
        return FunctionKernel(kernel, accepts_objects=True)
    else:
        check_number("degree", degree, low=0, whole=True)
        check_number("coef0", coef0)
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("scale", "auto"))
        else:
            check_number("gamma", gamma, low=0, open_low=True)
        if isinstance(kernel, str) and kernel not in KERNEL_NAMES:
            raise ValueError(
                f"kernel must be one of {', '.join(map(repr, KERNEL_NAMES))}, 'precomputed', "
                f"a kernel object or a function, found {kernel!r}"
            )
        chosen = from_name(kernel, gamma=gamma, degree=int(degree), coef0=float(coef0))
    if chosen.accepts_objects:
        return chosen
    if "scale" in chosen.get_params().values():
        chosen = chosen.resolve(X.shape[1], _variance(X, weights))
    else:
        chosen = chosen.resolve(X.shape[1], 1.0)
    check_signs(chosen, X)
    return chosen


def check_signs(kernel: Kernel, X: Any) -> None:
    """Require that no entry is negative if the kernel allows none."""
    if getattr(kernel, "non_negative", False) and X.shape[0] and _smallest(X) < 0:
        raise ValueError(
            f"Negative values in data X passed to {type(kernel).__name__}; "
            "scale the columns to [0, 1] or choose another kernel"
        )


KERNEL_NAMES = (
    "linear", "poly", "rbf", "sigmoid", "laplacian", "chi2", "intersection", "cosine"
)  # fmt: skip


def _smallest(X: Any) -> float:
    return float(X.data.min(initial=0.0)) if is_sparse(X) else float(X.min())


def _variance(X: Any, weights: Vector) -> float:
    """Return the variance of all entries, each counted with the weight of its row.

    In parts, since ``X.var()`` would allocate as much memory as X takes.
    """
    total = float(weights.sum()) * X.shape[1]
    if is_sparse(X):
        per_entry = np.repeat(weights, np.diff(X.indptr))
        mean = float(per_entry @ X.data) / total
        zeros = total - float(per_entry.sum())
        squares = float(per_entry @ (X.data.astype(np.float64) - mean) ** 2)
        return (squares + zeros * mean**2) / total
    step = max(1, ENTRIES_AT_ONCE // max(1, X.shape[1]))
    parts = [slice(i, i + step) for i in range(0, X.shape[0], step)]
    mean = sum(float((weights[p] @ X[p]).sum()) for p in parts) / total
    squares = 0.0
    for p in parts:
        shifted = X[p].astype(np.float64)
        shifted -= mean
        squares += float(weights[p] @ np.einsum("ij,ij->i", shifted, shifted))
    variance = squares / total
    return variance if variance > (4 * np.finfo(np.float64).eps * mean) ** 2 else 0.0
