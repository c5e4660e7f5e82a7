"""
A thousand scales, one weight
=============================

Fish of two kinds differ in length for their weight. We weigh each fish on a thousand scales instead
of one. Nothing has been learnt by that, but naive Bayes believes a thousand independent witnesses.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.naive_bayes import GaussianNB

from widemargin import SVC

# %%
# Length and weight are related, so that neither alone tells the kinds apart as both do.


def fish(count, seed):
    random = np.random.default_rng(seed)
    kind = random.integers(0, 2, count)
    weight = random.normal(0.0, 1.0, count) + 0.3 * kind
    length = 0.8 * weight + np.where(kind == 1, 1.2, -1.2) + random.normal(0.0, 0.6, count)
    return length, weight, kind


def table(length, weight, scales):
    return np.column_stack([length, *[weight] * scales])


train, test = fish(300, 0), fish(2000, 1)
learners = {"naive Bayes": GaussianNB(), "linear SVM": SVC(kernel="linear", C=10.0)}
scales = [1, 3, 10, 30, 100, 300, 1000]  # one weight, and up to 999 copies
right = {
    name: [
        learner.fit(table(*train[:2], k), train[2]).score(table(*test[:2], k), test[2])
        for k in scales
    ]
    for name, learner in learners.items()
}
for name, scores in right.items():
    print(f"{name:12}", " ".join(f"{score:.3f}" for score in scores))

# %%
# With 1000 columns of weight naive Bayes decides by the weight alone, hardly better than a coin.
# The SVM divides one weight over the copies: to it they are one and the same direction.

assert right["naive Bayes"][-1] < right["naive Bayes"][0] - 0.2
assert min(right["linear SVM"]) > 0.93

figure, (left, last) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for kind, color, mark in ((0, "#0072B2", "o"), (1, "#D55E00", "s")):
    shown = train[2] == kind
    left.scatter(train[1][shown], train[0][shown], s=14, c=color, marker=mark, label=f"kind {kind}")
left.set(xlabel="weight", ylabel="length")
left.legend(frameon=False)
for (name, scores), color in zip(right.items(), ("#777777", "#0072B2"), strict=True):
    last.plot(scales, scores, "o-", color=color, label=name)
last.set(xscale="log", xlabel="columns of weight", ylabel="new fish right", ylim=(0.45, 1.0))
last.legend(frameon=False)
