"""Texts of the tests in a tree. Names and values, which come from data, are escaped for plotly."""

from __future__ import annotations

import math

from dpforest.plotting.style import escape, number
from dpforest.tables.domain import Domain
from dpforest.tables.features import Feature
from dpforest.trees.layout import LEAF, MULTIWAY, NUMERIC, ONE_VS_REST, Trees


def question(trees: Trees, domain: Domain, node: int, most: int = 22) -> str:
    """Return the text of a node's test, with names cut to `most` characters; empty for a leaf."""
    kind = trees.kind[node]
    if kind == LEAF:
        return ""
    feature, t = domain.features[trees.feature[node]], int(trees.threshold[node])
    name = escape(feature.name, most)
    if kind == MULTIWAY:
        return f"{name}?"
    if kind == ONE_VS_REST:
        return f"{name} = {escape(feature.code_labels[t], most)}?"
    if feature.kind == "categorical":  # a threshold on codes sends all categories after it to the same side
        after = feature.code_labels[t + 1 :]
        if not after:
            return f"{name}: none listed?"
        return f"{name} = {escape(after[0], most)}?" if len(after) == 1 else f"{name} among last {len(after)} listed?"
    value = feature.threshold_value(t)
    if value == -math.inf:
        return f"{name} known?"
    return f"{name} ≥ {number(math.ceil(value) if feature.integer else value)}?"


def value_text(feature: Feature, code: int) -> str:
    """Return the value of a code as text, which is not escaped: a category, or the smallest number with this code."""
    if feature.kind == "categorical":
        return feature.code_labels[code]
    if code < feature.first_code:
        return "missing"
    low = feature.least_value(code)
    return f"{math.ceil(round(low, 6)) if feature.integer else low:.6g}"


def answer(trees: Trees, domain: Domain, node: int, most: int = 22) -> str:
    """Return the answer to the parent's test that leads to a node; empty for the root of a tree."""
    parent = int(trees.parent[node])
    if parent == node:
        return ""
    index = node - int(trees.first_child[parent])
    feature = domain.features[trees.feature[parent]]
    if trees.kind[parent] == MULTIWAY:
        return escape(feature.code_labels[index], most)
    if index:
        return "yes"
    asks_value = trees.kind[parent] == NUMERIC and feature.kind == "numeric" and feature.missing == "category"
    return "no or missing" if asks_value and trees.threshold[parent] >= feature.first_code else "no"


def explanation(trees: Trees, domain: Domain, node: int) -> str:
    """Return the full text of a test, for a hover label.

    If the test has a threshold on categories, the text lists all categories after the threshold.
    """
    if trees.kind[node] != NUMERIC or domain.features[trees.feature[node]].kind == "numeric":
        return question(trees, domain, node, 60)
    feature, t = domain.features[trees.feature[node]], int(trees.threshold[node])
    after = ", ".join(feature.code_labels[t + 1 :])
    return f"{escape(feature.name, 60)} is one of {escape(after, 120)}?"


def ancestors(trees: Trees, node: int) -> list[int]:
    """Return the nodes from the root of the tree down to `node`."""
    path = [node]
    while (parent := int(trees.parent[path[-1]])) != path[-1]:
        path.append(parent)
    return path[::-1]


def path_text(trees: Trees, domain: Domain, node: int) -> str:
    """Return all tests and answers from the root to a node, as text for a table."""
    steps = ancestors(trees, node)
    return " · ".join(
        f"{question(trees, domain, parent)} {answer(trees, domain, child)}"
        for parent, child in zip(steps, steps[1:], strict=False)
    )
