"""Rank tests over tables: Friedman's test of all methods, and Wilcoxon's test of the first method against another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, wilcoxon

from reproduce.protocol import Record


@dataclass(frozen=True)
class Ranks:
    """Ranks of methods over the same tables.

    Attributes
    ----------
    methods : tuple of str
    mean_ranks : tuple of float
        Mean rank of each method over the tables. A method that is most accurate on every table has mean rank 1.
    friedman : float
        p-value of the hypothesis that all methods are equal.
    wilcoxon : dict of str to float
        For each other method, the two-sided p-value of the hypothesis that it equals the first method. The p-value is
        exact for few tables.
    n_tables : int
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    friedman: float
    wilcoxon: dict[str, float]
    n_tables: int


def ranks(scores: dict[str, list[float]]) -> Ranks:
    """Rank methods by accuracy. `scores` holds each method's accuracy on each table, with tables in the same order.

    Raises
    ------
    ValueError
        If there are fewer than three methods or three tables.

    Examples
    --------
    >>> result = ranks({"a": [9.0, 8.0, 7.0, 9.5], "b": [5.0, 6.0, 3.0, 4.5], "c": [1.0, 2.0, 3.5, 4.0]})
    >>> result.mean_ranks, round(result.friedman, 3), result.wilcoxon["b"]
    ((1.0, 2.25, 2.75), 0.039, 0.125)
    """
    table = np.array(list(scores.values()), float)
    if table.shape[0] < 3 or table.shape[1] < 3:
        raise ValueError(f"ranks need at least three methods and three tables, not {table.shape}")
    first, *others = scores
    return Ranks(
        tuple(scores),
        tuple(np.round(rankdata(-table, axis=0).mean(axis=1), 2).tolist()),
        float(friedmanchisquare(*table).pvalue),
        {name: float(wilcoxon(scores[first], scores[name]).pvalue) for name in others},
        table.shape[1],
    )


def by_method(records: Iterable[Record], which: str) -> dict[str, list[float]]:
    """Return the figures of each method, from records whose setting is "table, method".

    `which` is "published", "ours" or "certified".
    """
    figures: dict[str, list[float]] = {}
    for record in records:
        figures.setdefault(record.setting.split(", ")[1], []).append(getattr(record, which))
    return figures


def in_words(records: list[Record]) -> list[str]:
    """Return lines of Markdown that compare the methods' accuracies: first as printed, then as measured here."""
    lines = []
    for which, what in (("published", "As printed"), ("ours", "As published, here"), ("certified", "Certified, here")):
        if any(getattr(record, which) is None for record in records):
            continue
        result = ranks(by_method(records, which))
        means = ", ".join(f"{name} {rank:g}" for name, rank in zip(result.methods, result.mean_ranks, strict=True))
        against = ", ".join(f"{result.methods[0]} against {name} p = {p:.3f}" for name, p in result.wilcoxon.items())
        lines.append(
            f"- {what}: mean ranks over {result.n_tables} tables {means}; Friedman p = {result.friedman:.3f}; "
            f"Wilcoxon {against}."
        )
    return lines
