"""Labels of stacked panels, aligned in a time that grows with the number of panels, not with its square."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from matplotlib.axis import Axis

_MEASURE = "_get_tick_boxes_siblings"  # of Axis; for each axis it measures the ticks of all that are aligned with it


@contextmanager
def measured_once() -> Iterator[None]:
    """In the block, Matplotlib measures aligned axes anew only when one of them has moved, or has other limits."""
    measure: Any = getattr(Axis, _MEASURE)
    last: dict[str, tuple[Any, Any]] = {}

    def measured(axis: Any, renderer: Any) -> Any:
        name = axis._get_axis_name()
        group = axis.get_figure(root=False)._align_label_groups.get(name)
        aligned = sorted(group.get_siblings(axis.axes), key=id) if group is not None else []
        if len(aligned) < 2:
            return measure(axis, renderer)
        places = [(axes, axes.get_position().bounds, axes.viewLim.bounds) for axes in aligned]
        present = renderer, axis.get_figure(root=True).dpi, places
        if name not in last or last[name][0] != present:
            last[name] = present, measure(axis, renderer)
        return last[name][1]

    with patch.object(Axis, _MEASURE, measured):
        yield
