"""Aligned labels of panels are where Matplotlib puts them, and it measures each panel once."""

import io

import matplotlib
import pytest
from matplotlib.axis import YAxis
from matplotlib.figure import Figure

from cosched_sim.reports.figures.figure import measured_once


def drawn(panels: int) -> str:
    canvas = Figure(figsize=(4, panels), layout="constrained")
    for number, axes in enumerate(canvas.subplots(panels, 1, sharex=True)):
        axes.plot([0, 1], [0, 10**number])
        axes.set_ylabel("jobs")
    canvas.align_ylabels()
    svg = io.StringIO()
    canvas.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


def test_the_picture_is_the_same(monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "svg.hashsalt", "x")
    with measured_once():
        found = drawn(5)
    assert found == drawn(5)


@pytest.mark.parametrize("panels", [4, 8])
def test_the_work_grows_with_the_panels(monkeypatch, panels):
    measured = []
    measure = YAxis._get_ticklabel_bboxes
    monkeypatch.setattr(YAxis, "_get_ticklabel_bboxes", lambda *of: measured.append(of[0]) or measure(*of))
    with measured_once():
        drawn(panels)
    assert len(measured) <= 20 * panels
