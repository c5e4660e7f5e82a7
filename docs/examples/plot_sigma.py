"""
How far should a Gaussian reach?
================================

The Gaussian kernel ``exp(-|x - z|² / (2 sigma²))`` calls rows similar that are at most a few sigma
apart. A rule of thumb takes for sigma the distance of the closest two rows with different labels:
what has to be told apart lies that far apart.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from widemargin import SVC
from widemargin.kernels import sigma_heuristic
from widemargin.plotting import DecisionRegionsDisplay

X, y = make_moons(150, noise=0.12, random_state=3)
X_test, y_test = make_moons(1000, noise=0.12, random_state=4)
rules = {rule: sigma_heuristic(X, y, rule=rule) for rule in ("closest", "median", "scale")}
a, b = rules["closest"].pair

# %%
# Three rules, and a sigma ten times smaller than the first to see what goes wrong: every row then
# is similar to itself alone, and the machine learns the rows by heart.

reaches = {"tenth": rules["closest"].sigma / 10, **{k: r.sigma for k, r in rules.items()}}
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
scores = {}
for ax, (name, sigma) in zip(axes, reaches.items(), strict=True):
    machine = SVC(C=10.0, gamma=1 / (2 * sigma**2)).fit(X, y)
    scores[name] = machine.score(X_test, y_test)
    print(f"{name:8} sigma={sigma:.3f}  support vectors {machine.support_.size:3}"
          f"  new rows right {scores[name]:.1%}")  # fmt: skip
    DecisionRegionsDisplay.from_estimator(machine, X, y, legend=False, support=False, ax=ax)
    ax.plot(*X[[a, b]].T, color="black", linewidth=1.5)
    ax.set_title(f"{name}: sigma = {sigma:.2g}", loc="left")

# %%
# The line joins the closest pair of different labels. The rules start a search; the search decides.

assert min(scores, key=scores.get) == "tenth"
