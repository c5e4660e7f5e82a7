"""Multi-core LIBLINEAR, whose package has the same name as the ordinary one.

Install it in a folder of its own (``pip install --target FOLDER liblinear-multicore``) and name
the folder in the variable LIBLINEAR_MULTICORE.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .liblinear import Liblinear


class Multicore(Liblinear):
    name = "multicore"
    parallel = True

    @classmethod
    def available(cls) -> bool:
        folder = os.environ.get("LIBLINEAR_MULTICORE", "")
        return bool(folder) and (Path(folder) / "liblinear").is_dir()

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        sys.path.insert(0, os.environ["LIBLINEAR_MULTICORE"])
        return super().prepare(X, y)

    def _threads(self, threads: int) -> str:
        return f" -m {threads}"
