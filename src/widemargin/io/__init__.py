"""Files: data in text form, and models in our own and other formats."""

from .svmlight import iter_svmlight, load_svmlight

__all__ = ["iter_svmlight", "load_svmlight"]
