"""A double of the GPU made of NumPy: the same interface, and the formulas of the CUDA kernels."""

from contextlib import nullcontext

import numpy as np
import scipy.sparse as sp

from widemargin import _core
from widemargin.backends.gpu import rounds
from widemargin.kernels import (
    RBF,
    ChiSquared,
    Cosine,
    Intersection,
    Laplacian,
    Linear,
    NativeSpec,
    Polynomial,
    Sigmoid,
)
from widemargin.kernels.quantities import BASES


def kernel_of(spec: NativeSpec):
    """Return the kernel object whose formula the specification names."""
    gamma, coef0 = spec.gamma, spec.coef0
    return {
        "LINEAR": lambda: Linear(),
        "POLYNOMIAL": lambda: Polynomial(spec.degree, gamma, coef0),
        "RBF": lambda: RBF(gamma),
        "SIGMOID": lambda: Sigmoid(gamma, coef0),
        "LAPLACIAN": lambda: Laplacian(gamma),
        "CHI_SQUARED": lambda: ChiSquared(gamma),
        "INTERSECTION": lambda: Intersection(),
        "COSINE": lambda: Cosine(),
    }[spec.kind.name]()


def chosen_rows(rows, chosen):
    """Return rows and norms, or those of them that are chosen."""
    if chosen is None:
        return rows
    ids, count = chosen
    assert ids.dtype == np.int32
    return rows[0][ids[:count]], rows[1][ids[:count]]


def gradient_of(state):
    return np.tile(state.outputs, state.x.size // state.rows) + state.linear


class NumpyDevice:
    """What `backends.gpu.device.Device` is, on the host."""

    name = "double"
    xp = np
    sparse = sp

    def upload(self, values, dtype=None):
        return np.array(values, dtype=dtype)

    def download(self, values):
        return np.array(values)

    def upload_csr(self, X):
        return sp.csr_matrix(X, copy=True)

    def upload_dense(self, X):
        return X.toarray()

    def all_finite(self, values):
        assert values.flags.c_contiguous
        return bool(np.isfinite(values).all())

    def free_memory(self):
        return 1 << 30

    def held_memory(self):
        return 0

    def give_back(self):
        pass

    def synchronize(self):
        pass

    def stream(self):
        return nullcontext()

    @np.errstate(over="ignore", invalid="ignore")
    def map_products(self, values, norms_a, norms_b, spec):
        assert values.flags.c_contiguous
        assert values.dtype == norms_a.dtype == norms_b.dtype
        values[...] = kernel_of(spec).formula(values, norms_a[:, None], norms_b)

    @np.errstate(over="ignore", invalid="ignore")
    def map_and_add(self, products, norms_a, norms_b, moves, outputs, spec):
        assert moves.dtype == outputs.dtype == np.float64
        outputs += moves @ kernel_of(spec).formula(products, norms_a[:, None], norms_b).astype(
            float
        )

    tiles = True

    @np.errstate(over="ignore", invalid="ignore")
    def kernel_values(self, a, b, spec, out, chosen_a=None, chosen_b=None):
        (A, norms_a), (B, norms_b) = chosen_rows(a, chosen_a), chosen_rows(b, chosen_b)
        assert out.strides[1] == out.itemsize
        assert A.dtype == B.dtype == norms_a.dtype == norms_b.dtype == out.dtype
        out[...] = kernel_of(spec).formula(A @ B.T, norms_a[:, None], norms_b)

    def kernel_sums(self, a, b, moves, outputs, spec, chosen_a=None, chosen_b=None):
        (A, norms_a), (B, norms_b) = chosen_rows(a, chosen_a), chosen_rows(b, chosen_b)
        self.map_and_add(A @ B.T, norms_a, norms_b, moves, outputs, spec)

    def pairwise(self, A, B, spec):
        return np.ascontiguousarray(BASES[kernel_of(spec).base](A, B), dtype=A.dtype)

    def row_norms(self, rows):
        return np.square(rows.astype(float)).sum(axis=1).astype(rows.dtype)

    def state(self, arrays, group, groups):
        held = [self.upload(a, np.float64) for a in arrays]
        return rounds.State(*held, group=self.upload(group, np.int8), groups=groups)

    def write(self, array, values):
        assert array.shape == values.shape
        array[...] = values

    @np.errstate(over="ignore", invalid="ignore")
    def reach(self, state):
        gradient, rows = gradient_of(state), []
        for g in range(state.groups):
            rise = (state.group == g) & (state.x < state.upper)
            fall = (state.group == g) & (state.x > state.lower)
            free = gradient[rise & fall]
            low, high = gradient[rise].min(initial=np.inf), gradient[fall].max(initial=-np.inf)
            rows.append((low, high, free.sum(), free.size))
        return np.array(rows, dtype=float)

    @np.errstate(over="ignore", invalid="ignore")
    def sums(self, state, multipliers):
        r = gradient_of(state) + np.asarray(multipliers)[state.group]
        gap = np.maximum((state.x - state.lower) * r, (state.x - state.upper) * r).sum()
        quadratic = state.x @ (gradient_of(state) - state.linear)
        return np.array([gap, quadratic, state.x @ state.linear])

    def solve_block(self, kernel, diagonal, gradient, x, lower, upper, group, groups, tol, limit):
        m, width = x.size, _core.padded(x.size)
        padded = np.zeros((m, width), kernel.dtype)
        padded[:, :m] = kernel[:m, :m]
        ends = [np.zeros(width, kernel.dtype) for _ in range(2)]
        ends[0][:m], ends[1][:m] = diagonal, gradient
        x = x.copy()
        steps, violation, negative = _core.solve_block(
            padded, *ends, x, lower, upper, group, groups, tol, limit
        )
        return x, steps, violation, bool(negative)

    # --- linear machines

    def respond(self, samples, loss, width, outputs, dual, curvature):
        view = _core.samples(samples.target, samples.cost, samples.centre)
        kind = loss.kind, loss.epsilon, width
        return np.array(_core.respond(view, *kind, outputs, dual, curvature, 1))

    def along(self, samples, loss, width, outputs, moves, length):
        view = _core.samples(samples.target, samples.cost, samples.centre)
        kind = loss.kind, loss.epsilon, width
        return np.array(_core.along_ray(view, *kind, outputs, moves, length, 1))

    def judge(self, samples, loss, outputs, shares):
        view = _core.samples(samples.target, samples.cost, None)
        return _core.judge(view, loss.kind, loss.epsilon, outputs, shares, 1)

    def solve_positive(self, matrix, right, threads):
        found = right.copy()
        _core.solve_positive(np.ascontiguousarray(matrix), found, threads)
        return found

    def rounds(self, *arguments):
        return NumpyRounds(self, *arguments)

    def rounds_of_rows(self, state, rows, spec, ids, diagonal):
        matrix = np.empty((rows.size, rows.size), dtype=diagonal.dtype)
        self.kernel_values(rows.tile_rows, rows.tile_rows, spec, matrix)
        return NumpyRounds(self, state, matrix, ids, diagonal)


class GivenArray:
    """A double of an array that lies on a GPU."""

    __cuda_array_interface__ = None

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape = self.values.shape

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class NumpyRounds:
    """What `backends.gpu.rounds.CudaRounds` is: the kernels of rounds.cu, line by line."""

    size = 128

    def __init__(self, device, state, matrix, ids, diagonal, small=False):
        self.device, self.state, self.matrix, self.ids = device, state, matrix, ids
        self.diagonal = diagonal
        self.round = 0
        self.entered = np.full(state.x.size, -1)
        self.forget()

    def forget(self):
        self.round += 1
        self.block = np.full(self.size, -1)

    def reach(self):
        ends = self.device.reach(self.state)[:, :2]
        return np.where(np.isfinite(ends).all(axis=1, keepdims=True), ends, 0.0)

    def go(self, count, share, tolerance, enough, limit, steps):
        iterations = done = 0
        exhausted = negative = False
        for _ in range(count):
            reach = self.reach()
            violation = (reach[:, 1] - reach[:, 0]).max()
            if violation <= enough or iterations >= limit or exhausted:
                break
            self.choose(reach)
            most = min(steps, limit - iterations)
            taken, left, flag, aim = self.solve(reach, max(share * violation, tolerance), most)
            negative |= flag
            iterations += taken
            exhausted = taken >= steps and left > aim
            done += 1
        return rounds.Outcome(iterations, exhausted, negative, done)

    def choose(self, reach):
        self.round += 1
        s, gradient = self.state, gradient_of(self.state)
        low, high = reach[s.group].T
        new = self.entered != self.round - 1
        rise = new & (s.x < s.upper) & (gradient < high)
        fall = new & (s.x > s.lower) & (gradient > low)
        rather = ~fall | (gradient - low <= high - gradient)
        segments, lanes = self.size // 4, 8
        segment = np.arange(s.x.size) % (segments * lanes) // lanes
        found = [
            self.best_of(segment, rise & rather, high - gradient, segments),
            self.best_of(segment, fall & ~(rise & rather), gradient - low, segments),
        ]
        self.block = np.concatenate([self.block[self.size // 2 :], *found])
        for chosen in found:
            self.entered[chosen[chosen >= 0]] = self.round

    @staticmethod
    def best_of(segment, allowed, depth, segments):
        best = np.full(segments, -1)
        for t in np.flatnonzero(allowed):
            k = segment[t]
            if best[k] < 0 or depth[t] > depth[best[k]]:
                best[k] = t
        return best

    def solve(self, reach, tolerance, limit):
        s, block = self.state, self.block[self.block >= 0]
        rows = block % s.rows
        square = self.matrix[np.ix_(self.ids[rows], self.ids[rows])]
        x, taken, left, negative = self.device.solve_block(
            square,
            self.diagonal[rows],
            gradient_of(self.state)[block] - reach.mean(axis=1)[s.group[block]],
            s.x[block],
            s.lower[block],
            s.upper[block],
            s.group[block],
            s.groups,
            tolerance,
            limit,
        )
        moves = x - s.x[block]
        s.x[block] = x
        s.outputs[...] += moves @ self.matrix[np.ix_(self.ids[rows], self.ids)].astype(float)
        return taken, left, negative, tolerance
