"""The scene of the attack on the class of thirty: the secrets that are rebuilt after each published tree.

This module does not use Streamlit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from dpforest.risk import classroom

SCENE_CLASS: Final = 0  # seed of the made-up class that the scene shows
# Seed of the noise of the scene, chosen among 200 seeds: its results at all ε are closest to the means of 200 classes.
NOISE_SEED: Final = 160
_SECONDS: Final = 14  # duration of the whole attack, if it has many trees


@lru_cache(maxsize=32)
def attack(trees: int, epsilon: float | None) -> list[list[float]]:
    """Return the marks of all students after each of the published trees (exact counts if `epsilon` is None).

    A mark is 1 if the secret is rebuilt correctly, 0 if it is rebuilt wrongly, and 0.5 if a coin must decide.

    >>> [marks.count(1.0) for marks in attack(3, None)]
    [12, 16, 26]
    """
    failed = classroom.secrets(SCENE_CLASS)
    table, counts = classroom.members(trees), classroom.published_counts(failed, trees, epsilon, NOISE_SEED)
    per_tree = len(table) // trees
    return [
        classroom.marks_of(classroom.reconstruct(table[:end], counts[:end]), failed).tolist()
        for end in range(per_tree, len(table) + 1, per_tree)
    ]


def class_scene(trees: int, epsilon: float | None, *, is_solved: bool) -> tuple[dict[str, Any], str]:
    """Return the data of the scene and its description.

    Parameters
    ----------
    trees : int
        Number of published trees.
    epsilon : float or None
        Budget of all trees together; None publishes exact counts.
    is_solved : bool
        False shows the counts of the first tree only, without the attack.
    """
    n = trees if is_solved else 1
    failed = classroom.secrets(SCENE_CLASS)
    table, counts = classroom.members(n), classroom.published_counts(failed, n, epsilon, NOISE_SEED)
    marks = attack(n, epsilon) if is_solved else []
    per_tree = len(table) // n
    tree_data = []
    for tree in range(n):
        leaves = range(tree * per_tree, (tree + 1) * per_tree)
        filled_leaves = [leaf for leaf in leaves if table[leaf].any()]
        equations = [_equation(table[leaf], counts[leaf]) for leaf in filled_leaves]
        tree_data.append({"leaves": equations, "marks": marks[tree] if is_solved else []})
    words = f"{n} tree{'s' * (n != 1)}"
    n_equations = f"{int(table.any(axis=1).sum())} equations"
    noise = "exact counts" if epsilon is None else f"noise, ε = {epsilon:g}"
    data = {
        "kind": "class",
        "seconds": _SECONDS,
        "columns": classroom.SEAT_COLUMNS,
        "students": classroom.N_STUDENTS,
        "trees": tree_data,
        "solving": ["solves all", "equations so far"] if is_solved else [""],
        "end": [words, n_equations, "30 unknowns", noise, "", "A coin: 15 right"],
        "before": "The school publishes its first tree",
    }
    if not is_solved:
        return data, f"Seats of thirty students. The first tree has {n_equations}. No secret is rebuilt yet."
    right, wrong, coin = (marks[-1].count(mark) for mark in (1.0, 0.0, 0.5))
    result = f"{right} secrets are rebuilt correctly, {wrong} wrongly, and a coin decides {coin}"
    return data, f"Seats of thirty students. After {words} with {noise}, {result}."


def _equation(members: np.ndarray, counts: np.ndarray) -> dict[str, Any]:
    """Return one leaf as an equation: its students, and the published counts of passed and failed students."""
    students = np.flatnonzero(members).tolist()
    passed, failed = (f"{count}".replace("-", "−") for count in counts.tolist())
    students_text = f"{len(students)} student{'s' * (len(students) != 1)}:"
    return {"students": students, "words": [students_text, f"{failed} failed", f"{passed} passed"]}
