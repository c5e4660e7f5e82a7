"""
What C buys
===========

The soft margin pays C for each unit by which a row falls short: ½||w||² + C sum of the slacks. A
large C buys few margin errors with a narrow street, a small one a wide street with many.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from widemargin import SVC
from widemargin.plotting import DecisionRegionsDisplay

X, y = make_blobs(70, centers=[[0.0, 0.0], [2.2, 2.0]], cluster_std=1.0, random_state=1)

# %%
# The ringed rows are the support vectors: those on the kerb, and all that fall short of it.

costs, widths = (100.0, 1.0, 0.01), []
figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
for ax, C in zip(axes, costs, strict=True):
    machine = SVC(kernel="linear", C=C).fit(X, y)
    widths.append(machine.margin_width_)
    slack = machine.machines_[0].slacks.sum()
    print(f"C={C:<6} street {widths[-1]:.2f} wide, total slack {slack:.2f}")
    DecisionRegionsDisplay.from_estimator(machine, X, y, legend=False, ax=ax)
    ax.set_title(f"C = {C:g}: {machine.support_.size} support vectors", loc="left")

# %%
# In the limit of a small C every row is a margin error, all count alike, and the direction of w is
# that between the two class means: the basic linear classifier.

assert widths == sorted(widths)
means = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
w = SVC(kernel="linear", C=1e-4).fit(X, y).coef_[0]
print("w and the difference of the means:", (w / w[0]).round(4), (means / means[0]).round(4))
assert abs(w[1] / w[0] - means[1] / means[0]) < 1e-6
