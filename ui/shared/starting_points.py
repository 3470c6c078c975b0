"""Whose numbers the depth and the number of trees are that a forest starts with. No streamlit in here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """Whose number it is, to go on after "We start from 9"; and the same for the number of trees."""

    depth: str
    trees: str = ""


_OF_NOCK_AND_HENECKA = Origin(
    "the deepest of the 2, 4 and 6 that Nock and Henecka compare with", "as in Nock and Henecka's experiments"
)
ORIGINS = {
    "majority labels": Origin(
        "as the program behind Fletcher and Islam's tables works it out from the numbers of attributes, never more "
        "than 15; their Theorem 2 mostly says one less where there are numeric ones",
        "as in Fletcher and Islam's experiments",
    ),
    "noisy counts": Origin(
        "our choice; Bojarski et al. try 1 to 15 and keep what does best",
        "our choice; Bojarski et al. try 1 to 21, in one experiment up to 101, and keep what does best",
    ),
    "boosted": Origin("our choice; Nock and Henecka try 1 to 6", "our choice; Nock and Henecka try 2 to 20"),
    "multinomial": Origin(
        "our choice; Bai et al. set no limit",
        "our choice; Bai et al. take 100, which leaves each tree few rows, or little of ε",
    ),
    "one greedy tree": Origin("as in Fletcher and Islam's comparison"),
    "JPW": Origin(
        "from the numbers of attributes and of rows, as in Fletcher and Islam's comparison",
        "as in Fletcher and Islam's comparison",
    ),
    "RF-L": _OF_NOCK_AND_HENECKA,
    "RF-E": _OF_NOCK_AND_HENECKA,
}


def start(number: int, origin: str) -> str:
    """Where a slider starts, and why there.

    >>> start(11, ORIGINS["JPW"].trees)
    "We start from 11, as in Fletcher and Islam's comparison."
    """
    joined = f", {origin}" if origin.startswith(("as ", "from ", "the ")) else f" ({origin})"
    return f"We start from {number}{joined}."
