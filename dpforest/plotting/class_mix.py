"""The classes of the records in a node, as a small bar of shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dpforest.plotting.style import QUIET, escape

# Dark and light in turn, so that neighbors in a bar are told apart without color; none that means something else.
_COLORS: Final = ("#1B9E77", "#C6E5F2", "#8A8A00", "#EBD9A0", "#6F4E7C")
_REST: Final = "#B4BAC2"
WIDTH: Final = 44  # pixels
_HEIGHT: Final = 9


def shown_classes(counts: np.ndarray) -> np.ndarray:
    """Indices of the classes that get a separate color: of five or fewer all, of more the most frequent.

    >>> shown_classes(np.array([3, 9])), shown_classes(np.array([1, 5, 2, 9, 4, 8, 3]))
    (array([0, 1]), array([1, 3, 4, 5, 6]))
    """
    most = len(_COLORS)
    if len(counts) <= most:
        return np.arange(len(counts))
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def key_of_classes(classes: Sequence[object], shown: np.ndarray) -> str:
    """Which color is which class, in plotly's markup."""
    named = [f"{_swatch(color)} {escape(classes[i], 24)}" for color, i in zip(_COLORS, shown, strict=False)]
    if len(classes) > len(shown):
        named.append(f"{_swatch(_REST)} other classes")
    return " &nbsp; ".join(named)


def _swatch(color: str) -> str:
    return f'<span style="color:{color};font-size:20px">■</span>'


def mix_bar(counts: np.ndarray, shown: np.ndarray, x: float, y: float, left: int, up: int) -> list[dict[str, Any]]:
    """Rectangles of one bar; none where there are no records.

    Parameters
    ----------
    counts : array of shape (n_classes,)
        Records of each class.
    shown : int array
        Of `shown_classes`.
    x, y : float
        Where the node stands.
    left, up : int
        Pixels from there to the bar's left end and to its middle.
    """
    n = counts.sum()
    if not n:
        return []
    parts = np.append(counts[shown], n - counts[shown].sum()) / n
    ends = np.append(0.0, np.cumsum(parts)) * WIDTH + left
    across = {"type": "rect", "xsizemode": "pixel", "ysizemode": "pixel", "xanchor": x, "yanchor": y}
    across |= {"y0": up - _HEIGHT / 2, "y1": up + _HEIGHT / 2}
    colors = (*_COLORS[: len(shown)], _REST)
    bars = [
        {**across, "x0": start, "x1": end, "fillcolor": color, "line": {"width": 0}}
        for start, end, color in zip(ends, ends[1:], colors, strict=False)
        if end - start > 0.25
    ]
    return [*bars, {**across, "x0": left, "x1": left + WIDTH, "line": {"color": QUIET, "width": 1}}]
