"""Write docs/TEACHING.md and docs/class/*.md from scripts/sheets/: `.venv/bin/python scripts/class_sheets.py`.

The templates in scripts/sheets/ hold no figures. This script or `scripts/lesson_numbers.py` computes each of them.
"""

import json
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpforest.audit.exact import neighboring_leaves
from dpforest.audit.leaf_attack import first_pair
from dpforest.plotting.style import percent
from dpforest.privacy.laws import log_pmf
from dpforest.privacy.mechanisms import flip_floor, flip_probability
from dpforest.risk import classroom
from dpforest.risk.guarantee import MEMBERSHIP, Guarantee
from dpforest.risk.rounding import percent_up
from dpforest.risk.tradeoff import DistinguishingGame
from ui.forest.forests import EPSILONS
from ui.learn import lesson_facts
from ui.learn.steps import STEPS

HOME = Path(__file__).parents[1]
SHEETS = {
    "teaching.md.j2": HOME / "docs" / "TEACHING.md",
    "handout.md.j2": HOME / "docs" / "class" / "handout.md",
    "exercises.md.j2": HOME / "docs" / "class" / "exercises.md",
    "solutions.md.j2": HOME / "docs" / "class" / "solutions.md",
    "take_home.md.j2": HOME / "docs" / "class" / "take_home.md",
}
Law = Callable[[np.ndarray], np.ndarray]


def lie(counts: list[int], epsilon: float) -> str:
    """Return the probability that permute-and-flip publishes a wrong label of this leaf, as text."""
    return percent(float(flip_probability("permute-and-flip", np.array([counts]), epsilon)[0]), 2)


def sure(epsilon: float, prior: float = 0.5, rows: int = 1) -> str:
    """Return the largest posterior belief that a row is in the table."""
    return percent_up(float(DistinguishingGame(Guarantee(epsilon), MEMBERSHIP, rows).posterior(prior)[1]))


def mean_rebuilt(trees: int, epsilon: float | None = None) -> str:
    """Return how many of thirty students an attacker reconstructs, as the mean over made-up school classes."""
    return f"{classroom.n_right_by_class(trees, epsilon).mean():.1f}"


def limit(epsilon: float) -> str:
    """Return the upper bound on the mean number of students, of thirty, that any attacker reconstructs."""
    return f"{lesson_facts.most_rebuilt(epsilon):.1f}"


def without_small_leaves(trees: int, least: int = 5) -> str:
    """Return how many students are reconstructed if leaves with fewer than `least` students publish no counts.

    All other leaves publish exact counts.
    """
    members = classroom.members(trees)
    large_leaves = members[members.sum(axis=1) >= least]
    right = []
    for seed in range(classroom.CLASSES):
        failed = classroom.secrets(seed)
        counts = np.column_stack([large_leaves @ (1 - failed), large_leaves @ failed]).astype(np.int64)
        right.append(classroom.marks_of(classroom.reconstruct(large_leaves, counts), failed).sum())
    return f"{np.mean(right):.1f}"


def loss(law: Law, most: int = 12) -> float:
    """Return the privacy loss of a rule by which a leaf with two classes publishes an output.

    The loss is the largest log-ratio of the probabilities of an output on two neighboring leaves. It is infinite if an
    output is possible on only one of the two leaves.
    """
    before, after = neighboring_leaves(2, most)
    p, q = law(before), law(after)
    with np.errstate(invalid="ignore"):
        return float(np.where(np.isneginf(p) & np.isneginf(q), 0.0, np.abs(p - q)).max())


def rules() -> dict[str, float]:
    """Return the privacy losses of the eight rules of the third exercise."""

    def mechanism_law(mechanism: str, rate: float = 1.0) -> Law:
        return lambda counts: log_pmf(mechanism, counts, rate)

    def law_with_least_size(least: int) -> Law:
        def law(counts: np.ndarray) -> np.ndarray:
            is_silent = counts.sum(axis=1) < least
            labels = np.where(is_silent[:, None], -np.inf, mechanism_law("permute-and-flip")(counts))
            return np.column_stack([labels, np.where(is_silent, 0.0, -np.inf)])

        return law

    def law_of_two_releases(rate: float) -> Law:
        def law(counts: np.ndarray) -> np.ndarray:
            p = mechanism_law("permute-and-flip", rate)(counts)
            return (p[:, :, None] + p[:, None, :]).reshape(len(p), -1)

        return law

    def majority_law(counts: np.ndarray) -> np.ndarray:
        top = counts == counts.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.log(top / top.sum(axis=1, keepdims=True))

    laws = {
        "A": majority_law,
        "B": law_with_least_size(1),
        "C": law_with_least_size(5),
        "D": law_of_two_releases(1.0),
        "E": law_of_two_releases(0.5),
        "F": mechanism_law("permute-and-flip"),
        "G": mechanism_law("global-01"),
        "H": mechanism_law("smooth-sensitivity"),
    }
    return {letter: loss(law) for letter, law in laws.items()}


def single_row() -> str:
    """Return the smallest ε of the app at which the mechanism of 2017 breaks its promise for a table of one row."""
    broken = (e for e in EPSILONS if first_pair("smooth-sensitivity", e, 2, "add-remove").change.before.sum() <= 1)
    return f"{next(broken):g}"


def values() -> dict[str, Any]:
    """Return all figures that the templates may use, by name."""
    measured = json.loads((HOME / "data" / "lesson.json").read_text(encoding="utf-8"))
    alone = classroom.members(10)
    return {
        "lie": lie,
        "sure": sure,
        "rebuilt": mean_rebuilt,
        "limit": limit,
        "without_small_leaves": without_small_leaves,
        "percent": percent,
        "measured": measured,
        "rules": rules(),
        "steps": STEPS,
        "clock": clock(),
        "minutes": lambda *which: sum(STEPS[number].minutes for number in which),
        "floor_of_two": f"{math.floor(10_000 * float(flip_floor(3, 1.0, 2))) / 100:.2f} %",
        "quarter": f"{math.log(2) / 3:.2f}",  # solves e^(-3ε)/2 = 1/4
        "lead": lambda epsilon: math.ceil(math.log(50) / epsilon),
        "scale": lambda epsilon: f"{float(10 / Fraction(str(epsilon))):.3g}",
        "alone_in_one": int((classroom.members(1).sum(axis=1) == 1).sum()),
        "alone_in_ten": int(alone[alone.sum(axis=1) == 1].any(axis=0).sum()),
        "infinity": math.inf,
        "floor_of_three": percent(float(flip_floor(3, 1.0, 3)), 2),
        "single_row": single_row(),
    }


def clock() -> list[str]:
    """Return for each step of the lesson the minute at which it begins."""
    begins = np.cumsum([0, *(step.minutes for step in STEPS)])
    return [f"0:{minute:02d}" for minute in begins[:-1]]


def sheets() -> dict[Path, str]:
    """Return the text of every file that this script writes, by path."""
    templates = FileSystemLoader(Path(__file__).parent / "sheets")
    environment = Environment(loader=templates, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    texts = values()
    return {path: environment.get_template(name).render(texts) for name, path in SHEETS.items()}


def main() -> None:
    for path, text in sheets().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
