"""The loops of the joint machine, on every instruction set: block, measure, update, exact steps."""

import numpy as np
import pytest
from cases import INSTRUCTION_SETS
from hypothesis import given
from hypothesis import strategies as st

from widemargin import _core
from widemargin.backends.cpu.joint_exact import JointFinish, project, upper_bounds
from widemargin.backends.cpu.joint_interior import interior_point

each_type = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request):
    before = _core.instruction_set()
    _core.use_instruction_set(request.param)
    yield request.param
    _core.use_instruction_set(before)


class Block:
    """A random block problem and what the formulas say about it."""

    def __init__(self, rows, classes, dtype=np.float64, *, cost=2.0, rank=None, seed=0):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(rows, rank or rows + 5)) / np.sqrt(rank or rows)
        self.kernel = np.zeros((rows, _core.padded(rows)), dtype=dtype)
        self.kernel[:, :rows] = Z @ Z.T
        self.K = np.float64(self.kernel[:, :rows])
        self.labels = rng.integers(0, classes, rows)
        self.costs = cost * rng.uniform(0.2, 1.0, rows)
        self.upper = upper_bounds(self.labels, self.costs, classes)
        self.linear = np.where(self.upper > 0, 0.0, 1.0)
        inside = np.where(self.upper > 0, 0.0, -rng.exponential(size=(classes, rows)))
        inside *= 0.5 * self.costs / np.maximum(-inside.sum(axis=0), 1e-9)
        self.start = inside - np.where(self.upper > 0, inside.sum(axis=0), 0.0)

    def gradient(self, a):
        return a @ self.K + self.linear

    def objective(self, a):
        return float(np.vdot(a, 0.5 * a @ self.K + self.linear))

    def violations(self, a):
        g = self.gradient(a)
        rising = np.where(a < self.upper, g, np.inf)
        return np.maximum(0.0, g.max(axis=0) - rising.min(axis=0))

    def solve(self, a, tolerance, limit=10**6):
        return _core.solve_joint_block(
            self.kernel,
            np.diagonal(self.K).copy(),
            self.gradient(a),
            a,
            self.labels,
            self.costs,
            tolerance,
            limit,
        )


def assert_feasible(block, a):
    assert (a <= block.upper).all()
    assert (abs(a.sum(axis=0)) <= 1e-14 * block.costs).all()


# --- one block -----------------------------------------------------------------------------------


@each_type
@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (1, 5), (7, 2), (64, 3), (65, 4), (130, 17)])
@pytest.mark.usefixtures("instruction_set")
def test_block_is_solved(rows, classes, dtype):
    block = Block(rows, classes, dtype)
    a, tolerance = block.start.copy(), 1e-4 if dtype is np.float32 else 1e-9
    steps, violation = block.solve(a, tolerance)
    assert violation <= tolerance
    assert block.violations(a).max() <= 3 * tolerance
    assert block.objective(a) <= block.objective(block.start)
    assert steps >= 0
    assert_feasible(block, a)


@each_type
@pytest.mark.usefixtures("instruction_set")
def test_steps_take_the_worst_row_to_its_minimum(dtype):
    block = Block(40, 5, dtype)
    a = block.start.copy()
    for _ in range(20):
        before, worst = a.copy(), int(block.violations(a).argmax())
        assert block.solve(a, 0.0, 1)[0] == 1
        assert np.flatnonzero((a != before).any(axis=0)).tolist() == [worst]
        # The minimum over one row: the point nearest to a - g / K_ii.
        target = before[:, worst] - block.gradient(before)[:, worst] / block.K[worst, worst]
        expected = project(target[:, None], block.upper[:, [worst]])[:, 0]
        np.testing.assert_allclose(
            a[:, worst], expected, atol=1e-6 if dtype is np.float32 else 1e-13
        )


def test_limit_of_steps_is_kept():
    block = Block(40, 5)
    a = block.start.copy()
    steps, violation = block.solve(a, 1e-12, 3)
    assert steps == 3
    assert violation == pytest.approx(block.violations(a).max(), rel=1e-9)


def test_large_costs_lose_no_digits():
    block = Block(50, 4, cost=1e14)
    a = np.zeros((4, 50))
    block.solve(a, 1e-10)
    cheap = Block(50, 4, cost=1e4)
    b = np.zeros((4, 50))
    cheap.solve(b, 1e-10)
    assert abs(b).max() < 1e3  # no bound of the label's coefficient matters
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_row_without_kernel_goes_to_its_bound():
    block = Block(3, 4)
    block.kernel[:] = block.K[:] = 0.0
    a = np.zeros((4, 3))
    block.solve(a, 1e-12)
    assert block.violations(a).max() == 0.0
    np.testing.assert_allclose(a.max(axis=0), block.costs)


# --- all rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "classes"), [(1, 1), (3, 2), (17, 5), (9001, 3)])
@pytest.mark.usefixtures("instruction_set")
def test_measure_is_what_the_formulas_say(rows, classes):
    rng = np.random.default_rng(0)
    labels, costs = rng.integers(0, classes, rows), rng.uniform(0.0, 2.0, rows)
    costs[::4] = 0.0
    upper = upper_bounds(labels, costs, classes)
    a = project(rng.normal(size=(classes, rows)), upper)
    outputs = rng.normal(size=(classes, rows))
    others = labels != np.arange(classes)[:, None]
    g = outputs + others
    violations = np.empty(rows)
    measured = [
        _core.measure_joint(outputs, a, labels, costs, violations, threads) for threads in (1, 2)
    ]
    assert measured[0] == measured[1]
    gap, quadratic, linear, violation = measured[0]
    losses = g.max(axis=0) - g[labels, np.arange(rows)]
    expected = costs @ losses + np.vdot(a, g)
    assert gap == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert quadratic == pytest.approx(np.vdot(a, outputs), rel=1e-10, abs=1e-12)
    assert linear == pytest.approx(a[others].sum(), rel=1e-10, abs=1e-12)
    rising = np.where(a < upper, g, np.inf).min(axis=0)
    np.testing.assert_array_equal(violations, np.maximum(0.0, g.max(axis=0) - rising))
    assert violation == violations.max()


@each_type
@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (5, 0), (300, 9), (1030, 70)])
@pytest.mark.usefixtures("instruction_set")
def test_update_adds_the_moved_rows(columns, rows, dtype):
    rng = np.random.default_rng(0)
    arena = rng.normal(size=(rows + 3, _core.padded(columns))).astype(dtype)
    slots = rng.permutation(rows + 3)[:rows]
    moves = rng.normal(size=(6, rows)) * (rng.random((6, rows)) < 0.4)
    start = rng.normal(size=(6, columns))
    results = []
    for threads in (1, 2):
        outputs = start.copy()
        _core.apply_joint(outputs, arena, slots, moves, threads)
        results.append(outputs)
    np.testing.assert_array_equal(*results)
    expected = start + moves @ np.float64(arena[slots, :columns])
    np.testing.assert_allclose(results[0], expected, atol=1e-12)


# --- exact steps ---------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), classes=st.integers(1, 8), scale=st.floats(1e-3, 1e6))
def test_projection_is_the_nearest_point(seed, classes, scale):
    block = Block(5, classes, cost=scale, seed=seed)
    point = scale * np.random.default_rng(seed).normal(size=(classes, 5))
    nearest = project(point, block.upper)
    assert (nearest <= block.upper).all()
    assert abs(nearest.sum(axis=0)).max() <= 1e-12 * scale
    # Optimality: point - nearest is one value where there is room, and no more than it elsewhere.
    lead = point - nearest
    inside = nearest < block.upper - 1e-9 * scale
    level = np.where(inside, lead, -np.inf).max(axis=0)
    assert (abs(lead - level)[inside] <= 1e-9 * scale).all()
    assert (lead >= level - 1e-9 * scale).all()


CONDITIONS = {
    "well conditioned": {"cost": 2.0},
    "large costs": {"cost": 1e6},
    "low rank": {"cost": 1e3, "rank": 3},
    "low rank, large costs": {"cost": 1e6, "rank": 3},
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_interior_point_finds_the_optimum(name):
    block = Block(90, 4, **CONDITIONS[name])
    a = interior_point(block.K, block.linear, block.upper, lambda: False)
    others = ~(block.upper > 0)
    g = block.gradient(a)
    losses = g.max(axis=0) - np.where(others, -np.inf, g).max(axis=0)
    gap = block.costs @ losses + np.vdot(a, g)
    terms = sum(abs(r) @ abs(block.K) @ abs(r) for r in a)  # which may cancel almost entirely
    rounding = 1e-10 * block.costs.sum() + 1e-14 * terms
    assert 0 <= gap <= 1e-8 * abs(block.objective(a)) + rounding
    assert_feasible(block, a)
    assert (a == block.upper).sum() > 60  # those at a bound are exactly there


def test_interior_point_can_be_stopped():
    block = Block(30, 3)
    asked = iter([False, False, True])
    assert interior_point(block.K, block.linear, block.upper, lambda: next(asked)) is None


@pytest.mark.parametrize("name", CONDITIONS)
def test_exact_steps_finish_a_block(name):
    block = Block(90, 4, **CONDITIONS[name])
    finish = JointFinish(
        block.kernel,
        np.diagonal(block.K).copy(),
        block.gradient(block.start),
        block.start,
        block.labels,
        block.costs,
    )
    before = block.objective(finish.a)
    finish.newton(1e-7)
    between = block.objective(finish.a)
    finish.interior(lambda: False)
    violation = finish.newton(1e-7)
    assert violation <= 1e-7
    assert block.violations(finish.a).max() <= 2e-7
    rounding = 1e-14 * abs(between)
    assert block.objective(finish.a) - rounding <= between <= before
    assert finish.steps > 0
    assert_feasible(block, finish.a)


# --- bad calls -----------------------------------------------------------------------------------

SQUARE = {
    "kernel": np.ones((4, 64)),
    "diagonal": np.ones(4),
    "gradient": np.ones((2, 4)),
    "coefficients": np.zeros((2, 4)),
    "labels": np.zeros(4, dtype=np.int64),
    "costs": np.ones(4),
    "tolerance": 0.1,
    "limit": 1,
}
UPDATE = {
    "outputs": np.zeros((2, 60)),
    "arena": np.ones((3, 64)),
    "slots": np.arange(2),
    "moves": np.ones((2, 2)),
    "threads": 1,
}
MEASURE = {
    "outputs": np.zeros((2, 4)),
    "coefficients": np.zeros((2, 4)),
    "labels": np.zeros(4, dtype=np.int64),
    "costs": np.ones(4),
    "violations": np.ones(4),
    "threads": 1,
}
REFUSED = [
    ("label is out of range", _core.solve_joint_block, SQUARE, {"labels": np.full(4, 2)}),
    ("label is out of range", _core.measure_joint, MEASURE, {"labels": np.full(4, -1)}),
    ("padded", _core.solve_joint_block, SQUARE, {"kernel": np.ones((4, 4))}),
    ("padded", _core.solve_joint_block, SQUARE, {"kernel": np.ones((3, 64))}),
    ("one shape", _core.solve_joint_block, SQUARE, {"coefficients": np.ones((4, 2))}),
    ("one length", _core.solve_joint_block, SQUARE, {"costs": np.ones(3)}),
    ("one shape", _core.measure_joint, MEASURE, {"coefficients": np.ones((2, 3))}),
    ("each row", _core.measure_joint, MEASURE, {"violations": np.ones(3)}),
    ("each class and slot", _core.apply_joint, UPDATE, {"moves": np.ones((2, 3))}),
    ("too short", _core.apply_joint, UPDATE, {"outputs": np.zeros((2, 65))}),
    ("slot is out of range", _core.apply_joint, UPDATE, {"slots": np.array([0, 3])}),
]


@pytest.mark.parametrize(("sentence", "function", "good", "bad"), REFUSED)
def test_what_would_leave_memory_is_refused(sentence, function, good, bad):
    function(**good)
    with pytest.raises(ValueError, match=sentence):
        function(**(good | bad))
