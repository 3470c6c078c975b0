"""Settings of all figures: colors, scales, and texts in which markup is escaped."""

from __future__ import annotations

from html import escape as _escape
from unicodedata import category

import numpy as np
import plotly.graph_objects as go

# Okabe and Ito's colors, which color-blind readers can tell apart.
PRIVATE = "#0072B2"  # results with privacy, in all figures
NON_PRIVATE = "#E69F00"  # results without privacy, in all figures
NOT_HELD = "#D55E00"  # only for a claim of privacy that does not hold
NEEDED = "#009E73"  # a value that the user needs
FOLLOWED = "#CC79A7"  # path of the selected record, selected tree, and attacks
QUIET = "#8A929C"  # readable on a light and on a dark page
# Figures for papers leave out annotations and shapes with this name, and traces with this `meta`.
ON_PAGE_ONLY = "on the page only"
EMPTY = "#FFFFFF"  # leaves without data, with an outline in QUIET
FLIP_SCALE = "Viridis"

CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False}


def visible(text: str) -> str:
    r"""Return a text from data, with escapes in place of invisible characters.

    The function escapes control characters except tabs and line ends, format characters (Unicode's category Cf, such as
    marks of text direction), and lone surrogates. It keeps joiners, which Persian words and composed emoji need.
    Escapes have the same form as in certificates.

    >>> visible("a\u202eb\x00\u200f")
    'a\\u202eb\\u0000\\u200f'
    """
    return "".join(f"\\u{ord(c):04x}" if category(c) in _UNSEEN and c not in _KEPT else c for c in text)


_UNSEEN = {"Cc", "Cf", "Cs"}  # categories of control characters, format characters and surrogates
_KEPT = "\t\n\r\u200c\u200d"  # the last two are the non-joiner and the joiner


def escape(value: object, most: int = 0) -> str:
    """Return a text from data, cut to `most` characters (0 for no limit), with its markup escaped for plotly.

    >>> escape("<b>a</b>"), escape("a long name", 6)
    ('&lt;b&gt;a&lt;/b&gt;', 'a lon…')
    """
    text = str(value)
    if most and len(text) > most:
        text = text[: most - 1] + "…"
    return _escape(visible(text), quote=False)


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage, or a dash if it is not finite.

    >>> percent(0.8236), percent(float("nan"))
    ('82.4 %', '–')
    """
    return "–" if not np.isfinite(share) else f"{100 * share:.{digits}f} %"


def flip_percent(share: float) -> str:
    """Return a flip rate as a percentage, or "under 0.1 %" for a smaller rate above 0, or a dash for NaN.

    >>> flip_percent(0.031), flip_percent(0.00004), flip_percent(0.0)
    ('3.1 %', 'under 0.1 %', '0 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    return "0 %" if share == 0 else percent(share)


def number(value: float) -> str:
    """Return a number as text: a whole number with commas, any other number with up to four significant digits.

    Numbers that round to 10,000 or more are rounded to whole numbers.

    >>> number(1234567), number(0.00012345), number(12.5), number(9999.6)
    ('1,234,567', '0.0001234', '12.5', '10,000')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 9_999.5 else f"{value:.4g}"


def highest_flip(n_classes: int) -> float:
    """Return the upper end of the color scale of flip rates: 1 - 1/K, the flip rate of pure noise among K classes.

    The flip rate of a leaf is the probability that noise gives it another label than its most frequent class.
    """
    return 1 - 1 / n_classes


def figure(height: int, **layout) -> go.Figure:
    """Return an empty figure with the layout that all figures share.

    Only figures of the lesson set a text size. For other figures, the page or the module `paper` sets the size.
    """
    settings = {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 12, "b": 8},
        "minreducedheight": 16,  # without it, the axis of a chart of one bar is too small for its text
        "dragmode": False,
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"align": "left", "namelength": -1},
    }
    return go.Figure(layout={**settings, **layout})


def flip_bar(n_classes: int) -> dict:
    """Return plotly's settings of the color bar of flip rates."""
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
