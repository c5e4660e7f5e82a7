"""Files: data in text form, and models in our own and other formats."""

from .models import load, save
from .svmlight import iter_svmlight, load_svmlight
from .svmlight_writer import dump_svmlight
from .tables import load_table

__all__ = ["dump_svmlight", "iter_svmlight", "load", "load_svmlight", "load_table", "save"]
