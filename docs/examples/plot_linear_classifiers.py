"""
Four ways to draw a line
========================

Nearest means, least squares, the perceptron and the support vector machine all end with a line
w.x + b = 0. They differ in what they ask of it, and a few rows far from the boundary show how much.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC, LeastSquaresClassifier, NearestMeans, Perceptron
from widemargin.plotting import DecisionRegionsDisplay

# %%
# Two classes that a line separates. Fifteen rows of the second class lie far out on the right:
# nobody could doubt them, and so they should not matter.

random = np.random.default_rng(0)
blue = random.normal([0.0, 0.0], [0.5, 1.0], (40, 2))
red = np.vstack([random.normal([3.0, 0.0], [0.5, 1.0], (25, 2)),
                 random.normal([12.0, 5.0], 0.5, (15, 2))])  # fmt: skip
X, y = np.vstack([blue, red]), np.repeat([-1, 1], 40)

# %%
# Nearest means puts its line half-way between the two means, least squares fits the numbers ±1, the
# perceptron stops at the first line without a mistake, and the SVM takes the line that is as far
# from both classes as possible.

learners = {
    "nearest means": NearestMeans(),
    "least squares": LeastSquaresClassifier(),
    "perceptron": Perceptron(shuffle=False, max_iter=1000, tol=None),
    "hard-margin SVM": SVC(kernel="linear", C=float("inf")),
}
figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
margins = {}
print(f"{'':16} {'errors':>6} {'margin':>7}")
for ax, (name, learner) in zip(axes.flat, learners.items(), strict=True):
    learner.fit(X, y)
    outputs = X @ np.ravel(learner.coef_) + learner.intercept_
    margins[name] = (y * outputs).min() / np.linalg.norm(learner.coef_)
    errors = int((learner.predict(X) != y).sum())
    print(f"{name:16} {errors:6} {margins[name]:7.3f}")
    DecisionRegionsDisplay.from_estimator(learner, X, y, legend=False, ax=ax)
    ax.set_title(f"{name}: {errors} errors", loc="left")

# %%
# Far rows pull the mean of their class, and least squares punishes them for being *too* right, so
# that both lines turn away from where the classes meet. The perceptron and the SVM make no error,
# but only the SVM maximises the smallest distance.

assert max(margins, key=margins.get) == "hard-margin SVM"
assert margins["nearest means"] < 0 < margins["perceptron"]
