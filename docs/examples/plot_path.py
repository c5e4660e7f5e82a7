"""
Every C at once
===============

Between two breakpoints the multipliers of a soft-margin machine are straight lines in C.
`svm_path` finds them all, so no grid of C is needed to see what C does.
"""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from widemargin import svm_path

# %%
# A textbook has this example of four rows, and finds by hand that the solution changes at C = 5/16
# and C = 1/10. There are two more breakpoints: 3/16, and 1/2, from which on the margin is hard.

rows, labels = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
path = svm_path(rows, labels, kernel="linear", C_max=float("inf"))
print("breakpoints:", path.C)
assert np.allclose(path.C, [1 / 10, 3 / 16, 5 / 16, 1 / 2])
for C in path.C:
    print(f"C={C:.4f}  alpha={path.alpha(C).round(4)}  w={path.estimator(C).coef_[0].round(4)}")
path.plot(show="alpha")

# %%
# Below C = 1/10 all four multipliers are C: the machine compares class means. Above 1/2 nothing
# changes any more.
#
# On data that overlap the path has many pieces, and tells where the test error is least.

X, y = make_moons(240, noise=0.3, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
path = svm_path(X, y, gamma=1.0, C_max=1000.0)
print(path)
display = path.plot(X_test, y_test)

# %%
# The duality gap certifies each of these machines, between the breakpoints too.

gaps = [path.gap(C) for C in np.geomspace(0.01, 1000, 50)]
print(f"largest gap of 50 machines: {max(gaps):.1e}")
assert max(gaps) < 1e-9
