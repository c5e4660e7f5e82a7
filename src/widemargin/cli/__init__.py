"""The command `widemargin`: everything from a data file to an exported model, without Python.

Exit codes: 0 done; 1 an error in data, model or system, told in one sentence; 2 a wrong command
line; 3 a fit stopped by its limits; 4 data that must be repaired; 130 Ctrl-C.
"""

import sys

from .main import app, main

__all__ = ["app", "main", "run"]


def run() -> None:
    """Run the command line of the process and exit with its code."""
    sys.exit(main())
