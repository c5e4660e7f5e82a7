"""
XOR: a network of lines, or one plane elsewhere
===============================================

No line separates the corners of a square from each other crosswise. Two ways out: combine several
linear units, or go to a feature space in which one plane does it.
"""

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC, Perceptron, linear_separability
from widemargin.kernels import Polynomial
from widemargin.plotting import DecisionRegionsDisplay

X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = np.array([-1, 1, 1, -1])

# %%
# The proof that no line exists: the middle of the square is the mean of either class.

answer = linear_separability(X, y)
print(answer)
assert not answer.separable

# %%
# A small network. Two perceptrons learn OR and NAND, a third learns AND of their answers.


def unit(rows, targets):
    return Perceptron(shuffle=False, max_iter=100, tol=None).fit(rows, targets)


either, not_both = unit(X, [-1, 1, 1, 1]), unit(X, [1, 1, 1, -1])


def hidden(rows):
    return np.column_stack([either.predict(rows), not_both.predict(rows)]).astype(float)


both = unit(hidden(X), y)
print("network:", both.predict(hidden(X)))
assert (both.predict(hidden(X)) == y).all()

# %%
# One machine with the kernel (1 + x.z)² does the same: among its features is x₁x₂.

machine = SVC(kernel=Polynomial(degree=2, gamma=1.0, coef0=1.0), C=float("inf")).fit(X, y)
assert (machine.predict(X) == y).all()

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
grid = np.linspace(-0.5, 1.5, 201)
plane = np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])
answers = both.predict(hidden(plane)).reshape(201, 201)
left.contourf(grid, grid, answers, levels=[-2, 0, 2], colors=["#cce3f0", "#f7dfcc"])
for learner in (either, not_both):
    (w1, w2), b = learner.coef_[0], learner.intercept_[0]
    left.plot(grid, -(w1 * grid + b) / w2, color="black", linewidth=1.2)
left.scatter(*X.T, c=np.where(y > 0, "#D55E00", "#0072B2"), s=70, zorder=3)
left.set(xlim=(-0.5, 1.5), ylim=(-0.5, 1.5), xlabel="x₁", ylabel="x₂")
left.set_title("three perceptrons", loc="left")
DecisionRegionsDisplay.from_estimator(machine, X, y, legend=False, ax=right)
right.set_title("one machine, kernel (1 + x.z)²", loc="left")
