"""
The perceptron and the bound on its mistakes
============================================

Novikoff's theorem: if the rows lie in a ball of radius R and can be separated with a margin gamma,
a perceptron makes at most (R / gamma)² mistakes, in whatever order the rows come.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widemargin import Perceptron
from widemargin.plotting import DecisionRegionsDisplay, MistakesDisplay

X, y = make_blobs(60, centers=[[2, 5], [6, 3]], cluster_std=1.0, random_state=3)

# %%
# The margin is that of the hard-margin machine, in coordinates where the bias is one more weight.

model = Perceptron(shuffle=False, mistake_bound=True).fit(X, y)
print(f"{model.mistakes_} mistakes, at most {model.mistake_bound_:.0f} were possible")
assert model.mistakes_ <= model.mistake_bound_

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
DecisionRegionsDisplay.from_estimator(model, X, y, legend=False, ax=left)
MistakesDisplay.from_estimator(model, legend=False, ax=right)

# %%
# The dual form counts how often each row was mistaken, and w is the sum of these counts times y x.
# It makes the same mistakes in the same order.

dual = Perceptron(dual=True, shuffle=False).fit(X, y)
print("mistaken rows and how often:", {i: int(a) for i, a in enumerate(dual.alpha_) if a})
assert dual.mistakes_ == model.mistakes_
assert np.allclose(dual.coef_, model.coef_)

# %%
# A hundred orders of the rows: the number of mistakes changes, the bound is never broken.

random = np.random.default_rng(0)
orders = [random.permutation(60) for _ in range(100)]
counts = [Perceptron(shuffle=False, tol=None).fit(X[o], y[o]).mistakes_ for o in orders]
print(f"from {min(counts)} to {max(counts)} mistakes")
assert max(counts) <= model.mistake_bound_
