"""Plotly figures of results. This package computes no results, and no other package of `dpforest` imports it."""

from dpforest.plotting.boosted_growth import alpha_by_level, alpha_drawing, contributions, weight_spread
from dpforest.plotting.budget import budget_picture
from dpforest.plotting.curve import accuracy_curve
from dpforest.plotting.focus import focus_tree
from dpforest.plotting.leaves import flip_histogram, votes
from dpforest.plotting.overview import tree_overview
from dpforest.plotting.style import CONFIG

__all__ = [
    "CONFIG",
    "accuracy_curve",
    "alpha_by_level",
    "alpha_drawing",
    "budget_picture",
    "contributions",
    "flip_histogram",
    "focus_tree",
    "tree_overview",
    "votes",
    "weight_spread",
]
