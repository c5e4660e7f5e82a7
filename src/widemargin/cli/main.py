"""The table of commands, and what happens to errors."""

import functools
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from .. import __version__
from . import (
    doctor,
    inspecting,
    liblinear,
    libsvm,
    predicting,
    scaling,
    svm_scale,
    svmlight,
    training,
    tuning,
)

__all__ = ["app", "main"]

HELP = """Support vector machines, every fit certified by a duality gap.

\b
widemargin doctor data.csv                    what to repair or scale first
widemargin train data.csv --easy -o model     scale, search, train
widemargin evaluate test.csv model --ranges model.range
widemargin plot model -o fit.png
widemargin convert model model.libsvm --format libsvm

Data may be LIBSVM or SVMlight text, CSV, Parquet, Arrow, .npy or .npz; models those of widemargin,
LIBSVM, LIBLINEAR and SVMlight. `widemargin COMMAND --help` shows examples.
"""

app = typer.Typer(
    help=HELP, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)

COMMANDS: dict[str, tuple[Any, str]] = {
    "train": (training.train, training.HELP),
    "predict": (predicting.predict, predicting.PREDICT_HELP),
    "evaluate": (predicting.evaluate, predicting.EVALUATE_HELP),
    "scale": (scaling.scale, scaling.HELP),
    "tune": (tuning.tune, tuning.HELP),
    "inspect": (inspecting.inspect, inspecting.INSPECT_HELP),
    "convert": (inspecting.convert, inspecting.CONVERT_HELP),
    "plot": (inspecting.plot, inspecting.PLOT_HELP),
    "doctor": (doctor.doctor, doctor.HELP),
}
# The programs of others, with their own way to take options.
DROP_INS: dict[str, tuple[Any, str]] = {
    "libsvm-train": (libsvm.train, libsvm.TRAIN_HELP),
    "libsvm-predict": (libsvm.predict, libsvm.PREDICT_HELP),
    "libsvm-scale": (svm_scale.scale, svm_scale.HELP),
    "liblinear-train": (liblinear.train, liblinear.TRAIN_HELP),
    "liblinear-predict": (liblinear.predict, liblinear.PREDICT_HELP),
    "svmlight-learn": (svmlight.learn, svmlight.LEARN_HELP),
    "svmlight-classify": (svmlight.classify, svmlight.CLASSIFY_HELP),
}
AS_THEY_COME = {
    "allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"],
}  # fmt: skip


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that tells an error in one sentence and exits with the right code."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            with warnings.catch_warnings():
                setattr(warnings, "showwarning", _show_warning)  # noqa: B010  has a narrow type
                result = function(*arguments, **options)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            print("widemargin: interrupted", file=sys.stderr)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # whoever reads has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (AttributeError, ImportError, MemoryError, OSError, TypeError, ValueError) as error:
            print(f"widemargin: {_sentence(error)}", file=sys.stderr)
            raise typer.Exit(1) from None

    return run


for name, (function, text) in COMMANDS.items():
    app.command(name, help=text)(guarded(function))
for name, (function, text) in DROP_INS.items():
    app.command(name, help=text, context_settings=AS_THEY_COME)(guarded(function))


def show_version(wanted: bool) -> None:
    """Show the version and end, before a command is asked for."""
    if wanted:
        print(f"widemargin {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take what stands before a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What follows the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    try:
        app(args=arguments, prog_name="widemargin")
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _show_warning(message: Warning | str, *_: Any) -> None:
    print(f"widemargin: warning: {message}", file=sys.stderr)
