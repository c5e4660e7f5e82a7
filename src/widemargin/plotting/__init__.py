"""Pictures of machines and of how they were found; matplotlib is imported when one is drawn."""

from .fit_report import Duel, closest_duels, fit_report

__all__ = ["Duel", "closest_duels", "fit_report"]
