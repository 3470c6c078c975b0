"""Words for each bundled table: the people or things in its rows, and what a forest predicts.

This module does not use Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from dpforest.simulation.views import ForestView
from dpforest.tables.features import plural
from ui.shared.tables import Table, bundled
from ui.shared.wording import plain


class Story(NamedTuple):
    """Words for one row and for several rows (such as "mushroom"), and the question that a forest learns to answer.

    `classes` maps each class whose code is unclear to a word from the table's documentation.
    """

    one: str
    many: str
    question: str
    classes: Mapping[str, str] = MappingProxyType({})


_STORIES: Final = {
    "adult": Story("person", "people", "Who earns more than 50,000 dollars a year?"),
    "breast_wisconsin": Story("sample", "samples", "Is a lump benign or malignant?", {"2": "benign", "4": "malignant"}),
    "car": Story(
        "car",
        "cars",
        "How acceptable is it to buyers?",
        {"unacc": "unacceptable", "acc": "acceptable", "good": "good", "vgood": "very good"},
    ),
    "chess_kr_vs_kp": Story(
        "position", "positions", "Can White win?", {"won": "White can win", "nowin": "White cannot win"}
    ),
    "cmc": Story(
        "woman",
        "women",
        "Which contraception do she and her husband use?",
        {"1": "none", "2": "long-term", "3": "short-term"},
    ),
    "congressional_voting": Story("member of Congress", "members of Congress", "Which party, going by sixteen votes?"),
    "hepatitis": Story("patient", "patients", "Who survives hepatitis?", {"DIE": "dies", "LIVE": "lives"}),
    "image_segmentation": Story("patch", "patches", "What does a patch of a photograph show?"),
    "ionosphere": Story(
        "radar return", "radar returns", "Does it show structure in the ionosphere?", {"g": "structure", "b": "none"}
    ),
    "magic": Story("shower", "showers", "Was it a gamma ray or background?", {"g": "gamma ray", "h": "background"}),
    "mushroom": Story("mushroom", "mushrooms", "Is it edible or poisonous?", {"e": "edible", "p": "poisonous"}),
    "nursery": Story(
        "application",
        "applications",
        "How strongly is a child recommended to a nursery school?",
        {
            "not_recom": "not recommended",
            "recommend": "recommended",
            "very_recom": "very recommended",
            "priority": "priority",
            "spec_prior": "special priority",
        },
    ),
    "pendigits": Story("digit", "digits", "Which digit was written?"),
    "sonar": Story("echo", "echoes", "Is it a rock or a mine?", {"R": "rock", "M": "mine"}),
    "vehicle": Story("silhouette", "silhouettes", "Which vehicle is it?"),
    "wdbc": Story("patient", "patients", "Is a tumor malignant or benign?", {"M": "malignant", "B": "benign"}),
    "yeast": Story("protein", "proteins", "Where in the cell is it?"),
    "zoo": Story(
        "animal",
        "animals",
        "What kind of animal is it?",
        {
            "1": "mammal",
            "2": "bird",
            "3": "reptile",
            "4": "fish",
            "5": "amphibian",
            "6": "insect",
            "7": "other invertebrate",
        },
    ),
}


def story(table: Table) -> Story:
    """Return the story of a bundled table with its default label.

    Any other table or label gets a general story: "row" and "rows" (or "person" and "persons"), the number of
    attributes, and the label column.
    """
    if not table.uploaded and table.key in _STORIES and table.label == bundled(table.key).label:
        return _STORIES[table.key]
    attributes = plural(len(table.domain.features), "attribute")
    one, many = ("row", "rows") if table.domain.unit is None else ("person", "persons")
    return Story(one, many, f"{attributes} · predicts {plain(table.label, 30)}")


def class_words(table: Table) -> list[str]:
    """Return a word for each class of the domain: the word of the story, or else the class as text."""
    words = story(table).classes
    return [words.get(str(label), str(label)) for label in table.domain.classes]


def with_class_words(view: ForestView, table: Table) -> ForestView:
    """Return a view of a forest of this table, with a word for each class."""
    return _renamed(view, tuple(class_words(table))) if story(table).classes else view


@lru_cache(maxsize=4)  # few entries, because each view holds large arrays
def _renamed(view: ForestView, classes: tuple[str, ...]) -> ForestView:
    return replace(view, domain=replace(view.domain, classes=classes))
