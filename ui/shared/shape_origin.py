"""Whose numbers the depth and the number of trees are that a forest starts with. No streamlit in here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """Whose number the depth is, in a sentence; and the same for the number of trees."""

    depth: str
    trees: str = ""


_BY_RULE = Origin(
    "The rule was fitted on twelve public tables, some of which come with the app.",
    "The rule knows nothing of your table but its numbers of records, classes and attributes.",
)
_OF_NOCK_AND_HENECKA = Origin(
    "As published: the deepest of the 2, 4 and 6 that Nock and Henecka compare with.",
    "As published: as in Nock and Henecka's experiments.",
)
_PUBLISHED = {
    "majority labels": Origin(
        "As published: as the program behind Fletcher and Islam's tables works it out from the numbers of attributes, "
        "never more than 15; their Theorem 2 mostly says one less where there are numeric ones.",
        "As published: as in Fletcher and Islam's experiments.",
    ),
    "noisy counts": Origin(
        "As published: our choice; Bojarski et al. try 1 to 15 and keep what does best.",
        "As published: our choice; Bojarski et al. try 1 to 21, in one experiment up to 101, and keep what does best.",
    ),
    "boosted": Origin(
        "As published: our choice; Nock and Henecka try 1 to 6.",
        "As published: our choice; Nock and Henecka try 2 to 20.",
    ),
    "multinomial": Origin(
        "",
        "As published: our choice; Bai et al. take 100, which leaves each tree few rows, or little of ε.",
    ),
    "one greedy tree": Origin("As published: as in Fletcher and Islam's comparison."),
    "JPW": Origin(
        "As published: from the numbers of attributes and of rows, as in Fletcher and Islam's comparison.",
        "As published: as in Fletcher and Islam's comparison.",
    ),
    "RF-L": _OF_NOCK_AND_HENECKA,
    "RF-E": _OF_NOCK_AND_HENECKA,
}


def origin(kind: str, mode: str) -> Origin:
    """Where the numbers come from that sliders start with.

    >>> origin("JPW", "as_published").trees
    "As published: as in Fletcher and Islam's comparison."
    """
    return _BY_RULE if mode == "certified" else _PUBLISHED[kind]
