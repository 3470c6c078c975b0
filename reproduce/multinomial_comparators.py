"""Multinomial random forest, table 1: the forests without privacy that the paper compares with its forest.

Five rows of the printed table are complete. Each other row lacks one of the last three columns, and the paper does not
show which column is missing. So this module uses only the first three columns of these rows. Two rows cannot be run:
Ads is missing here, and Connect-4 has two classes here instead of the paper's three. As in the paper, there are ten
repetitions of ten shuffled folds without stratification; large tables have two repetitions. Forests have 100 trees, and
at least k = 5 rows in a leaf. `reproduce.comparators` has the forests, and docs/PAPERS.md lists what the paper leaves
open about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from dpforest import MultinomialForestClassifier
from reproduce.cells import Cell
from reproduce.comparators import COMPARATORS
from reproduce.multinomial import RULE, SETTINGS, THEIR_FITS
from reproduce.protocol import NOT_COMPARABLE, Record, accuracies, at_hand, compared, load

ITEM: Final = "table 1, all six forests without privacy"
METHODS: Final = ("Denil14", "BRF", "CompRF-C", "MRF", "CompRF-I", "Breiman")
# Printed figures, in the order of METHODS. Rows with three figures are incomplete in the paper.
PUBLISHED: Final[dict[str, tuple[str, tuple[float, ...]]]] = {
    "zoo": ("Zoo", (80.00, 85.00, 87.69)),
    "hayes_roth": ("Hayes", (50.93, 45.35, 45.82)),
    "echocardiogram": ("Echo", (78.46, 88.46, 89.63)),
    "hepatitis": ("Hepatitis", (62.17, 63.46, 62.50, 64.32, 58.33, 64.05)),
    "wdbc": ("Wdbc", (92.86, 95.36, 92.39, 95.78, 94.26, 96.01)),
    "transfusion": ("Transfusion", (72.97, 77.70, 76.53)),
    "vehicle": ("Vehicle", (68.81, 71.67, 59.68)),
    "mammographic_mass": ("Mammo", (79.17, 81.25, 76.57)),
    "messidor": ("Messidor", (65.65, 65.21, 65.62)),
    "website_phishing": ("Website", (85.29, 85.58, 85.98)),
    "banknote": ("Banknote", (98.29, 98.32, 99.36)),
    "cmc": ("Cmc", (53.60, 54.63, 53.93)),
    "yeast": ("Yeast", (58.80, 58.38, 14.15, 61.03, 10.66, 61.71)),
    "car": ("Car", (88.02, 93.43, 79.07)),
    "image_segmentation": ("Image", (95.45, 96.06, 93.99, 97.47, 96.16, 97.71)),
    "chess_kr_vs_kp": ("Chess", (61.32, 97.12, 94.77)),
    "wilt": ("Wilt", (97.16, 97.25, 97.23, 98.56, 98.27, 98.10)),
    "wine_white": ("Wine-Quality", (57.31, 56.68, 53.22)),
    "phishing_websites": ("Phishing", (94.35, 94.47, 95.44)),
    "nursery": ("Nursery", (93.42, 93.52, 91.01)),
}
FOLDS, REPETITIONS, FEW = 10, 10, 2
LARGE: Final = 2_500  # tables with more rows get few repetitions
# A printed accuracy must be wrong if it is more than this many points below the share of the most frequent class.
FAR_BELOW: Final = 5.0
_FLOOR: Final = "the printed figure is far below the accuracy of always predicting the most frequent class"
_WHY: Final = {
    "Denil14": "not explained; the paper prints neither λ nor how many points are preselected (docs/PAPERS.md)",
    "BRF": "not explained",
    "CompRF-C": "not explained; the paper does not say how rows are compared, nor which are pivots",
    "MRF": "not explained",
    "CompRF-I": "not explained; the paper does not say how rows are compared",
    "Breiman": "not explained; the paper does not say which rows count toward the least size of a leaf",
}
_OTHER_COLUMNS: Final = {
    "hayes_roth": "the paper counts five attributes, so its table seems to have one more than ours: an identifier",
    "echocardiogram": "the paper does not say which columns it reads; ours predict whether the patient is still alive",
}


def table(name: str, folder: Path | None) -> Any:
    """Return a table as the paper seems to use it."""
    data = load(name, folder)
    return still_alive(data) if name == "echocardiogram" else data


def still_alive(data: Any, label: str = "still-alive") -> SimpleNamespace:
    """Return the table Echo with the label "still-alive", which 131 of its 132 rows have.

    The catalog of the table names another label, which is known for only 74 rows.
    """
    kept = data.X[data.X[label].notna()].reset_index(drop=True)
    features = tuple(feature for feature in data.domain.features if feature.name != label)
    domain = replace(data.domain, features=features, classes=("0", "1"), label=label)
    return SimpleNamespace(domain=domain, X=kept.drop(columns=label), y=kept[label])


def forest(method: str, domain: Any, seed: int) -> Any:
    """Return one of METHODS, with the paper's settings."""
    if method == "MRF":
        return MultinomialForestClassifier(
            epsilon=None, mode="as_published", stopping=RULE, domain=domain, structure_seed=seed, **SETTINGS
        )
    return COMPARATORS[method](domain, seed=seed)


def cells(*, quick: bool = False, folder: Path | None = None) -> Iterator[Cell]:
    """Yield a cell for each printed figure whose column is known."""
    for name, (title, row) in list(PUBLISHED.items())[: 1 if quick else None]:
        if not at_hand(name, folder):
            yield Cell(title, None)
            continue
        for method, printed in list(zip(METHODS, row, strict=False))[: 2 if quick else None]:
            yield Cell(f"{title}, {method}", partial(_measured, name, method, printed, quick, folder))


def _measured(name: str, method: str, printed: float, quick: bool, folder: Path | None) -> list[Record]:
    data = table(name, folder)
    most_frequent = 100 * float(data.y.value_counts(normalize=True).max())
    repetitions = 1 if quick else FEW if len(data.y) > LARGE else REPETITIONS
    ours = accuracies(partial(forest, method, data.domain), data, repetitions, FOLDS, stratified=False)
    why = _OTHER_COLUMNS.get(name, _WHY[method])
    setting = f"{PUBLISHED[name][0]}, {method}"
    record = compared("Bai et al. 2020", ITEM, setting, printed, ours, None, why, n_theirs=THEIR_FITS, group=method)
    if printed < most_frequent - FAR_BELOW:
        record = replace(record, verdict=NOT_COMPARABLE, reason=_FLOOR)
    return [record]
