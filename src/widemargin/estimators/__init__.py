"""scikit-learn estimators: translations between its conventions and problems and solutions."""

from .classifiers import SVC, NuSVC

__all__ = ["SVC", "NuSVC"]
