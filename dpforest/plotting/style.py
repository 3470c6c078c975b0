"""What all figures share: colors, fixed scales, safe texts."""

from __future__ import annotations

import re
from html import escape as _escape

import numpy as np
import plotly.graph_objects as go

# Okabe and Ito's colors, which color-blind readers can tell apart. Two of them carry meaning throughout.
PRIVATE = "#0072B2"
NON_PRIVATE = "#E69F00"
NOT_HELD = "#D55E00"  # only for a claim of privacy that does not hold
FOLLOWED = "#CC79A7"  # the record that is followed through the trees
QUIET = "#8A929C"  # readable on a light and on a dark page
EMPTY = "#FFFFFF"  # leaves without data, with an outline in QUIET
FLIP_SCALE = "Cividis"

CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False}


def visible(text: str) -> str:
    r"""Text from data with what nobody sees, but what turns or stops the text around it, spelled out.

    That is: marks that turn the direction of what follows, control characters, halves of a pair of characters. They
    are spelled as on a certificate.

    >>> visible("a\u202eb\x00")
    'a\\u202eb\\u0000'
    """
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escape(value: object, most: int = 0) -> str:
    """Text from data as plotly may show it: its markup made harmless, cut to `most` characters.

    >>> escape("<b>a</b>"), escape("a long name", 6)
    ('&lt;b&gt;a&lt;/b&gt;', 'a lon…')
    """
    text = str(value)
    if most and len(text) > most:
        text = text[: most - 1] + "…"
    return _escape(visible(text), quote=False)


def percent(share: float, digits: int = 1) -> str:
    """A share as people read it.

    >>> percent(0.8236), percent(float("nan"))
    ('82.4 %', '–')
    """
    return "–" if not np.isfinite(share) else f"{100 * share:.{digits}f} %"


def flip_percent(share: float) -> str:
    """A flip rate, honest about the very small and silent about no data.

    >>> flip_percent(0.031), flip_percent(0.00004), flip_percent(0.0)
    ('3.1 %', 'under 0.1 %', '0 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    return "0 %" if share == 0 else percent(share)


def number(value: float) -> str:
    """A number with at most four digits that matter and thousands set apart.

    >>> number(1234567), number(0.00012345), number(12.5)
    ('1,234,567', '0.0001234', '12.5')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def highest_flip(n_classes: int) -> float:
    """Upper end of the flip scale, the same at every ε: what pure noise flips, 1 - 1/K."""
    return 1 - 1 / n_classes


def figure(height: int, **layout) -> go.Figure:
    """An empty figure with the margins, hover labels and stillness that all figures share.

    No figure says how large its words are, but for those of the lesson: the page does, and a paper.
    """
    settings = {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 12, "b": 8},
        "minreducedheight": 16,  # or a chart of one bar gives its axis no room, and the words there are cut
        "dragmode": False,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"align": "left", "namelength": -1},
    }
    return go.Figure(layout={**settings, **layout})


def flip_bar(n_classes: int) -> dict:
    """Color bar of the flip rate, beside the figure."""
    top = highest_flip(n_classes)
    ticks = [0, top / 2, top]
    return {
        "tickvals": ticks,
        "ticktext": [percent(t, 0) for t in ticks],
        "thickness": 10,
        "outlinewidth": 0,
        "len": 1.0,
        "xpad": 6,
        "ypad": 2,
    }
