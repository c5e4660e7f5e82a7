"""Each example of the gallery runs, checks its own claims, and draws its picture."""

import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "docs/examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch, capsys):
    monkeypatch.setattr(mpl, "use", lambda *args, **options: None)
    runpy.run_path(str(path), run_name="__main__")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    try:
        assert figures
        for figure in figures:
            figure.canvas.draw()
            panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
            assert all(
                axes.has_data() and (axes.get_xlabel() or axes.get_ylabel()) for axes in panels
            )
    finally:
        plt.close("all")
    assert capsys.readouterr().out


def test_there_is_an_example_for_each_picture():
    assert len(EXAMPLES) >= 10
