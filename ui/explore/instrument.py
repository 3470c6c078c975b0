"""The instrument: sliders for ε, depth, trees and α, with a curve and a tree that change while the user drags a slider.

The sliders are part of a component, whose JavaScript is in `front_end`. When the user releases a slider, the component
sends the new value to Python, and `_take` puts it into the Streamlit controls under *Exact values*. Links, reloads and
tests use these controls, so the page also works without the component.

A `Line` describes simulated releases at several ε: of one forest, or of a forest at several positions of one slider.
Each position gives a curve of accuracy against ε.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpforest.plotting.instrument import Curves, drawn_tree, line_of
from dpforest.plotting.small_trees import small_trees
from dpforest.plotting.style import percent
from dpforest.simulation.views import ForestView
from ui import state
from ui.forest import boost_controls
from ui.forest.forests import FORESTS, ForestSettings
from ui.forest.shape_controls import Shape, take_depth, take_trees
from ui.jobs.baselines import THIS_FOREST, Baselines
from ui.jobs.priority import SCHEDULER
from ui.jobs.results import SweepResult, ceiling_of
from ui.jobs.sweep_job import Line, SweepJob, sweep_job
from ui.jobs.workers import INTERACTIVE
from ui.server.streamlit_patches.internals import let_draw_again
from ui.shared.epsilon import grid_with, put_epsilon, scale_of
from ui.shared.loss_words import at_delta
from ui.shared.sidebar import Choice
from ui.shared.tables import read_by, split

FRONT_END: Final = Path(__file__).parent / "front_end"
SCRIPTS: Final = ("curves.js", "draw_curve.js", "draw_tree.js", "instrument.js")
MOST_LEAVES: Final = 2**17  # only forests with at most this many leaves get a curve at another depth or number of trees
SECONDS_BETWEEN_DRAWINGS: Final = 1.0  # shortest time between two drawings while curves are being added
MOST_OTHER_TREES: Final = 8  # largest number of positions of the trees slider for which curves are simulated


@cache
def _component() -> Any:
    return st.components.v2.component(
        "instrument",
        html='<div class="instrument"></div>',
        css=(FRONT_END / "instrument.css").read_text(encoding="utf-8"),
        js="\n".join((FRONT_END / name).read_text(encoding="utf-8") for name in SCRIPTS),
    )


class Instrument:
    """The instrument on the page. It is drawn once, and refined in place.

    Parameters
    ----------
    choice : Choice
    job : SweepJob
        Simulated releases of the settings that the page shows.
    result : SweepResult
    baselines : Baselines
        Guessing, and models without privacy, on the split of the page.
    measure : str
        Measure that the curve shows, as a column of a sweep's results: "accuracy" or "balanced_accuracy".
    delta : float
        The δ at which ε is stated.
    """

    def __init__(
        self, choice: Choice, job: SweepJob, result: SweepResult, baselines: Baselines, measure: str, delta: float = 0.0
    ) -> None:
        assert choice.shape is not None
        self._choice, self._shape, self._job, self._baselines = choice, choice.shape, job, baselines
        self._result, self._measure, self._delta = result, measure, delta
        self._place: DeltaGenerator = st.empty()
        self._tree: dict[str, Any] | None = None
        self._view: ForestView | None = None
        self._flips: dict[float, np.ndarray | None] = {}
        self._votes: dict[str, Any] | None = None
        self._waiting_lines = [*_other_lines(choice.settings, choice.shape), *_alpha_lines(choice.settings)]
        self._finished: list[tuple[str, str, SweepJob]] = []
        self._current_job: SweepJob | None = None
        self._draw()

    def refine(self, result: SweepResult) -> None:
        """Draw the instrument again, from a result with more simulated releases or at more values of ε."""
        has_new_grid = len(result.epsilons) != len(self._result.epsilons)
        self._result = result
        if has_new_grid and self._view is not None:
            self._picture()  # the description of the tree lists its flip rates at each ε of the grid
        self._draw()

    def show_tree(self, view: ForestView) -> None:
        """Draw the chosen tree of a simulated release at the present ε, and the votes of a few trees on one record."""
        self._view = view
        self._flips = {}
        self._picture()
        parts = split(read_by(self._choice.table, self._choice.settings))
        row = min(max(state.ROW.value or 1, 1), len(parts.y_test))
        self._votes = {**small_trees(view, parts.X_test[row - 1]), "record": row, "truth": int(parts.y_test[row - 1])}
        self._draw()

    def step(self) -> bool:
        """Simulate a part of the lines at other positions of the sliders, or compute flip rates at another ε.

        Return False if no work is left or the server is busy. It is busy if another page computes now, or if worker
        processes run because several users waited for their first figures. A busy server computes only what its users
        ask for. Meanwhile a dragged slider shows the present curve.
        """
        if SCHEDULER.is_busy or INTERACTIVE.is_ready:
            return False
        return self._simulate_waiting() or self._compute_flips()

    def _simulate_waiting(self) -> bool:
        """Simulate a part of the next line. Return False if no line is left."""
        if not self._waiting_lines:
            return False
        kind, stop, line = self._waiting_lines[0]
        with suppress(ValueError):  # a forest that is too large for this table raises ValueError and gets no line
            self._current_job = self._current_job or sweep_job(self._choice.table, line)
            if self._current_job.step():
                return True
            self._finished.append((kind, stop, self._current_job))
        self._current_job = None
        self._waiting_lines.pop(0)
        if not self._waiting_lines or time.monotonic() - self._drawn_at > SECONDS_BETWEEN_DRAWINGS:
            self._draw()
        return True

    def _compute_flips(self) -> bool:
        """Compute the flip rates of the chosen tree at one more ε. Return False if nothing is left to compute."""
        view, tree = self._view, self._tree_index
        missing = [epsilon for epsilon in self._result.epsilons.tolist() if epsilon not in self._flips]
        if view is None or not missing or self._flips_at(view, tree, missing[0]) is None:
            return False
        if len(missing) == 1:
            self._picture()
            self._draw()
        return True

    @property
    def _tree_index(self) -> int:
        number = state.TREE.value or 1
        return min(max(number, 1), self._view.trees.n_trees) - 1 if self._view else 0

    def _flips_at(self, view: ForestView, tree: int, epsilon: float) -> np.ndarray | None:
        """Return the flip rate of each leaf of a tree at an ε; None if the simulation knows it only at the page's ε."""
        if epsilon not in self._flips:
            present = self._choice.settings.epsilon
            leaves = slice(int(view.trees.leaf_start[tree]), int(view.trees.leaf_start[tree + 1]))
            simulation = self._job.releases.simulation(0)
            at_present = epsilon == present
            self._flips[epsilon] = (
                view.flip[leaves] if at_present else simulation.flips_at(view, tree, present, epsilon)
            )
        return self._flips[epsilon]

    def _picture(self) -> None:
        """Set `_tree` to the description of the chosen tree, with the flip rates that are known so far."""
        view, tree, present = self._view, self._tree_index, self._choice.settings.epsilon
        assert view is not None
        known = {present, *self._flips}
        self._tree = drawn_tree(
            view,
            tree,
            self._result.epsilons.tolist(),
            lambda epsilon: self._flips_at(view, tree, epsilon) if epsilon in known else None,
        )

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        let_draw_again(state.INSTRUMENT)
        shape, mode = self._shape, self._choice.settings.mode
        with self._place:
            _component()(key=state.INSTRUMENT, data=self._data(), on_moved_change=lambda: _take(shape, mode))

    # ------------------------------------------------------------ data for the component

    def _data(self) -> dict[str, Any]:
        settings, shape, epsilons = self._choice.settings, self._shape, self._result.epsilons.tolist()
        others: dict[str, dict[Any, Any]] = {"depth": {}, "trees": {}, "alpha": {}}
        for kind, stop, job in self._finished:
            rows = job.rows(job.n_done)
            if stop:
                others[kind][stop] = line_of(rows, epsilons, self._measure)
                continue
            for value in sorted({row[kind] for row in rows}):
                others[kind][value] = line_of([row for row in rows if row[kind] == value], epsilons, self._measure)
        line = line_of(self._result.rows, epsilons, self._measure)
        curves = Curves(epsilons, line, others["depth"], others["trees"], others["alpha"])
        by_rule = "set by a rule" if shape.by_rule else ""
        no_depth = "" if FORESTS[settings.kind].has_depth(settings.mode) else "no limit, as published"
        return {
            "seq": state.MOVES.value,
            "certified": settings.certified,
            "byRule": shape.by_rule,
            "curves": curves.to_dict(),
            "levels": self._reference_lines(),
            "tree": self._tree,
            "epsilon": _slider("Privacy budget ε", sorted({*scale_of(), settings.epsilon}), settings.epsilon),
            "depth": _slider("Depth", shape.depths, shape.depth, no_depth or by_rule),
            "trees": _slider(
                "Trees", shape.n_trees, shape.trees, by_rule if FORESTS[settings.kind].has_trees else "one tree only"
            ),
            "alpha": self._alpha(),
            "sameAlpha": self._same_alpha(),
            "votes": self._votes,
            "words": self._words(),
        }

    def _reference_lines(self) -> list[dict[str, Any]]:
        """Return two horizontal lines: guessing, and the best model without privacy.

        The second line is this forest without noise if no other model is better, or while other models are still being
        fitted.
        """
        exact = float(self._result.without_noise(self._measure).mean())
        floor = self._baselines.floor["accuracy"]
        guessing = "guessing"
        if self._measure == "balanced_accuracy":
            floor = 1 / self._baselines.floor["classes"]
        lines = [{"kind": "floor", "value": floor, "words": guessing}]
        best = ceiling_of(self._result, [self._baselines], self._measure)
        if best is not None and best.name != THIS_FOREST:
            lines.append({"kind": "best", "value": best.value, "words": best.words})
        else:
            lines.append({"kind": "exact", "value": exact, "words": "this kind without noise"})
        return lines

    def _alpha(self) -> dict[str, Any]:
        settings = self._choice.settings
        alpha = settings.option("alpha")
        if settings.kind != "boosted":
            return _slider("α", [], None, "only boosted trees have α")
        stops, present = boost_controls.stops(settings.mode), boost_controls.stop_of(alpha, settings.mode)
        return _slider("α", stops if present in stops else (*stops, present), present)

    def _same_alpha(self) -> dict[str, str]:
        """Map each α strategy to another strategy whose first release classifies the same held-out rows correctly.

        The two strategies must agree at each ε that was simulated for both. A strategy that agrees with no other is
        left out.
        """
        settings = self._choice.settings
        if settings.kind != "boosted":
            return {}
        jobs = {boost_controls.stop_of(settings.option("alpha"), settings.mode): self._job}
        jobs |= {stop: job for kind, stop, job in self._finished if kind == "alpha"}
        return _equal_strategies({stop: _classified(job) for stop, job in jobs.items()})

    def _words(self) -> dict[str, str]:
        settings, shape = self._choice.settings, self._shape
        setting = f"ε = {settings.epsilon:g}{at_delta(self._delta)}"
        mean = self._result.private(self._measure).mean(axis=0)
        accuracy = float(mean[list(self._result.epsilons).index(settings.epsilon)])
        name = "Balanced accuracy" if self._measure == "balanced_accuracy" else "Accuracy"
        n_trees = self._view.trees.n_trees if self._view else shape.trees
        return {
            "curve": f"Held-out {name.lower()}",
            "measure": "balanced accuracy" if self._measure == "balanced_accuracy" else "right",
            "axis": "ε" if settings.certified else "ε as claimed",
            "tree": f"Tree {self._tree_index + 1} of {n_trees}{self._for_each_class()}",
            "votes": self._votes_title(),
            "treeAway": f"(the tree at ε = {settings.epsilon:g})",
            "badge": "Do not share",
            "mostFlips": percent(1 - 1 / len(self._tree["classes"]), 0) if self._tree else "",
            "rows": self._view.counted if self._view else "rows",
            "curveAlt": f"{name} from {percent(float(mean[0]))} at ε = {self._result.epsilons[0]:g} to "
            f"{percent(float(mean[-1]))} at ε = {self._result.epsilons[-1]:g}.",
            "treeAlt": "A tree: each node with its question, each leaf with its label and the rate at which noise "
            "flips the label.",
            "live": f"{setting}: about {percent(accuracy)} {'balanced accuracy' if name != 'Accuracy' else 'right'}.",
        }

    def _votes_title(self) -> str:
        if self._votes is None:
            return ""
        label = self._tree["classes"][self._votes["truth"]] if self._tree and self._votes["votes"] else ""
        record = f"record {self._votes['record']}{f' (“{label}”)' if label else ''}"
        return f"Votes on {record}" if self._votes["votes"] else f"Each tree adds to the score of {record}"

    def _for_each_class(self) -> str:
        """State how many trees belong to each class; empty if trees belong to no class, or if there are two classes."""
        if self._view is None or self._view.class_of_tree is None or self._view.domain.n_classes == 2:
            return ""
        n_classes = self._view.domain.n_classes
        return f" ({self._view.trees.n_trees // n_classes} for each of {n_classes} classes)"


def _slider(name: str, values: Any, value: Any, why: str = "") -> dict[str, Any]:
    """Return a slider for the component. `why` is a text next to the slider, such as a reason why it has no effect."""
    return {"name": name, "values": list(values), "value": value, "why": why}


def _other_lines(settings: ForestSettings, shape: Shape) -> list[tuple[str, str, Line]]:
    """Return the lines at other depths and at other numbers of trees, which the user may choose by moving one slider.

    If a rule sets depth and trees now, moving one slider turns the rule off, and the other slider then starts from
    `Shape.starts`. A line has only some ε of the grid, because with all ε it would cost ten times as much as the
    present line. A forest that is fitted anew at each ε has lines only for the neighboring positions of a slider.

    Returns
    -------
    list of (str, str, Line)
        The slider ("depth" or "trees"), an empty text, and a line that covers many positions of this slider.
    """
    depth, trees = shape.starts if shape.by_rule else (shape.depth, shape.trees)
    kind = FORESTS[settings.kind]
    fixed = replace(settings, depth=depth, trees=trees)
    full_grid = grid_with(settings.epsilon)
    grid = tuple(sorted({*full_grid[:: 4 if kind.is_fitted_anew else 3], full_grid[-1], settings.epsilon}))
    depths, n_trees = shape.depths, shape.n_trees
    if kind.is_fitted_anew:
        depths, n_trees = _with_neighbors(depths, shape.depth), _with_neighbors(n_trees, shape.trees)
    depths = tuple(d for d in depths if trees * 2**d <= MOST_LEAVES)
    n_trees = _spread_out(tuple(t for t in n_trees if t * 2**depth <= MOST_LEAVES), shape.trees)
    lines = []
    if len(depths) > 1:
        lines.append(("depth", "", Line(fixed, grid, depths=depths)))
    if len(n_trees) > 1 and kind.has_trees:
        lines.append(("trees", "", Line(fixed, grid, trees=n_trees)))
    return lines


def _alpha_lines(settings: ForestSettings) -> list[tuple[str, str, Line]]:
    """Return ("alpha", strategy, line) for each other α strategy.

    The neighbors of the present strategy on the slider come first, then strategies that have names, then numbers.
    """
    if settings.kind != "boosted":
        return []
    stops = boost_controls.stops(settings.mode)
    present = boost_controls.stop_of(settings.option("alpha"), settings.mode)
    place = stops.index(present) if present in stops else 0
    order = sorted(
        stops, key=lambda stop: (abs(stops.index(stop) - place) > 1, stop not in boost_controls.ALPHAS[settings.mode])
    )
    full_grid = grid_with(settings.epsilon)
    grid = tuple(sorted({*full_grid[::4], full_grid[-1], settings.epsilon}))
    return [
        ("alpha", stop, Line(settings.with_option("alpha", boost_controls.alpha_of(stop, settings.mode)), grid))
        for stop in order
        if stop != present
    ]


def _classified(job: SweepJob) -> dict[float, bytes]:
    """Return, by ε, the packed mask of the held-out rows that the first simulated release classifies correctly."""
    return {row["epsilon"]: row["right"] for row in job.rows(1)} if job.n_done else {}


def _equal_strategies(classified: dict[str, dict[float, bytes]]) -> dict[str, str]:
    """Map each strategy to the first other strategy with equal results at all ε that both have.

    A strategy without such a partner is left out.

    >>> _equal_strategies({"1": {0.1: b"a", 1.0: b"b"}, "carried": {1.0: b"b"}, "0": {1.0: b"c"}})
    {'1': 'carried', 'carried': '1'}
    """
    same = dict[str, str]()
    for stop, results in classified.items():
        for other, of_other in classified.items():
            both = results.keys() & of_other.keys()
            if other != stop and both and all(results[epsilon] == of_other[epsilon] for epsilon in both):
                same.setdefault(stop, other)
    return same


def _with_neighbors(values: tuple[int, ...], value: int) -> tuple[int, ...]:
    """Return a value with the values before and after it. The result is empty if `values` does not contain the value.

    >>> _with_neighbors((1, 2, 5, 9), 5), _with_neighbors((1, 2), 1)
    ((2, 5, 9), (1, 2))
    """
    if value not in values:
        return ()
    place = values.index(value)
    return values[max(place - 1, 0) : place + 2]


def _spread_out(values: tuple[int, ...], value: int) -> tuple[int, ...]:
    """Return at most `MOST_OTHER_TREES` of the values: `value`, its neighbors, and other values at even distances."""
    if len(values) <= MOST_OTHER_TREES:
        return values
    near = _with_neighbors(values, value)
    evenly = np.linspace(0, len(values) - 1, MOST_OTHER_TREES - len(near)).round().astype(int)
    return tuple(sorted({*near, *(values[place] for place in evenly.tolist())}))


def _take(shape: Shape, mode: str) -> None:
    """Put the values of the sliders that the user moved into the Streamlit controls. Ignore invalid values."""
    moved = getattr(st.session_state.get(state.INSTRUMENT), "moved", None)
    if not isinstance(moved, dict):
        return
    state.MOVES.value = moved["seq"] if type(moved.get("seq")) is int and 0 <= moved["seq"] <= 1_000_000 else 0
    values: Any = moved.get("values")
    for control, value in values.items() if isinstance(values, dict) else ():
        if control == "epsilon" and type(value) in (int, float) and float(value) in scale_of():
            put_epsilon(float(value))
        elif control == "depth" and type(value) is int and value in shape.depths:
            take_depth(value, shape)
        elif control == "trees" and type(value) is int and value in shape.n_trees:
            take_trees(value, shape)
        elif control == "alpha" and value in boost_controls.stops(mode):
            boost_controls.take_stop(value, mode)
