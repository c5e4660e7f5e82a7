"""Pictures of machines and of how they were found; matplotlib is imported when one is drawn."""

from .fit_report import Duel, closest_duels, fit_report
from .model_picture import model_picture
from .search_map import search_map

__all__ = ["Duel", "closest_duels", "fit_report", "model_picture", "search_map"]
