"""From records of runs to comparisons, and from comparisons to tables."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .agreement import excess, faults, unsolved
from .certificate import Quality
from .quiet import QUIET
from .rivals import OURS, RIVALS, Settings

MEASURES = ("fit", "predict")
ACCURACY_AGREES = 0.005


@dataclass(frozen=True)
class Entry:
    """The best run of one library on one set.

    Attributes
    ----------
    seconds : dict
        Least time of each measure; a time limit where it struck.
    at_limit : tuple of str
        Measures whose time is only a lower bound.
    record : dict
        The run with the least time of fitting.
    errors : tuple of str
        What went wrong in other runs.
    discarded : tuple of str
        Why another storage was given up.
    """

    seconds: dict[str, float]
    at_limit: tuple[str, ...]
    record: dict[str, Any]
    errors: tuple[str, ...] = ()
    discarded: tuple[str, ...] = ()

    @property
    def quality(self) -> Quality | None:
        values = self.record.get("quality")
        return Quality(**{k: values[k] for k in values if k != "gap"}) if values else None


@dataclass(frozen=True)
class Comparison:
    """All libraries on one set with one number of threads.

    Attributes
    ----------
    entries : dict
        The best run of each library.
    faults : dict
        Why a rival's times must not be compared with ours; then nobody is called the fastest.
    failures : dict
        Why a rival has no time at all: it did not solve the task.
    notes : dict
        What else to know about a library.
    """

    set: str
    threads: int
    entries: dict[str, Entry]
    faults: dict[str, list[str]]
    failures: dict[str, list[str]]
    notes: dict[str, list[str]]

    def ratio(self, rival: str, measure: str) -> float | None:
        """Return how many times faster than the rival we are, None if that means nothing."""
        ours, theirs = self.entries[OURS], self.entries.get(rival)
        bad = self.faults.keys() | self.failures.keys()
        if theirs is None or {OURS, rival} & bad or measure in ours.at_limit:
            return None
        if measure not in ours.seconds or measure not in theirs.seconds:
            return None
        return theirs.seconds[measure] / ours.seconds[measure]

    def fastest_ratio(self, measure: str) -> float | None:
        """Return the ratio to the fastest rival; None too if a rival disagrees."""
        ratios = [self.ratio(rival, measure) for rival in self.entries if rival != OURS]
        if self.faults or not any(ratios):
            return None
        return min(ratio for ratio in ratios if ratio is not None)


def comparisons(records: Sequence[dict[str, Any]]) -> list[Comparison]:
    """Group records by set and threads and look for disagreement."""
    result = []
    for name in unique(record["set"] for record in records):
        of_set = [record for record in records if record["set"] == name]
        for threads in unique(r["threads"] for r in of_set if r["rival"] == OURS):
            entries = {}
            for rival in unique(record["rival"] for record in of_set):
                wanted = threads if RIVALS[rival].parallel else 1
                runs = [r for r in of_set if (r["rival"], r["threads"]) == (rival, wanted)]
                if entry := best(runs):
                    entries[rival] = entry
            result.append(Comparison(name, threads, entries, *judged(entries)))
    return result


def unique(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def best(runs: Sequence[dict[str, Any]]) -> Entry | None:
    """Reduce the repeats of a library to its best times."""
    if not runs:
        return None
    errors = tuple(unique(run["error"] for run in runs if "error" in run))
    discarded = tuple(unique(run["discarded"] for run in runs if "discarded" in run))
    runs = [run for run in runs if "discarded" not in run]
    seconds, at_limit = {}, []
    for measure in MEASURES:
        times = [run[f"{measure}_seconds"] for run in runs if f"{measure}_seconds" in run]
        struck = [run["limit"] for run in runs if run["limit"] and f"{measure}_seconds" not in run]
        if times:
            seconds[measure] = min(times)
        elif struck:
            seconds[measure] = float(max(struck))
            at_limit.append(measure)
    record = min(runs, key=lambda run: run.get("fit_seconds", math.inf))
    return Entry(seconds, tuple(at_limit), record, errors, discarded)


def judged(entries: dict[str, Entry]) -> tuple[dict[str, list[str]], ...]:
    """Return faults, failures and notes of each rival."""
    found: dict[str, list[str]] = {}
    failures: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {
        rival: list(entry.discarded) for rival, entry in entries.items() if entry.discarded
    }
    ours = entries[OURS]
    for rival, entry in entries.items():
        if entry.errors:
            found[rival] = [f"a run ended with: {error}" for error in entry.errors]
        if rival == OURS or rival in found:
            continue
        if entry.quality is None or ours.quality is None:
            sentence = "not finished, so the ratio is a lower bound without a check"
            notes.setdefault(rival, []).append(sentence)
            continue
        tol = Settings.tol
        if reason := unsolved(entry.quality, tol):
            failures[rival] = [reason]
            continue
        wrong = faults(ours.quality, entry.quality, tol)
        accuracies = [e.record.get("accuracy") for e in (ours, entry)]
        if None not in accuracies and abs(accuracies[0] - accuracies[1]) > ACCURACY_AGREES:
            wrong.append(f"test accuracies are {accuracies[0]:.4f} and {accuracies[1]:.4f}")
        if wrong:
            found[rival] = wrong
        if note := excess(entry.quality, tol):
            notes.setdefault(rival, []).append(note)
    return found, failures, notes


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


# --- text ----------------------------------------------------------------------------------------


def line(record: dict[str, Any]) -> str:
    """Tell of one run as soon as it is over."""
    head = f"{record['set']:12} {record['rival']:11} {record['threads']} threads  "
    if "error" in record:
        return head + record["error"]
    if "fit_seconds" not in record:
        return head + f"stopped at {record['limit']} s"
    text = head + f"fit {record['fit_seconds']:8.3f} s"
    if "predict_seconds" in record:
        text += f"  predict {record['predict_seconds']:8.4f} s"
    if "quality" in record:
        text += f"  gap {record['quality']['gap']:.1e}"
    return text + ("" if record["busy_cores"] <= QUIET else f"  ({record['busy_cores']:.1f} busy)")


def markdown(result: dict[str, Any], items: Sequence[Comparison]) -> str:
    """Return the report of a comparison."""
    versions = {
        r["rival"]: f"{r['rival']} {r['version']}" for r in result["records"] if "version" in r
    }
    busy = sum(record["busy_cores"] > QUIET for record in result["records"])
    head = [
        "# Comparison",
        "",
        f"Made by `{result['command']}` on {result['date']}; {result['machine']}.",
        ", ".join(versions.values()) + ".",
        f"{busy} of {len(result['records'])} runs began while other work kept the machine busy.",
        "Seconds are the least of the repeats; in brackets how many times longer than ours.",
    ]
    parts = ["\n".join(head)]
    for measure, title in zip(MEASURES, ("Training", "Prediction of the test part"), strict=True):
        for threads in unique(item.threads for item in items):
            chosen = [
                item
                for item in items
                if item.threads == threads and measure in item.entries[OURS].seconds
            ]
            if chosen:
                noun = "thread" if threads == 1 else "threads"
                parts.append(f"## {title}, {threads} {noun}\n\n{time_table(chosen, measure)}")
    parts.append("## How good the fits are\n\n" + quality_table(items))
    parts.append("## Disagreement and notes\n\n" + remarks(items))
    return "\n\n".join(parts) + "\n"


def time_table(items: Sequence[Comparison], measure: str) -> str:
    rivals = [r for r in RIVALS if r != OURS and any(r in item.entries for item in items)]
    rows = [["set", OURS, *rivals, "fastest rival"]]
    for item in items:
        row = [item.set, seconds_text(item.entries[OURS], measure)]
        for rival in rivals:
            entry, ratio = item.entries.get(rival), item.ratio(rival, measure)
            text = "" if entry is None else seconds_text(entry, measure)
            if entry is not None and measure in entry.seconds:
                more = "> " if measure in entry.at_limit else ""
                why = "not solved" if rival in item.failures else "no agreement"
                text += f" ({more}{ratio:.2f})" if ratio else f" ({why})"
            row.append(text)
        fastest = item.fastest_ratio(measure)
        rows.append([*row, f"{fastest:.2f}" if fastest else ""])
    ratios = [r for item in items if (r := item.fastest_ratio(measure))]
    if ratios:
        rows.append(["geometric mean", *[""] * (1 + len(rivals)), f"{geometric_mean(ratios):.2f}"])
    return table(rows)


def seconds_text(entry: Entry, measure: str) -> str:
    if measure not in entry.seconds:
        return ""
    seconds = entry.seconds[measure]
    return f"> {seconds:.0f}" if measure in entry.at_limit else f"{seconds:.3g}"


def quality_table(items: Sequence[Comparison]) -> str:
    rows = [
        ["set", "threads", "library", "storage", "dual objective", "relative gap", "violation",
         "support vectors", "test accuracy", "peak MB"]
    ]  # fmt: skip
    for item in items:
        for rival, entry in item.entries.items():
            record, quality = entry.record, entry.quality
            if quality is None:
                continue
            accuracy = f"{record['accuracy']:.4f}" if "accuracy" in record else ""
            rows.append(
                [item.set, str(item.threads), rival, record["form"], f"{quality.dual:.8g}",
                 f"{quality.gap:.1e}", f"{quality.violation:.1e}", str(record["support"]),
                 accuracy, str(record["peak_mb"] or "")]
            )  # fmt: skip
    return table(rows)


def remarks(items: Sequence[Comparison]) -> str:
    lines = []
    for item in items:
        kinds = {
            "**disagreement**": item.faults,
            "**not solved**": item.failures,
            "note": item.notes,
        }
        for kind, found in kinds.items():
            for rival, sentences in found.items():
                where = f"{item.set}, {item.threads} threads, {rival}"
                lines += [f"- {kind}: {where}: {sentence}" for sentence in sentences]
    return "\n".join(lines) if lines else "None."


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns; the first row is its head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
