"""Pictures of machines and of how they were found; matplotlib is imported when one is drawn.

The displays follow scikit-learn's: ``from_estimator`` computes what is shown and draws it on ``ax``
or a new figure, the display keeps the numbers, and ``plot`` draws them again.
"""

from .confusion import ConfusionDisplay
from .convergence import ConvergenceDisplay
from .decision_regions import DecisionRegionsDisplay
from .fit_report import Duel, closest_duels, fit_report
from .margins import MarginDisplay
from .mistakes import MistakesDisplay
from .model_picture import model_picture
from .path import PathDisplay
from .search import SearchDisplay

__all__ = [
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "DecisionRegionsDisplay",
    "Duel",
    "MarginDisplay",
    "MistakesDisplay",
    "PathDisplay",
    "SearchDisplay",
    "closest_duels",
    "fit_report",
    "model_picture",
]
