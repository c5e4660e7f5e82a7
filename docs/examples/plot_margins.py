"""
The margin, and the few rows that hold it
=========================================

The hard-margin machine is the line with the widest street between two classes. It rests on the rows
at the kerb, the support vectors: without all the others it would be the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widemargin import SVC, linear_separability
from widemargin.plotting import DecisionRegionsDisplay, MarginDisplay

# %%
# First the question whether any line separates the classes. The answer comes with a proof: here a
# line; otherwise it would be a point that lies in the convex hulls of both classes.

X, y = make_blobs(80, centers=[[0.0, 0.0], [4.0, 3.0]], cluster_std=0.9, random_state=4)
print(linear_separability(X, y))

# %%
# ``C=inf`` allows no margin errors. The width of the street is 2 / ||w||.

machine = SVC(kernel="linear", C=float("inf")).fit(X, y)
distances = machine.margin(X, y)
print(f"street {machine.margin_width_:.3f} wide, held by rows {machine.support_.tolist()}")
assert np.isclose(distances.min(), machine.margin_width_ / 2)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
DecisionRegionsDisplay.from_estimator(machine, X, y, legend=False, ax=left)
left.set_title("ringed: support vectors", loc="left")
MarginDisplay.from_estimator(machine, X, y, geometric=True, legend=False, ax=right)

# %%
# Every row that is no support vector can go.

kept = machine.support_
again = SVC(kernel="linear", C=float("inf")).fit(X[kept], y[kept])
print("largest change of w:", np.abs(again.coef_ - machine.coef_).max().round(9))
assert np.allclose(again.coef_, machine.coef_, atol=1e-4)
assert np.allclose(again.intercept_, machine.intercept_, atol=1e-3)
