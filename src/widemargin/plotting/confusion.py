"""Which classes are taken for which: the confusion matrix."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .reading import dense_labels, number_classes
from .style import new_axes

__all__ = ["ConfusionDisplay"]

NORMALIZE = (None, "true", "predicted", "all")


@dataclass(eq=False)
class ConfusionDisplay:
    """Rows of each true class by predicted class.

    Made by ``from_estimator`` or ``from_predictions``; ``plot`` draws it again on other axes. The
    colour shows shares of the true class, since large classes would outshine the errors.

    Attributes
    ----------
    counts : array of int of shape (n_classes, n_classes)
        Rows of the true class i that are predicted to be j.
    shown : array of shape (n_classes, n_classes)
        The numbers that are written.
    classes : array
        Labels.
    accuracy : float
        Share of the rows that are predicted right.
    ax_, figure_
        What was drawn on.

    Examples
    --------
    >>> from widemargin.plotting import ConfusionDisplay
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"])
    >>> display.counts
    array([[1, 1],
           [0, 1]])
    """

    counts: NDArray[np.int64]
    shown: NDArray[Any]
    classes: Any
    accuracy: float

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, normalize: str | None = None, ax: Any = None
    ) -> Self:
        """Draw how a fitted classifier confuses the classes of rows.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X : array-like or CSR matrix of shape (n_rows, n_features)
            Rows.
        y : array-like of shape (n_rows,)
            Their labels.
        normalize : {"true", "predicted", "all"}, default=None
            Write shares of the true class, of the predicted class or of all rows; None writes
            counts.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ConfusionDisplay
            What was drawn.
        """
        return cls._of(y, estimator.predict(X), np.asarray(estimator.classes_), normalize, ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, normalize: str | None = None, ax: Any = None
    ) -> Self:
        """Draw how predictions confuse the classes.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_rows,)
            True and predicted labels.
        normalize : {"true", "predicted", "all"}, default=None
            As for ``from_estimator``.
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ConfusionDisplay
            What was drawn.
        """
        classes = np.unique(np.concatenate([dense_labels(y_true), dense_labels(y_pred)]))
        return cls._of(y_true, y_pred, classes, normalize, ax)

    @classmethod
    def _of(cls, y_true: Any, y_pred: Any, classes: Any, normalize: str | None, ax: Any) -> Self:
        if normalize not in NORMALIZE:
            raise ValueError(
                f"normalize must be 'true', 'predicted', 'all' or None, found {normalize!r}"
            )
        true = number_classes(dense_labels(y_true), classes)
        predicted = number_classes(dense_labels(y_pred), classes)
        if true.size != predicted.size:
            raise ValueError(
                f"y_pred must have a label for each of the {true.size} rows, found {predicted.size}"
            )
        counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
        np.add.at(counts, (true, predicted), 1)
        totals = {
            None: 1, "all": counts.sum(), "true": counts.sum(axis=1, keepdims=True),
            "predicted": counts.sum(axis=0, keepdims=True),
        }[normalize]  # fmt: skip
        shown = counts if normalize is None else counts / np.maximum(totals, 1)
        accuracy = float(np.trace(counts) / max(1, counts.sum()))
        return cls(counts, shown, classes, accuracy).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        ConfusionDisplay
            This display.
        """
        count = len(self.classes)
        side = float(np.clip(2.0 + 0.5 * count, 4.0, 12.0))
        ax = new_axes(ax, (side + 1.2, side))
        self.ax_, self.figure_ = ax, ax.figure
        shares = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        shown = ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
        ax.figure.colorbar(shown, ax=ax, label="share of the true class", shrink=0.85)
        ticks = [str(label) for label in self.classes]
        crowded = count > 5 and max(map(len, ticks)) > 2
        ax.set_xticks(range(count), ticks, rotation=45 if crowded else 0)
        ax.set_yticks(range(count), ticks)
        size = 11 if count <= 6 else 9 if count <= 12 else 7
        for i, j in np.argwhere(self.counts > 0):
            value = self.shown[i, j]
            text = f"{value}" if self.shown.dtype.kind == "i" else f"{value:.2f}"
            color = "white" if shares[i, j] > 0.5 else "#222222"
            ax.text(j, i, text, ha="center", va="center", color=color, fontsize=size)
        ax.set_xlabel("predicted class")
        ax.set_ylabel("true class")
        total = int(self.counts.sum())
        ax.set_title(f"{100 * self.accuracy:.1f} % of {total} rows are right", loc="left")
        return self
