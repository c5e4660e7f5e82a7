"""Files: data in text form, and models in our own and other formats."""

from .c_models import export_c
from .models import load, save
from .onnx_models import export_onnx
from .svmlight import iter_svmlight, load_svmlight
from .svmlight_writer import dump_svmlight
from .tables import load_table

__all__ = [
    "dump_svmlight",
    "export_c",
    "export_onnx",
    "iter_svmlight",
    "load",
    "load_svmlight",
    "load_table",
    "save",
]
