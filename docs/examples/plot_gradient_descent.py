"""
Gradient descent with a line search
===================================

The soft margin by the simplest means: go down the slope of F(w) = ½||w||² + C sum of the losses.
Each step shrinks w and adds the margin errors; its length r starts at ½ and is halved while F would
rise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widemargin import LinearSVC, SubgradientSVC

X, y = make_blobs(80, centers=[[-1.0, -1.0], [1.0, 1.0]], cluster_std=1.0, random_state=0)

# %%
# Without a bias the path of w can be drawn on the map of F.

model = SubgradientSVC(C=0.1, fit_intercept=False, tol=1e-6, gap_tol=1e-9, trace=True).fit(X, y)
trace = model.trace_[0]
weights = np.asarray(trace["coef"])
print(f"{len(trace['step'])} steps from F={trace['objective'][0]:.2f}"
      f" to {trace['objective'][-1]:.4f}: {model.status_.value}")  # fmt: skip
assert (np.diff(trace["objective"]) <= 0).all()

signs = np.where(y == 1, 1.0, -1.0)


def objective(w):
    return 0.5 * w @ w + 0.1 * np.maximum(0.0, 1.0 - signs * (X @ w)).sum()


assert np.isclose(objective(weights[-1]), trace["objective"][-1])

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
top = 1.3 * np.abs(weights).max()
grid = np.linspace(-0.2 * top, top, 81)
heights = [[objective(np.array([a, b])) for a in grid] for b in grid]
left.contour(grid, grid, heights, levels=25, cmap="Greys_r", linewidths=0.8)
left.plot(*weights.T, "o-", color="#D55E00", markersize=4)
left.set(xlabel="w₁", ylabel="w₂")
left.set_title("the way of w on the map of F", loc="left")
right.plot(trace["objective"], color="#0072B2", label="F")
right.set(xlabel="step", ylabel="F")
errors = right.twinx()
errors.plot(trace["errors"], color="#777777", linestyle="--", label="margin errors")
errors.set_ylabel("margin errors (dashed)")
right.set_title("F falls at every step, the margin errors need not", loc="left")

# %%
# The dual bound says how good the end is; a solver for the same problem finds the optimum.

best = LinearSVC(loss="hinge", C=0.1, fit_intercept=False).fit(X, y)
print(f"gap {model.duality_gap_:.1e}; optimum {best.primal_objective_:.6f},"
      f" here {model.primal_objective_:.6f}")  # fmt: skip
assert model.dual_objective_ - 1e-9 <= best.primal_objective_ <= model.primal_objective_ + 1e-9
