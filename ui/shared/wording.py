"""Functions that write numbers, and text from data, as a page shows them. This module does not use Streamlit."""

from __future__ import annotations

import re
from fractions import Fraction
from unicodedata import bidirectional

from dpforest.plotting.style import visible
from dpforest.privacy.rationals import text_up
from dpforest.risk.rounding import percent_up
from dpforest.risk.success_rate import most_success


def epsilon_text(epsilon: float | Fraction | None) -> str:
    """Return ε as text, rounded up to at most four significant digits.

    >>> epsilon_text(1.0), epsilon_text(Fraction(1, 10)), epsilon_text(0.12341), epsilon_text(float("inf"))
    ('1', '0.1', '0.1235', '∞')
    """
    return text_up(epsilon, 4)


def sum_text(epsilon: float | Fraction) -> str:
    """Return a sum of ε as text, rounded up. It has more digits than a single ε, so that a small term stays visible.

    >>> sum_text(Fraction("632.6")), sum_text(Fraction(10004, 100))
    ('632.6', '100.04')
    """
    return text_up(epsilon)


def share_text(epsilon: float) -> str:
    """Return how sure somebody who was 50 % sure can become if odds change by a factor of at most e^ε.

    The result is a percentage, rounded up.

    >>> share_text(1.0), share_text(10.0), share_text(20.0)
    ('73.2 %', '99.996 %', 'practically 100 %')
    """
    return percent_up(most_success(epsilon))


def of_100(share: float) -> str:
    """Return an upper bound on a share as a number out of 100, rounded up. Only a share of exactly 1 gives 100.

    >>> of_100(0.73106), of_100(0.5), of_100(0.9999999)
    ('73.2', '50', 'practically all')
    """
    text = percent_up(share)
    return "practically all" if text.startswith("practically") else text.removesuffix(" %")


def value_epsilon(epsilon: float, neighbors: str) -> float:
    """Return the ε for guesses about the value of a row.

    It is 2ε under add-remove, because a changed value is one removed row and one added row.
    """
    return 2 * epsilon if neighbors == "add-remove" else epsilon


def unbroken(text: str) -> str:
    """Return text in which a number stays on one line with its percent sign, and δ with its value.

    >>> unbroken("9 % at δ = 0") == "9\\u00a0% at δ\\u00a0=\\u00a00"
    True
    """
    return text.replace(" %", "\u00a0%").replace("δ = ", "δ\u00a0=\u00a0")


def plain(text: object, most: int = 60) -> str:
    r"""Return text from data with escapes, so that Streamlit's markdown shows the text unchanged.

    Streamlit also turns addresses, icons, emojis and arrows in escaped text into links or pictures. A joiner character,
    which has no width, prevents this. Text that runs from right to left is isolated, so that it does not reorder the
    words around it.

    >>> plain("a_b *c* [d](e) :red[f] $x$").replace(_JOINER, "")
    'a\\_b \\*c\\* \\[d\\](e) \\:red\\[f\\] \\$x\\$'
    >>> plain("www.d.org, http://d.org, me@d.org, :material/home:").replace(_JOINER, "|")
    'www|.d.org, http\\:|//d.org, me@|d.org, \\:|material/home\\:'
    >>> plain("1. a"), plain("- a"), plain("1.5 a")
    ('1\\. a', '\\- a', '1.5 a')
    """
    value = " ".join(str(text).split())
    value = visible(value if len(value) <= most else value[: most - 1] + "…")
    value = "".join("\\" + c if c in "\\`*_{}[]#+!|<>$~:&" else c for c in _LATER_MARKS.sub(_JOINER, value))
    value = _LIST.sub(r"\1\\", value)
    return f"\u2068{value}\u2069" if any(bidirectional(c) in ("R", "AL") for c in value) else value


_JOINER = "\u2060"
_LATER_MARKS = re.compile(
    r"(?<=:)(?=[\w+/-])|(?<=@)(?=\w)|(?<=www)(?=\.)|(?<=[-<>~])(?=[-=>](?:\s|$))|(?<=<-)(?=>)", re.IGNORECASE
)
# Matches the start of a list item, or the marks of a horizontal line.
_LIST = re.compile(r"^(\d*)(?=(?:[.)]|(?<!\d)[-=])(?:[\s-]|$))")
