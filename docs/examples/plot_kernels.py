"""
Kernels side by side
====================

A kernel is an inner product in some feature space. The machine is a plane there; seen from here it
is a line, a conic section, or whatever the data ask for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_moons

from widemargin import SVC
from widemargin.kernels import RBF, Laplacian, Linear, Polynomial
from widemargin.plotting import DecisionRegionsDisplay

# %%
# Kernels are objects, and sums and products of kernels are kernels again.

kernels = {
    "linear": Linear(),
    "quadratic": Polynomial(degree=2, gamma=1.0, coef0=1.0),
    "Gaussian": RBF(gamma=1.0),
    "Laplacian": Laplacian(gamma=1.0),
    "quadratic + Gaussian": Polynomial(degree=2, gamma=1.0, coef0=1.0) + RBF(gamma=1.0),
}
sets = {
    "rings": make_circles(120, noise=0.12, factor=0.5, random_state=0),
    "moons": make_moons(120, noise=0.2, random_state=0),
}
figure, axes = plt.subplots(2, 5, figsize=(15, 6), layout="constrained")
scores = {}
for row, (data, (X, y)) in zip(axes, sets.items(), strict=True):
    for ax, (name, kernel) in zip(row, kernels.items(), strict=True):
        machine = SVC(kernel=kernel, C=10.0).fit(X, y)
        scores[data, name] = machine.score(X, y)
        DecisionRegionsDisplay.from_estimator(
            machine, X, y, legend=False, support=False, resolution=100, ax=ax
        )
        ax.set_title(f"{name}: {scores[data, name]:.0%}", loc="left")

# %%
# A line cannot part the rings. The quadratic kernel (1 + x.z)² can, because a circle is linear in
# the features x₁², x₂² and x₁x₂.

assert scores["rings", "linear"] < 0.7
assert scores["rings", "quadratic"] > 0.95

# %%
# The kernel trick, checked: both sides of (1 + x.z)² = phi(x).phi(z), the one in two dimensions and
# the other in six.


def phi(x):
    root = np.sqrt(2.0)
    return np.array([1, root * x[0], root * x[1], x[0] ** 2, root * x[0] * x[1], x[1] ** 2])


x, z = np.array([0.3, -1.2]), np.array([2.0, 0.7])
print((1 + x @ z) ** 2, phi(x) @ phi(z))
assert np.isclose((1 + x @ z) ** 2, phi(x) @ phi(z))
