"""Estimators as commands make, fit and describe them."""

import sys
import warnings
from typing import Any

import numpy as np
import typer

from ..io.native_models import ESTIMATORS
from ..solution import Status

__all__ = [
    "assignment",
    "certificate_of",
    "certificate_text",
    "fit",
    "make_estimator",
    "number",
    "stopped_early",
]

FACTS = {
    "primal_objective": "primal_objective_",
    "dual_objective": "dual_objective_",
    "relative_gap": "duality_gap_",
    "violation": "kkt_violation_",
    "mistakes": "mistakes_",
    "rows_seen": "t_",
}
DEFAULT_MACHINES = {"classification": "SVC", "regression": "SVR", "detection": "OneClassSVM"}


def number(value: Any) -> Any:
    """Return a text as the number or truth value that it is, if it is one."""
    if not isinstance(value, str):
        return value
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return words[value.lower()]
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def assignment(text: str) -> tuple[str, Any]:
    """Return the name and the value of a text like C=1."""
    name, sign, value = text.partition("=")
    if not sign:
        raise typer.BadParameter(f"--set needs name=value, found {text!r}")
    return name, number(value)


def make_estimator(machine: str, task: str, settings: dict[str, Any]) -> Any:
    """Return the estimator that a user asked for.

    Parameters
    ----------
    machine : str
        Class, or auto.
    task : str
        Which decides if `machine` is auto.
    settings : dict
        Parameters.
    """
    if task not in DEFAULT_MACHINES:
        tasks = ", ".join(DEFAULT_MACHINES)
        raise typer.BadParameter(f"--task must be auto, {tasks}, found {task!r}")
    if machine == "auto":
        machine = DEFAULT_MACHINES[task]
        if "nu" in settings and task != "detection":
            machine = f"Nu{machine}"
    if machine not in ESTIMATORS:
        machines = ", ".join(ESTIMATORS)
        raise typer.BadParameter(f"--machine must be auto or one of {machines}, found {machine!r}")
    kind = ESTIMATORS[machine]
    known = sorted(kind().get_params(deep=False))
    if unknown := sorted(settings.keys() - set(known)):
        raise typer.BadParameter(
            f"{machine} has no parameter {unknown[0]!r}; it has {', '.join(known)}"
        )
    return kind(**settings)


def fit(estimator: Any, table: Any, *, watched: bool = True) -> None:
    """Fit on a table, with a line of progress if somebody watches."""
    shows = "verbose" in estimator.get_params(deep=False)
    if shows:
        estimator.set_params(verbose=watched and sys.stderr.isatty())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* stopped")  # the certificate says it
        warnings.filterwarnings("ignore", category=FutureWarning)
        if table.y is None:
            estimator.fit(table.X)
        else:
            estimator.fit(table.X, table.y)
    if shows:
        estimator.set_params(verbose=False)
    if table.features is not None:
        estimator.feature_names_in_ = np.array(table.features, dtype=object)


def stopped_early(estimator: Any) -> bool:
    """Whether a limit ended a fit before it was done."""
    status = getattr(estimator, "status_", None)
    if status is None or status.converged:
        return False
    if hasattr(estimator, "duality_gap_") or status is Status.TIME_LIMIT:
        return True
    # Learners without an optimum to reach stop by themselves only if they have a tolerance.
    return status is Status.ITERATION_LIMIT and getattr(estimator, "tol", None) is not None


def certificate_of(estimator: Any) -> dict[str, Any]:
    """Return what certifies a fit, as far as the machine has it."""
    facts: dict[str, Any] = {"machine": type(estimator).__name__}
    if hasattr(estimator, "status_"):
        facts["status"] = estimator.status_.name
    for name, attribute in FACTS.items():
        if hasattr(estimator, attribute):
            facts[name] = getattr(estimator, attribute)
    if hasattr(estimator, "history_"):
        facts["seconds"] = max((record.time for record in estimator.history_), default=0.0)
    if hasattr(estimator, "support_"):
        facts["support_vectors"] = int(estimator.support_.size)
    return facts


def certificate_text(estimator: Any) -> str:
    """Return a short certificate for people."""
    facts = certificate_of(estimator)
    status = getattr(estimator, "status_", None)
    lines = [facts["machine"] + (f": {status.value}" if status is not None else "")]
    if "relative_gap" in facts:
        lines.append(
            f"objective between {facts['dual_objective']:.8g} and {facts['primal_objective']:.8g} "
            f"(relative gap {facts['relative_gap']:.2g}), largest violation "
            f"{facts['violation']:.2g}"
        )
    elif "mistakes" in facts:
        lines.append(f"{facts['mistakes']} mistakes on {facts['rows_seen']} rows seen")
    if "support_vectors" in facts:
        lines.append(f"{facts['support_vectors']} support vectors")
    return "\n".join(lines)
