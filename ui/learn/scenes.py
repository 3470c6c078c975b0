"""The scene of each step of the lesson: data that the stage draws, with a description for readers who cannot see it.

This module does not use Streamlit. Every random draw of a scene has a fixed seed, so a scene is the same for every
visitor. Scenes of steps 3 and 5 are stored in `data/lesson.json`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpforest.plotting.lesson import small_percent
from dpforest.plotting.style import percent
from dpforest.privacy.simulators import simulate_labels
from dpforest.risk import classroom
from dpforest.risk.guarantee import MEMBERSHIP, VALUE
from dpforest.risk.rounding import percent_up
from ui.learn import lesson_facts
from ui.learn.class_attack import class_scene

HUNDRED: Final = 100
SECONDS: Final = 7  # seconds in which a hundred draws appear
# Words for the classes of the table Nursery.
_CLASS_WORDS: Final = ("not recommended", "priority", "recommended", "special priority", "very recommended")


@dataclass(frozen=True)
class Scene:
    """A scene of the stage.

    Parameters
    ----------
    data : dict
        Lists, texts and numbers for the JavaScript in `front_end`. ``kind`` names the scene.
    alt : str
        Description of the picture at the end of the scene.
    """

    data: dict[str, Any]
    alt: str


def scene(key: str, setting: str, is_shown: bool, n_redraws: int = 0) -> Scene:
    """Return the scene of a step for a value of the step's control. It contains the answer only if `is_shown` is True.

    The parameters are those of `lesson_charts.draw`.
    """
    return _proof(setting, is_shown, n_redraws) if key == "proof" else _SCENES[key](setting, is_shown)


def _class(setting: str, is_shown: bool) -> Scene:
    return Scene(*class_scene(int(setting), None, is_solved=is_shown))


def _rebuild(setting: str, is_shown: bool) -> Scene:
    epsilon = None if setting == "exact" or not is_shown else float(setting)
    return Scene(*class_scene(10, epsilon, is_solved=True))


def _panel(title: str, draws: str, count: str, **settings: Any) -> dict[str, Any]:
    """Describe a panel of a hundred cells.

    Parameters
    ----------
    draws : str
        "1" for each draw that counts and "0" for the others. If the text is empty, the panel stays empty.
    count : str
        Text below the panel; "#" stands for the number of draws so far that count (times `each`, if it is not 0).
    """
    defaults = {"each": 0, "digits": 0, "isPiled": True, "isTrees": False, "line": None, "last": "", "below": [""]}
    return {"title": title, "draws": draws, "count": count, **defaults, **settings}


def _panels(alt: str, running: str, end: str, *panels: dict[str, Any]) -> Scene:
    return Scene({"kind": "panels", "seconds": SECONDS, "running": running, "end": end, "panels": list(panels)}, alt)


def _digits(hits: np.ndarray) -> str:
    return "".join(str(int(hit)) for hit in hits.tolist())


def _leaf(setting: str, is_shown: bool) -> Scene:
    n = int(setting)
    lie = lesson_facts.lie_probabilities()[n]
    draws = simulate_labels(np.tile([n, 0], (HUNDRED, 1)), lesson_facts.CERTIFIED, 1.0, n) == 1 if is_shown else ()
    wrong = _digits(np.array(draws, bool))
    hits = wrong.count("1")
    panel = _panel("100 releases", wrong, "# wrong", last=f"{hits} wrong", below=["", f"formula: {small_percent(lie)}"])
    students = f"{n} student{'s' * (n != 1)}"
    end = f"{hits} of 100 releases are wrong" if is_shown else f"{students} in the leaf, one label to publish"
    data = {
        "kind": "leaf",
        "seconds": SECONDS,
        "students": n,
        "total": classroom.N_STUDENTS,
        "label": "failed",
        "wrong": "passed",
        "panel": panel,
        "falling": "Thirty students fall through the tree",
        "running": "The leaf publishes its label",
        "end": end,
    }
    fall = f"Thirty students fall through a tree, {n} of them into the marked leaf. All of these failed."
    return Scene(data, f"{fall} {end}. The formula says {small_percent(lie)}." if is_shown else f"{fall} {end}.")


def _promise(setting: str, is_shown: bool) -> Scene:
    """Return the scene of an attacker who guesses from each of a hundred releases if Ann's row is in the table."""
    epsilon = float(setting)
    limit = lesson_facts.most_right(epsilon, MEMBERSHIP)
    beliefs = lesson_facts.beliefs(epsilon)
    is_in = np.random.default_rng(0).integers(0, 2, HUNDRED)  # a coin puts Ann's row into the table or leaves it out
    labels = simulate_labels(np.column_stack([is_in, 0 * is_in]), lesson_facts.CERTIFIED, epsilon, 1)
    right = _digits((labels == 0) == (is_in == 1)) if is_shown else ""
    expected = lesson_facts.guessed_right(epsilon)
    hits = right.count("1")
    below = [
        "",
        "",
        "On average:",
        f"{100 * expected:.1f} of 100",
        "",
        "Any attacker (line):",
        f"at most {percent_up(limit)}",
    ]
    panel = _panel(
        "A hundred guesses about Ann",
        right,
        "# right" if is_shown else "A coin puts Ann in",
        line=100 * limit if is_shown else 50,
        below=below if is_shown else ["", "or leaves her out.", "Guess which.", "", "Line: a coin,", "50 of 100"],
        last=f"{hits} right" if is_shown else "A coin puts Ann in",
    )
    alt = f"A hundred guesses whether Ann is in the table, at ε = {setting}: {hits} right. "
    alt += f"On average {percent(expected)}. No attacker is right in more than {percent_up(limit)} on average. "
    alt += f"Belief after “failed”: {percent(beliefs.failed)}."
    before = "A hundred times, a coin puts Ann’s row into the table or not. An attacker will guess."
    running = "The attacker reads the label of her leaf, and guesses"
    end = (
        f"ε = {setting}: at most {percent_up(limit)} right on average"
        if is_shown
        else "The attacker has not guessed yet"
    )
    return _panels(alt if is_shown else before, running, end, panel)


def _votes(setting: str, is_shown: bool) -> Scene:
    stored = lesson_facts.measurements()["ballots"]
    n = setting if is_shown else "1"
    votes, kinds, truth = stored["votes"][n], stored["kinds"][n], stored["truth"]
    counts = [votes.count(str(label)) for label in range(len(_CLASS_WORDS))]
    winner = max(range(len(counts)), key=counts.__getitem__)
    is_tie = counts.count(counts[winner]) > 1
    verdict = "tie" if is_tie else "right" if winner == truth else "wrong"
    trees = "1 tree votes" if n == "1" else f"{n} trees vote"
    end = f"{trees}: {_CLASS_WORDS[winner]}, {verdict}"
    data = {
        "kind": "votes",
        "seconds": min(2 + 0.12 * len(votes), SECONDS),
        "votes": votes,
        "kinds": kinds,
        "classes": list(_CLASS_WORDS),
        "truth": truth,
        "end": end,
        "legend": ["outline: a lie", "pale: an empty leaf"] if is_shown else [],
    }
    listed = ", ".join(f"{name} {count}" for name, count in zip(_CLASS_WORDS, counts, strict=True))
    lies = f"{kinds.count('l')} vote with a lie, {kinds.count('e')} from an empty leaf."
    return Scene(data, f"Votes on one application whose true class is {_CLASS_WORDS[truth]}: {listed}. {end}. {lies}")


def _budget(setting: str, is_shown: bool) -> Scene:
    """Return the scene of 100 trees. In plan A each tree costs Ann ε = 0.01, in plan B only tree 37 costs her 1."""
    plans = lesson_facts.measurements()["plans"]
    draws_a, draws_b = "1" * HUNDRED, "0" * 36 + "1" + "0" * 63
    trees = {"isPiled": False, "isTrees": True, "digits": 2}
    plan_a = _panel(
        "A: Ann in every tree", draws_a, "ε = #", each=0.01, last=f"ε = {plans['shared']['spent']}", **trees
    )
    plan_b = _panel(
        "B: Ann in one tree",
        draws_b if is_shown else "",
        "ε = #" if is_shown else "ε = ?",
        each=1,
        last=f"ε = {plans['independent']['spent']}" if is_shown else "ε = ?",
        **trees,
    )
    end = "What Ann’s row pays" if not is_shown else "Both plans cost Ann’s row ε = 1"
    alt = "A hundred trees. Plan A: all of them use Ann’s row, at 0.01 each, so ε = 1."
    hidden = " Plan B: what one tree costs her is hidden."
    alt += " Plan B: only tree 37 uses her row, at ε = 1, so ε = 1." if is_shown else hidden
    return _panels(alt, "One tree after the other asks", end, plan_a, plan_b)


def _depth(setting: str, is_shown: bool) -> Scene:
    measured, stored = lesson_facts.measurements()["depth"], lesson_facts.measurements()["one_tree"]
    levels = []
    for place, level in enumerate(stored["levels"] if is_shown else stored["levels"][:4]):
        empty, right = measured["empty"][place], measured["accuracy"][setting][place]
        words = f"{percent(empty, 0)} · {percent(right)}" if is_shown else percent(empty, 0)
        filled = [[int(number) for number in leaf.split(":")] for leaf in level["filled"].split()]
        lies = level["lies"][setting] if is_shown else ""
        levels.append(
            {"depth": level["depth"], "n_leaves": level["leaves"], "filled": filled, "lies": lies, "words": words}
        )
    end = f"ε = {setting}: blue true, gray lie, hollow empty" if is_shown else "Deeper trees have fewer rows in a leaf"
    heads = ["depth", "empty · right" if is_shown else "empty"]
    data = {
        "kind": "levels",
        "rows": stored["rows"],
        "levels": levels,
        "hasResults": is_shown,
        "heads": heads,
        "end": end,
    }
    listed = ", ".join(f"depth {level['depth']}: {level['words']}" for level in levels)
    return Scene(
        data, f"One tree, {stored['rows']} rows. By depth, leaves that are empty{_accuracy_text(is_shown)}: {listed}."
    )


def _accuracy_text(is_shown: bool) -> str:
    return " and how often the vote of 100 trees is right" if is_shown else ""


def _proof(setting: str, is_shown: bool, n_redraws: int) -> Scene:
    n = int(setting.replace(",", ""))
    chance_b = lesson_facts.chances(lesson_facts.PAPER)[1]
    allowed = f"{math.e * 100 * chance_b:.1f}"
    counted, first = lesson_facts.count(n, n_redraws).paper, lesson_facts.first_releases(n, n_redraws)
    total = [f"{hits:,} of {setting}" if n > HUNDRED else f"{hits} of 100" for hits in counted]
    table_a = _panel(
        "Table A: 1 row",
        _digits(first[0]) if is_shown else "",
        "class 2: #" if is_shown else "class 2: ?",
        line=math.e * 100 * chance_b if is_shown else None,
        last=total[0] if is_shown else "class 2: ?",
    )
    table_b = _panel("Table B: 2 rows", _digits(first[1]), "class 2: #", line=None, last=total[1])
    promised = f"Allowed with A: {allowed} of 100 (line)"
    end = promised if is_shown else "How many may come with A?"
    alt = f"Releases of class 2, table B: {total[1]}."
    alt += f" Table A: {total[0]}, where {allowed} of 100 are allowed." if is_shown else " Table A is hidden."
    return _panels(alt, f"The first 100 of {setting} releases", end, table_a, table_b)


def _choose(setting: str, is_shown: bool) -> Scene:
    measured, epsilon = lesson_facts.measurements()["choose"], float(setting)
    i = [f"{e:g}" for e in measured["epsilon"]].index(setting)
    limit = lesson_facts.most_right(epsilon, VALUE)
    panels, words = [], []
    for who in ("school", "hospital", "bank"):
        clean, wrong = measured[who]["without_noise"], measured[who]["wrong"][i] if is_shown else None
        share = clean if wrong is None else wrong
        draws = np.zeros(HUNDRED, bool)
        draws[: round(100 * share)] = True
        more = "" if wrong is None else f"{1000 * (wrong - clean):+.0f}".replace("-", "−")
        panels.append(
            _panel(
                who,
                _digits(np.random.default_rng(len(who)).permutation(draws)),
                "",
                line=100 * clean if is_shown else None,
                last=f"{1000 * share:.0f}" + (f" ({more})" if more else ""),
            )
        )
        words.append(f"{who} {1000 * share:.0f}")
    if is_shown:
        right = np.random.default_rng(0).random(HUNDRED) < limit
        attacker = _panel("attacker", _digits(right), "", line=100 * limit, last=f"≤ {percent_up(limit)}")
        panels.append(attacker)
    listed = ", ".join(words)
    end = f"Wrong of 1,000 at ε = {setting} (line: no noise)" if is_shown else "Wrong of 1,000 without noise"
    alt = f"{end}: {listed}."
    alt += f" An attacker is right about an answer in at most {percent_up(limit)} of guesses." if is_shown else ""
    return _panels(alt, "Each cell stands for 10 predictions", end, *panels)


_SCENES: Final[dict[str, Callable[[str, bool], Scene]]] = {
    "class": _class,
    "leaf": _leaf,
    "promise": _promise,
    "votes": _votes,
    "budget": _budget,
    "depth": _depth,
    "rebuild": _rebuild,
    "choose": _choose,
}
