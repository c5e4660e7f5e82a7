"""The compiled core of widemargin: the loops that touch every number."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

class Rows:
    @property
    def count(self) -> int: ...
    @property
    def features(self) -> int: ...
    @property
    def is_sparse(self) -> bool: ...

@overload
def dense_rows(
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)
    ],
) -> Rows: ...
@overload
def dense_rows(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)
    ],
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...
@overload
def sparse_rows(
    values: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    starts: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    features: int,
) -> Rows: ...

class Panels32:
    def __init__(
        self,
        source: object,
        chosen: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        centre: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        sparse: bool,
        stored: bool,
        threads: int,
    ) -> None: ...
    def rows_into(
        self,
        rows: Rows,
        ids: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        arena: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
        slots: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> None: ...
    def square_into(
        self,
        square: Annotated[
            NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")
        ],
        threads: int,
    ) -> None: ...
    def sums_into(
        self,
        rows: Rows,
        ids: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        group_starts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        result: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
        ],
        threads: int,
    ) -> None: ...
    def update(
        self,
        rows: Rows,
        ids: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        moves: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        outputs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        threads: int,
    ) -> None: ...
    def as_rows(self) -> Rows: ...
    @property
    def columns(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

class Panels64:
    def __init__(
        self,
        source: object,
        chosen: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        kind: int,
        gamma: float,
        coef0: float,
        degree: int,
        centre: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        sparse: bool,
        stored: bool,
        threads: int,
    ) -> None: ...
    def rows_into(
        self,
        rows: Rows,
        ids: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        arena: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        slots: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        threads: int,
    ) -> None: ...
    def square_into(
        self,
        square: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
        ],
        threads: int,
    ) -> None: ...
    def sums_into(
        self,
        rows: Rows,
        ids: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        weights: Annotated[
            NDArray[numpy.float64],
            dict(shape=(None, None), order="C", device="cpu", writable=False),
        ],
        group_starts: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        result: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
        ],
        threads: int,
    ) -> None: ...
    def update(
        self,
        rows: Rows,
        ids: Annotated[
            NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        moves: Annotated[
            NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        outputs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        threads: int,
    ) -> None: ...
    def as_rows(self) -> Rows: ...
    @property
    def columns(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

@overload
def elementary(
    arg0: int,
    arg1: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg2: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    /,
) -> None: ...
@overload
def elementary(
    arg0: int,
    arg1: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    arg2: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    /,
) -> None: ...

row_padding: int = 64

def count_kernel_values(more: int) -> int: ...
def padded(arg: int, /) -> int: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def use_instruction_set(arg: str, /) -> None: ...

class Box:
    def reach(self, threads: int) -> list[tuple[float, float, float, int]]: ...
    def sums(self, multipliers: Sequence[float], threads: int) -> tuple[float, float, float]: ...
    def violators(
        self,
        taken: Annotated[
            NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        want: int,
        threads: int,
    ) -> list[int]: ...

def box(
    output: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    linear: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    lower: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    upper: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    group: Annotated[
        NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    groups: int,
) -> Box: ...
@overload
def apply_rows(
    outputs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    arena: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slots: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    moves: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> None: ...
@overload
def apply_rows(
    outputs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    arena: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slots: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    moves: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> None: ...
@overload
def gather_block(
    arena: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slots: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    targets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    block: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def gather_block(
    arena: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slots: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    columns: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    targets: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    block: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
@overload
def solve_block(
    kernel: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    diagonal: Annotated[
        NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gradient: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    lower: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    upper: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    group: Annotated[
        NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    groups: int,
    tolerance: float,
    limit: int,
) -> tuple[int, float, bool]: ...
@overload
def solve_block(
    kernel: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    diagonal: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    lower: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    upper: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    group: Annotated[
        NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    groups: int,
    tolerance: float,
    limit: int,
) -> tuple[int, float, bool]: ...
def thread_limit() -> int: ...
def certify(
    output: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    linear: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    lower: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    upper: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    x: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    group: Annotated[
        NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    groups: int,
    diagonal: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> tuple[float, float, float, float, list[tuple[float, float, float]]]: ...
def solve_small(
    rows: Rows,
    kind: int,
    gamma: float,
    coef0: float,
    degree: int,
    centre: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    sparse: bool,
    diagonal: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    ids: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    linear: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    lower: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    upper: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    group: Annotated[
        NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    outputs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    shapes: Annotated[
        NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    tolerances: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    limit: int,
    threads: int,
) -> list[
    tuple[
        float,
        float,
        float,
        int,
        bool,
        tuple[float, float, float, float, list[tuple[float, float, float]]],
    ]
]: ...
def measure_joint(
    outputs: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    coefficients: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    labels: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    costs: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    violations: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> tuple[float, float, float, float]: ...
@overload
def apply_joint(
    outputs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    arena: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slots: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    moves: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> None: ...
@overload
def apply_joint(
    outputs: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    arena: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    slots: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    moves: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> None: ...
@overload
def solve_joint_block(
    kernel: Annotated[
        NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    diagonal: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gradient: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    coefficients: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
    ],
    labels: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    costs: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    tolerance: float,
    limit: int,
) -> tuple[int, float]: ...
@overload
def solve_joint_block(
    kernel: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    diagonal: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gradient: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    coefficients: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")
    ],
    labels: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    costs: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    tolerance: float,
    limit: int,
) -> tuple[int, float]: ...

class Text:
    @property
    def totals(self) -> tuple[int, int, int]: ...
    @overload
    def parse(
        self,
        values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        row_ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        slacks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        comments: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        width: int,
        non_finite: bool,
        zero_based: bool,
        shift: int,
        threads: int,
    ) -> tuple[int, int, int, int, int, str, int, bool]: ...
    @overload
    def parse(
        self,
        values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        row_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        slacks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        comments: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        width: int,
        non_finite: bool,
        zero_based: bool,
        shift: int,
        threads: int,
    ) -> tuple[int, int, int, int, int, str, int, bool]: ...
    @overload
    def parse(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        row_ends: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu")],
        labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        slacks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        comments: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        width: int,
        non_finite: bool,
        zero_based: bool,
        shift: int,
        threads: int,
    ) -> tuple[int, int, int, int, int, str, int, bool]: ...
    @overload
    def parse(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        row_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
        labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        slacks: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        comments: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]
        | None,
        width: int,
        non_finite: bool,
        zero_based: bool,
        shift: int,
        threads: int,
    ) -> tuple[int, int, int, int, int, str, int, bool]: ...

def text(
    text: Annotated[
        NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> Text: ...
def write_rows(
    rows: Rows,
    first: int,
    last: int,
    labels: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    whole_labels: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    label_ends: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    width: int,
    queries: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    slacks: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    costs: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    shift: int,
    digits: int,
    zeros: bool,
    threads: int,
) -> bytes: ...

class Samples:
    pass

def samples(
    target: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    cost: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    centre: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
) -> Samples: ...
def respond(
    samples: Samples,
    kind: int,
    epsilon: float,
    width: float,
    output: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    dual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    curvature: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> tuple[float, float, float, float, int]: ...
def along_ray(
    samples: Samples,
    kind: int,
    epsilon: float,
    width: float,
    output: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    move: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    length: float,
    threads: int,
) -> tuple[float, float, float]: ...
def times(
    rows: Rows,
    first: int,
    last: int,
    offset: int,
    step: int,
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bias: float,
    output: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def times_transposed(
    rows: Rows,
    first: int,
    last: int,
    offset: int,
    step: int,
    dual: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> float: ...
def times_curvature(
    rows: Rows,
    first: int,
    last: int,
    offset: int,
    step: int,
    curvature: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    bias: float,
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> float: ...
def gram(
    rows: Rows,
    first: int,
    last: int,
    offset: int,
    step: int,
    curvature: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    gram: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
def weighted_squares(
    rows: Rows,
    first: int,
    last: int,
    offset: int,
    step: int,
    factors: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def row_norms(
    rows: Rows,
    first: int,
    last: int,
    offset: int,
    step: int,
    norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...

class Conjugate:
    pass

def conjugate(
    l2: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    inverse: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    move: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    residual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    along: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    bent: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
) -> Conjugate: ...
def bend_along(state: Conjugate, threads: int) -> float: ...
def advance(state: Conjugate, length: float, threads: int) -> float: ...
def turn(state: Conjugate, share: float, threads: int) -> None: ...
def solve_positive(
    matrix: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    right: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> float: ...
def times_of(
    rows: Rows,
    ids: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    weights: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    output: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def transposed_of(
    rows: Rows,
    ids: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    factor: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    threads: int,
) -> None: ...
def row_products(
    rows: Rows,
    ids: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    scale: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
def descend_quadratic(
    hessian: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    gradient: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    x: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    l1: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    move: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    product: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    share: float,
    sweeps: int,
) -> int: ...
def descend(
    rows: Rows,
    samples: Samples,
    kind: int,
    epsilon: float,
    l2: float,
    bias_reach: float,
    safety: float,
    norms: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    dual: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    at: int,
    active: int,
    entries: int,
    seed: int,
) -> tuple[int, int, float, float]: ...
def judge(
    samples: Samples,
    kind: int,
    epsilon: float,
    output: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    share: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    threads: int,
) -> tuple[float, float, float]: ...

class Learner:
    pass

def learner(
    rule: int,
    rate: float,
    outputs: int,
    offset: float,
    constant: float,
    batch: int,
    project: bool,
    labels: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    importance: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ]
    | None,
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    row: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    rival: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
    amount: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    time: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> Learner: ...
def sweep(
    rows: Rows,
    learner: Learner,
    order: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    seen: float,
) -> tuple[int, int]: ...
def sweep_block(
    learner: Learner,
    base: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    gram: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    seen: float,
) -> tuple[int, int]: ...
def vote(
    kernel: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)
    ],
    column: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    winner: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    loser: Annotated[
        NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    amount: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    survival: Annotated[
        NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)
    ],
    outputs: int,
    votes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    threads: int,
) -> None: ...
