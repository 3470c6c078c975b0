"""Words for each bundled table: who its rows are about, and what a forest predicts. No Streamlit here."""

from __future__ import annotations

from typing import Final, NamedTuple

from dpforest.tables.features import plural
from ui.shared.tables import Table, bundled
from ui.shared.wording import plain


class Story(NamedTuple):
    """Singular and plural of what a row is about, and the question that a forest learns to answer."""

    one: str
    many: str
    question: str


_STORIES: Final = {
    "adult": Story("person", "people", "Who earns more than 50,000 dollars a year?"),
    "breast_wisconsin": Story("patient", "patients", "Is a lump benign (2) or malignant (4)?"),
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
    "wdbc": Story("patient", "patients", "Is a tumour malignant (M) or benign (B)?"),
    "yeast": Story("protein", "proteins", "Where in the cell is it?"),
    "zoo": Story("animal", "animals", "What kind of animal is it?"),
}


def story(table: Table) -> Story:
    """Return the story of a bundled table with its default label, else one that names rows and the label column."""
    if not table.uploaded and table.key in _STORIES and table.label == bundled(table.key).label:
        return _STORIES[table.key]
    attributes = plural(len(table.domain.features), "attribute")
    return Story("row", "rows", f"{attributes} · predicts {plain(table.label, 30)}")
