"""The chart of each step of the lesson, with a description for readers who cannot see it.

This module does not use Streamlit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import plotly.graph_objects as go

from dpforest.audit.leaf_attack import CONFIDENCE
from dpforest.confidence import lower_limit, upper_limit
from dpforest.plotting import lesson, lesson_attacks, lesson_measured
from dpforest.plotting.style import percent
from dpforest.risk import classroom
from dpforest.risk.guarantee import MEMBERSHIP, VALUE
from dpforest.risk.rounding import percent_down, percent_up
from ui.learn import lesson_facts

DrawnChart = tuple[go.Figure, str, str]  # chart, description, and a sentence below the chart
_DEGREES: Final = {"Masters": "master’s", "Bachelors": "bachelor’s", "HS-grad": "high school"}
_CLASS_SEED: Final = 0  # seed of the made-up school class that the chart shows


def draw(key: str, setting: str, is_shown: bool, n_redraws: int = 0) -> DrawnChart:
    """Return the chart of a step for a value of the step's control. The answer is in it only if `is_shown`.

    Parameters
    ----------
    key : str
        Key of the step.
    setting : str
        Value of the control.
    is_shown : bool
        Whether the answer is shown.
    n_redraws : int
        Number of presses of "Draw again".
    """
    return _proof(setting, is_shown, n_redraws) if key == "proof" else _CHARTS[key](setting, is_shown)


def who_pays() -> DrawnChart:
    """Return the chart in the notes of the last step: wrong predictions about customers of the bank, by degree."""
    measured = lesson_facts.measurements()
    epsilons, degrees = measured["choose"]["epsilon"], measured["degrees"]
    groups = {_DEGREES[name]: degree["wrong"] for name, degree in degrees.items()}
    index = epsilons.index(0.1)
    more = {name: f"{1000 * (wrong[index] - wrong[-1]):.0f}" for name, wrong in groups.items()}
    master, _, school = more.values()
    below = (
        f"The bank’s average hides who pays. At ε = 0.1, noise adds {master} wrong predictions for 1,000 customers "
        f"with a master’s degree, but {school} for 1,000 with a high-school diploma."
    )
    listed = ", ".join(f"{name} {count}" for name, count in more.items())
    return (
        lesson_measured.wrong_by_group(epsilons, groups),
        f"Wrong predictions of the bank by degree against ε. More of 1,000 at ε = 0.1 than without noise: {listed}.",
        below,
    )


def _class(setting: str, is_shown: bool) -> DrawnChart:
    if not is_shown:
        return lesson.class_tiles(None), "Seats of thirty students, 5 rows of 6. Nothing is published yet.", ""
    marks = classroom.marks(int(setting), None, _CLASS_SEED)
    right, wrong, coin = (int((marks == value).sum()) for value in (1, 0, 0.5))
    words = f"{right} rebuilt correctly, {wrong} wrongly" + (f", {coin} by a coin" if coin else "")
    measured = lesson_facts.measurements()["class"]
    mean = measured["exact"][measured["trees"].index(int(setting))]["right"]
    trees = f"{setting} tree{'s' * (setting != '1')}"
    below = f"Here, {trees}: {words}. Mean of {classroom.CLASSES} classes: {mean:.1f} of 30."
    return lesson.class_tiles(marks.tolist()), f"Seats of thirty students. {trees}: {words}.", below


def _leaf(setting: str, is_shown: bool) -> DrawnChart:
    lies = lesson_facts.lie_probabilities()
    if not is_shown:
        alt = "How often a leaf says the wrong label. Drawn is an empty leaf, at 50 %; the rest is hidden."
        return lesson.leaf_lies(lies, None), alt, ""
    n = int(setting)
    words = ", ".join(f"{i}: {lesson.small_percent(lie)}" for i, lie in enumerate(lies))
    below = f"{setting} student{'s' * (n != 1)}, ε = 1: wrong in {lesson.small_percent(lies[n])} of releases."
    return lesson.leaf_lies(lies, n), f"How often a leaf says the wrong label, by its students. {words}.", below


def _promise(setting: str, is_shown: bool) -> DrawnChart:
    beliefs = lesson_facts.beliefs(float(setting))
    between = f"{percent_down(beliefs.least)} to {percent_up(beliefs.most)}"
    fig = lesson.two_worlds(beliefs.least, beliefs.most, beliefs.failed, beliefs.passed, between, is_shown=is_shown)
    if not is_shown:
        return fig, "How sure one is that Ann is in the table. Before the release 50 %; the rest is hidden.", ""
    below = (
        f"ε = {setting}: {between}. After “failed” {percent(beliefs.failed)}, after “passed” {percent(beliefs.passed)}."
    )
    return fig, f"How sure one is that Ann is in the table, who was 50 % sure. {below}", below


def _votes(setting: str, is_shown: bool) -> DrawnChart:
    by_n = lesson_facts.measurements()["votes"]
    trees, n = by_n["trees"], int(setting)
    fig = lesson_measured.votes(trees, by_n["accuracy"], by_n["lies"], n if is_shown else None)
    lies = "Rows that get a lie: " + _listed(trees, by_n["lies"], "trees")
    if not is_shown:
        return fig, f"{lies} Accuracy of the vote with 1 tree: {percent(by_n['accuracy'][0])}; the rest is hidden.", ""
    i = trees.index(n)
    below = (
        f"{n} tree{'s' * (n != 1)}: {percent(by_n['accuracy'][i])} right, {percent(by_n['lies'][i])} of rows "
        f"get a lie, {percent(by_n['empty'][i], 0)} of leaves are empty."
    )
    return fig, f"Accuracy of the vote: {_listed(trees, by_n['accuracy'], 'trees')} {lies}", below


def _budget(setting: str, is_shown: bool) -> DrawnChart:
    index = ("all rows in every tree", "each row in one tree").index(setting)
    fig = lesson_measured.plans(index if is_shown else None)
    rising = "What Ann has paid after each of 100 trees. Plan A: 0.01 more with every tree, 1 in the end."
    if not is_shown:
        return fig, f"{rising} Plan B is hidden.", ""
    plan = lesson_facts.measurements()["plans"][("shared", "independent")[index]]
    each = f"{plan['times']:,} × {plan['each']}"
    how = f"{each}, in sequence" if index == 0 else f"{plan['times']:,} leaves in parallel, each at ε = {plan['each']}"
    below = f"Plan {'AB'[index]}: {how}. The ledger says ε = {plan['spent']}."
    return fig, f"{rising} Plan B: nothing but in tree 37, which holds Ann and costs 1.", below


def _depth(setting: str, is_shown: bool) -> DrawnChart:
    data = lesson_facts.measurements()["depth"]
    depth, accuracy = data["depth"], data["accuracy"][setting]
    fig = lesson_measured.depths(depth, accuracy, data["without_noise"], data["guessing"], is_shown=is_shown)
    without_noise = (
        f"Without noise by depth: {_listed(depth, data['without_noise'])} Guessing: {percent(data['guessing'])}."
    )
    if not is_shown:
        return fig, f"{without_noise} What comes with noise is hidden.", ""
    best = max(range(len(depth)), key=accuracy.__getitem__)
    empty = dict(zip(depth, data["empty"], strict=True))
    below = (
        f"ε = {setting}: depth {depth[best]} is best, {percent(accuracy[best])}. Empty leaves at depth 4: "
        f"{percent(empty[4], 0)}, at 6: {percent(empty[6], 0)}."
    )
    return fig, f"Accuracy at ε = {setting} by depth: {_listed(depth, accuracy)} {without_noise}", below


def _proof(setting: str, is_shown: bool, n_redraws: int) -> DrawnChart:
    chance_b = lesson_facts.chances(lesson_facts.PAPER)[1]
    if not is_shown:
        alt = f"With table B, class 2 comes in {percent(chance_b)} of releases. With table A it is hidden."
        return lesson_attacks.promise_counted(chance_b, None), alt, ""
    n = int(setting.replace(",", ""))
    counted = lesson_facts.count(n, n_redraws)
    points = {}
    for rule, (a, b) in (("own", counted.certified), ("paper", counted.paper)):
        (x, x_limits), (y, y_limits) = _with_limits(b, n), _with_limits(a, n)
        points[rule] = ((x, y), x_limits, y_limits)
    fig = lesson_attacks.promise_counted(chance_b, points)
    proved = f"proves a loss ≥ {lesson_facts.loss_down(counted.loss_bound)}"
    proves = f"With 99.9 % confidence this {proved}." if counted.loss_bound > 0 else "This proves nothing."
    hits = f"Rule of 2017: {counted.paper[0]:,} with A, {counted.paper[1]:,} with B."
    below = f"{hits} {proves}"
    other = f"Permute-and-flip: {counted.certified[0]:,} with A, {counted.certified[1]:,} with B."
    limit = "The limit is 2.72 times the share with B."
    return fig, f"How often class 2 came in {setting} releases. {below} {other} {limit}", below


def _with_limits(hits: int, trials: int) -> tuple[float, tuple[float, float]]:
    """Return the share of hits and its 99.9 % confidence interval."""
    alpha = (1 - CONFIDENCE) / 2
    return hits / trials, (float(lower_limit(hits, trials, alpha)), float(upper_limit(hits, trials, alpha)))


def _rebuild(setting: str, is_shown: bool) -> DrawnChart:
    measured = lesson_facts.measurements()["class"]
    right = [*(cell["right"] for cell in measured["noisy"]), measured["exact"][measured["trees"].index(10)]["right"]]
    limit = [*(lesson_facts.most_rebuilt(e) for e in measured["epsilon"]), 30.0]
    fig = lesson_attacks.rebuilt_by_epsilon(measured["epsilon"], right, limit, setting, is_shown=is_shown)
    if not is_shown:
        return fig, "Students rebuilt with exact counts: 30. A coin: 15. What comes with noise is hidden.", ""
    names = [*(f"{e:g}" for e in measured["epsilon"]), "exact"]
    i = names.index(setting)
    words = "Exact counts" if setting == "exact" else f"ε = {setting}"
    below = f"{words}: on average {right[i]:.1f} of 30 rebuilt, and by any attacker at most {limit[i]:.1f}."
    listed = ", ".join(f"{name}: {r:.1f} (limit {m:.1f})" for name, r, m in zip(names, right, limit, strict=True))
    return fig, f"Students rebuilt by ε. {listed}. A coin: 15.", below


def _choose(setting: str, is_shown: bool) -> DrawnChart:
    measured = lesson_facts.measurements()["choose"]
    epsilons, tables = measured["epsilon"], {who: measured[who] for who in ("school", "hospital", "bank")}
    without_noise = ", ".join(f"{who} {1000 * t['without_noise']:.0f}" for who, t in tables.items())
    if not is_shown:
        fig = lesson_measured.wrong_of_thousand(epsilons, tables, None)
        return fig, f"Wrong predictions of 1,000 without noise: {without_noise}. What comes with noise is hidden.", ""
    i = [f"{e:g}" for e in epsilons].index(setting)
    answer, member = (percent_up(lesson_facts.most_right(float(setting), question)) for question in (VALUE, MEMBERSHIP))
    attacker = f"attacker right, at most:<br>an answer {answer}<br>is in it {member}"
    fig = lesson_measured.wrong_of_thousand(epsilons, tables, i, attacker)
    wrong_text = ", ".join(f"{who} {1000 * t['wrong'][i]:.0f}" for who, t in tables.items())
    below = f"ε = {setting}, wrong of 1,000: {wrong_text}."
    alt = (
        f"Without noise: {without_noise}. An attacker is right about an answer in at most {answer}, who is in it in "
        f"{member}."
    )
    return fig, f"Wrong predictions against ε. {below} {alt}", below


def _listed(sizes: list[int], shares: list[float], unit: str = "") -> str:
    listed = ", ".join(f"{size}: {percent(share)}" for size, share in zip(sizes, shares, strict=True))
    return f"{listed} ({unit})." if unit else f"{listed}."


_CHARTS: Final[dict[str, Callable[[str, bool], DrawnChart]]] = {
    "class": _class,
    "leaf": _leaf,
    "promise": _promise,
    "votes": _votes,
    "budget": _budget,
    "depth": _depth,
    "rebuild": _rebuild,
    "choose": _choose,
}
