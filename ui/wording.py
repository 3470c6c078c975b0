"""Sentences that turn numbers into what they mean for a person. No streamlit in here."""

from __future__ import annotations

import math
from fractions import Fraction


def epsilon_text(epsilon: float | Fraction | None) -> str:
    """ε as people write it.

    >>> epsilon_text(1.0), epsilon_text(Fraction(1, 10)), epsilon_text(math.inf)
    ('1', '0.1', '∞')
    """
    if epsilon is None or math.isinf(epsilon):
        return "∞"
    return f"{float(epsilon):.4g}"


def sum_text(epsilon: float | Fraction) -> str:
    """A sum of ε with more digits than one ε needs, as nothing of it may get lost.

    >>> sum_text(Fraction("632.6")), sum_text(Fraction(10004, 100))
    ('632.6', '100.04')
    """
    return f"{float(epsilon):.6g}"


def guess_share(epsilon: float) -> float:
    """Most that a 50:50 guess can rise to when the odds rise by e^ε.

    >>> round(guess_share(1.0), 3), guess_share(math.inf)
    (0.731, 1.0)
    """
    return 1 / (1 + math.exp(-epsilon))


def share_text(epsilon: float) -> str:
    """`guess_share`, rounded so that it never says certainty.

    >>> share_text(1.0), share_text(10.0), share_text(20.0)
    ('73 %', '99.995 %', 'over 99.99 %')
    """
    share = 100 * guess_share(epsilon)
    if share > 99.999:
        return "over 99.99 %"
    return f"{share:.{0 if share < 98.5 else 1 if share < 99.95 else 3}f} %"


def odds(epsilon: float) -> str:
    """A 50:50 guess after the release, as odds out of a hundred.

    >>> odds(1.0), odds(0.01), odds(10.0)
    ('73 : 27', '50.2 : 49.8', '99.995 : 0.005')
    """
    share = 100 * guess_share(epsilon)
    digits = 0 if 51 <= share <= 98.5 else 1 if share < 99.5 else 3
    return f"{share:.{digits}f} : {100 - share:.{digits}f}"


def value_epsilon(epsilon: float, neighbours: str) -> float:
    """ε for guessing a value of someone who is known to be in the table: a row exchanged is one removed, one added."""
    return 2 * epsilon if neighbours == "add-remove" else epsilon


def plural(n: int, one: str, many: str = "") -> str:
    """
    >>> plural(1, "row"), plural(30162, "row"), plural(2, "leaf", "leaves")
    ('1 row', '30,162 rows', '2 leaves')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def plain(text: object, most: int = 60) -> str:
    r"""Text from data as streamlit's markdown may show it: every mark that could mean something is made harmless.

    >>> plain("a_b *c* [d](e) :red[f] $x$")
    'a\\_b \\*c\\* \\[d\\](e) \\:red\\[f\\] \\$x\\$'
    """
    value = " ".join(str(text).split())
    value = value if len(value) <= most else value[: most - 1] + "…"
    return "".join("\\" + c if c in "\\`*_{}[]#+!|<>$~:" else c for c in value)
