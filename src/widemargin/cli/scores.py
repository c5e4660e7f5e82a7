"""How good predictions are, as the numbers of a few standard measures."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["classification_scores", "regression_scores", "scores", "scores_text"]


def scores(task: str, y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Return the measures of a task: classification, regression or detection (labels 1, -1)."""
    if task == "detection" and not np.isin(y, (-1, 1)).all():
        raise ValueError(
            "a detector predicts 1 for what is usual and -1 for outliers, and the labels are "
            f"{np.unique(y)[:5].tolist()}; give labels 1 and -1 to compare with"
        )
    return (regression_scores if task == "regression" else classification_scores)(y, predicted)


def classification_scores(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Return accuracy, balanced accuracy, and precision, recall and F1 of each class."""
    classes = np.unique(np.concatenate([y, predicted])).tolist()
    at = {label: k for k, label in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    pairs = zip(y.tolist(), predicted.tolist(), strict=True)
    np.add.at(confusion, tuple(np.array([[at[a], at[b]] for a, b in pairs]).T), 1)
    right = np.diag(confusion).astype(np.float64)
    rows, columns = confusion.sum(axis=1), confusion.sum(axis=0)
    recall = right / np.maximum(rows, 1)
    precision = right / np.maximum(columns, 1)
    f1 = 2 * right / np.maximum(rows + columns, 1)
    return {
        "rows": int(rows.sum()),
        "accuracy": float(right.sum() / rows.sum()),
        "balanced_accuracy": float(recall[rows > 0].mean()),
        "macro_f1": float(f1[rows > 0].mean()),
        "classes": [str(label) for label in classes],
        "precision": precision.tolist(),
        "recall": recall.tolist(),
        "f1": f1.tolist(),
        "confusion": confusion.tolist(),
    }


def regression_scores(y: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Return mean squared and absolute error, R² and squared correlation."""
    y, predicted = y.astype(np.float64), predicted.astype(np.float64)
    error, spread = predicted - y, float(((y - y.mean()) ** 2).sum())
    both = float(((y - y.mean()) * (predicted - predicted.mean())).sum())
    spreads = spread * float(((predicted - predicted.mean()) ** 2).sum())
    return {
        "rows": int(y.size),
        "mean_squared_error": float((error**2).mean()),
        "mean_absolute_error": float(np.abs(error).mean()),
        "r2": 1.0 - float((error**2).sum()) / spread if spread else float("nan"),
        "squared_correlation": both**2 / spreads if spreads else float("nan"),
    }


def scores_text(found: dict[str, Any]) -> str:
    """Return the measures for people, the confusion last."""
    lines = [
        f"{name.replace('_', ' '):20} {value:.6g}"
        for name, value in found.items()
        if isinstance(value, float | int)
    ]
    if "confusion" in found:
        names = found["classes"]
        width = max(9, *(len(name) for name in names))
        lines += ["", f"{'class':>{width}}  precision  recall      f1   rows"]
        for k, name in enumerate(names):
            lines.append(
                f"{name:>{width}}  {found['precision'][k]:9.4f}  {found['recall'][k]:6.4f}  "
                f"{found['f1'][k]:6.4f}  {sum(found['confusion'][k]):5d}"
            )
    return "\n".join(lines)
