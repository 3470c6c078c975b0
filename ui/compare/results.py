"""Sweeps of several forests as far as they are done: what stands behind a point, what is at stake, what comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dpforest.evaluation.stakes import Stakes, stakes
from dpforest.evaluation.sweep import summary
from dpforest.plotting.compare import Scale
from ui.compare.controls import MEASURES, Comparison
from ui.shared import without_privacy
from ui.shared.sweep import Cells
from ui.shared.without_privacy import Level
from ui.shared.wording import plural

QUANTILES = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class Done:
    """A sweep as far as it is: all pieces, and what is said of them for each cell."""

    pieces: pd.DataFrame
    cells: pd.DataFrame  # of `tradeoff.summary`
    n: int
    folds: int

    @property
    def behind(self) -> str:
        """How many repeats and splits stand behind each point."""
        releases = plural(-(-self.n // self.folds), "simulated release")
        if self.folds == 1:
            return f"{releases} on one split"
        if self.n < self.folds:
            return f"one simulated release on each of {plural(self.n, 'split')}"
        rest = f", the last on {self.n % self.folds} only" if self.n % self.folds else ""
        return f"{releases} on each of {self.folds} splits{rest}"


def gathered(lines: Sequence[Cells], n: int, folds: int) -> Done:
    """The first n pieces of every line."""
    frames = []
    for line in lines:
        frame = line.frame(n)
        if not line.line.depths:  # trees without a limit grow to another depth each time
            frame["depth"] = round(frame["depth"].mean())
        frames.append(frame)
    pieces = pd.concat(frames, ignore_index=True)
    return Done(pieces, summary(pieces, QUANTILES), n, folds)


# ---------------------------------------------------------------- what is at stake


def ceiling_of_sweep(done: Done, levels: list[Level], measure: str) -> tuple[str, float] | None:
    """Name and figure of the best model without privacy, the forests' own twins among them; None while some are fitted.

    Parameters
    ----------
    measure : str
        As the engine names it.
    """
    others = without_privacy.best(levels, measure)
    if others is None:
        return None
    twins = done.cells[measure]["mean"].reset_index()
    twins = twins[np.isinf(twins["epsilon"])].dropna(subset=["mean"])
    own = [(f"{name} without noise", float(m)) for name, m in zip(twins["forest"], twins["mean"], strict=True)]
    return max((f"{others[0]}, no privacy", others[1]), *own, key=lambda item: item[1])


def stakes_of_sweep(done: Done, levels: list[Level], measure: str) -> dict[str, Stakes]:
    """What each forest has to lose by a measure; where guessing has no figure (F1), by balanced accuracy."""
    floor = without_privacy.floor(levels, measure)
    if floor is None:
        return stakes_of_sweep(done, levels, "balanced_accuracy")
    n, best = without_privacy.rows(levels, measure), without_privacy.best(levels, measure)
    found = {}
    for name, own in done.pieces.groupby("forest"):
        by_repeat = own.pivot_table(index="repeat", columns="epsilon", values=measure, dropna=False)
        private = by_repeat.loc[:, np.isfinite(by_repeat.columns)].to_numpy(float)
        found[str(name)] = stakes(private, by_repeat[np.inf].to_numpy(float), floor, n, best=best and best[1])
    return found


# ---------------------------------------------------------------- in words


def insight(view: Comparison, done: Done, scale: Scale, at_stake: dict[str, Stakes]) -> str:
    """Which certified forest is best at the present ε, which ones cannot be told from it, and which only guess."""
    cells = done.cells[MEASURES[view.measure]].reset_index()
    here = cells[(cells["epsilon"] == view.epsilon) & cells["forest"].isin(view.kinds)].sort_values("mean")
    here = here.dropna(subset=["mean"])
    best, rest = here.iloc[-1], here.iloc[:-1]
    idle = [name for name in here["forest"] if at_stake[name].nothing_to_lose]
    if len(idle) == len(here):
        return _nothing(view, scale, any(at_stake[name].learnable for name in idle))
    text = _first(view, scale, best, rest, at_stake[best["forest"]])
    if scale.floor is not None and (under := list(rest[rest["mean"] < scale.floor]["forest"])):
        text += f". Below the floor, so of no use at this ε: {_listed(under)}"
    if idle:
        text += f". No better than guessing by {view.measure}, at any ε and without noise too: {_listed(idle)}"
    return text + "."


def _nothing(view: Comparison, scale: Scale, learnable: bool) -> str:
    """Where no forest is better than guessing, their order and the price of privacy mean nothing."""
    guessing = "guessing" if scale.floor is None else f"guessing ({scale.text(scale.floor)})"
    who, one = ("None of these forests", "one") if len(view.kinds) > 1 else ("This forest does not", "it")
    said = (
        f"**{who} {'predicts' if one == 'one' else 'predict'} better than guessing here**: by {view.measure}, at no ε, "
        f"and not without noise either, is {one} above {guessing} by more than luck on the rows held out. So privacy "
        "takes nothing away, and a release would pay ε for predictions that guessing has for free."
    )
    if learnable:
        said += (
            f" There is something to learn ({scale.ceiling_text}): try other depths (tabs below), other forests, or "
            "narrower public bounds, where narrower ones are known without looking."
        )
    elif scale.ceiling is not None:
        said += f" Without any privacy it is not better either ({scale.ceiling_text})."
    return said


def _first(view: Comparison, scale: Scale, best: pd.Series, rest: pd.DataFrame, at: Stakes) -> str:
    """The best at this ε and its equals."""
    if scale.floor is not None and best["mean"] <= scale.floor + at.noise:
        return (
            f"At ε = {view.epsilon:g} no forest is better than guessing ({scale.text(scale.floor)}) by more than luck; "
            f"**{best['forest']}** comes first with {scale.text(best['mean'])}"
        )
    near = list(rest[rest["high"] >= best["low"]]["forest"])[::-1]
    text = f"At ε = {view.epsilon:g} **{best['forest']}** comes first: {scale.text(best['mean'])}"
    if scale.ceiling is not None and best["mean"] <= scale.ceiling:
        text += f", {scale.gap(scale.ceiling - best['mean'])} below the ceiling"
    if near:
        text += f". Its spread overlaps with that of {_listed(near)}, so another release may turn the order around"
    return text


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
