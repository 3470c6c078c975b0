"""Words for each bundled table: the people or things in its rows, and what a forest predicts.

This module does not use Streamlit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from dpforest.simulation.views import ForestView
from dpforest.tables.datasets import readable_names
from dpforest.tables.features import plural
from ui.shared.tables import Table, bundled
from ui.shared.wording import plain


class Story(NamedTuple):
    """Words for one row and for several rows (such as "mushroom"), and the question that a forest learns to answer."""

    one: str
    many: str
    question: str


_STORIES: Final = {
    "adult": Story("person", "people", "Who earns more than 50,000 dollars a year?"),
    "breast_wisconsin": Story("sample", "samples", "Is a lump benign or malignant?"),
    "car": Story("car", "cars", "How acceptable is it to buyers?"),
    "chess_kr_vs_kp": Story("position", "positions", "Can White win?"),
    "cmc": Story("woman", "women", "Which contraception do she and her husband use?"),
    "congressional_voting": Story("member of Congress", "members of Congress", "Which party, going by sixteen votes?"),
    "hepatitis": Story("patient", "patients", "Who survives hepatitis?"),
    "image_segmentation": Story("patch", "patches", "What does a patch of a photograph show?"),
    "ionosphere": Story("radar return", "radar returns", "Does it show structure in the ionosphere?"),
    "magic": Story("shower", "showers", "Was it a gamma ray or background?"),
    "mushroom": Story("mushroom", "mushrooms", "Is it edible or poisonous?"),
    "nursery": Story("application", "applications", "How strongly is a child recommended to a nursery school?"),
    "pendigits": Story("digit", "digits", "Which digit was written?"),
    "sonar": Story("echo", "echoes", "Is it a rock or a mine?"),
    "vehicle": Story("silhouette", "silhouettes", "Which vehicle is it?"),
    "wdbc": Story("patient", "patients", "Is a tumor malignant or benign?"),
    "yeast": Story("protein", "proteins", "Where in the cell is it?"),
    "zoo": Story("animal", "animals", "What kind of animal is it?"),
}


def story(table: Table) -> Story:
    """Return the story of a bundled table with its default label.

    Any other table or label gets a general story: "row" and "rows" (or "person" and "persons"), the number of
    attributes, and the label column.
    """
    if _has_story(table):
        return _STORIES[table.key]
    attributes = plural(len(table.domain.features), "attribute")
    one, many = ("row", "rows") if table.domain.unit is None else ("person", "persons")
    return Story(one, many, f"{attributes} · predicts {plain(table.label, 30)}")


def class_words(table: Table) -> list[str]:
    """Return a word for each class of the domain: the word of a bundled table, or else the class as text."""
    words = readable_names(table.key)[1] if _has_story(table) else {}
    return [words.get(str(label), str(label)) for label in table.domain.classes]


def with_words(view: ForestView, table: Table) -> ForestView:
    """Return a view of a forest of this table, with readable names of columns and classes if the table is bundled."""
    return _renamed(view, table.key, tuple(class_words(table))) if _has_story(table) else view


@lru_cache(maxsize=4)  # few entries, because each view holds large arrays
def _renamed(view: ForestView, key: str, classes: tuple[str, ...]) -> ForestView:
    words = readable_names(key)[0]
    features = tuple(replace(feature, name=words.get(feature.name, feature.name)) for feature in view.domain.features)
    domain = replace(view.domain, features=features, classes=classes)
    return replace(view, domain=domain, added=view.added and replace(view.added, domain=domain))


def _has_story(table: Table) -> bool:
    """Return whether a table is bundled and has its default label."""
    return not table.uploaded and table.key in _STORIES and table.label == bundled(table.key).label
