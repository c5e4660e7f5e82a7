"""``python -m widemargin`` is the command ``widemargin``."""

from .cli import run

run()
