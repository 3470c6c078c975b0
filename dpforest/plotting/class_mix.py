"""Small bar that shows the class shares of the records in a node of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dpforest.plotting.style import QUIET, escape

# Dark and light colors alternate, so that neighboring parts of a bar differ in brightness. No other figure gives a
# meaning to these colors.
_COLORS: Final = ("#1B9E77", "#C6E5F2", "#8A8A00", "#EBD9A0", "#6F4E7C")
_OTHER_COLOR: Final = "#B4BAC2"
WIDTH: Final = 44  # pixels
_HEIGHT: Final = 9


def shown_classes(counts: np.ndarray) -> np.ndarray:
    """Return the indices of the classes with separate colors: the five most frequent ones, or all if there are fewer.

    >>> shown_classes(np.array([3, 9])), shown_classes(np.array([1, 5, 2, 9, 4, 8, 3]))
    (array([0, 1]), array([1, 3, 4, 5, 6]))
    """
    most = len(_COLORS)
    if len(counts) <= most:
        return np.arange(len(counts))
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def key_of_classes(classes: Sequence[object], indices: np.ndarray) -> str:
    """Return a key (legend) of the class colors, in plotly's markup. `indices` is from `shown_classes`."""
    named = [f"{_swatch(color)} {escape(classes[i], 24)}" for color, i in zip(_COLORS, indices, strict=False)]
    if len(classes) > len(indices):
        named.append(f"{_swatch(_OTHER_COLOR)} other classes")
    return " &nbsp; ".join(named)


def _swatch(color: str) -> str:
    return f'<span style="color:{color};font-size:20px">■</span>'


def mix_bar(counts: np.ndarray, indices: np.ndarray, x: float, y: float, left: int, up: int) -> list[dict[str, Any]]:
    """Return the rectangles of one bar; the list is empty if there are no records.

    Parameters
    ----------
    counts : array of shape (n_classes,)
        Number of records of each class.
    indices : int array
        Result of `shown_classes`.
    x, y : float
        Coordinates of the node.
    left, up : int
        Horizontal offset of the bar's left end, and vertical offset of its middle, from the node, in pixels.
    """
    n = counts.sum()
    if not n:
        return []
    shares = np.append(counts[indices], n - counts[indices].sum()) / n
    ends = np.append(0.0, np.cumsum(shares)) * WIDTH + left
    box = {"type": "rect", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": x, "yanchor": y}
    box |= {"y0": up - _HEIGHT / 2, "y1": up + _HEIGHT / 2}
    colors = (*_COLORS[: len(indices)], _OTHER_COLOR)
    bars = [
        {**box, "x0": start, "x1": end, "fillcolor": color, "line": {"width": 0}}
        for start, end, color in zip(ends, ends[1:], colors, strict=False)
        if end - start > 0.25
    ]
    return [*bars, {**box, "x0": left, "x1": left + WIDTH, "line": {"color": QUIET, "width": 1}}]
