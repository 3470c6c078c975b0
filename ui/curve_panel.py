"""The chart of accuracy against ε, and what to read from it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dpforest import plotting
from dpforest.plotting.curve import series, spread_over
from dpforest.plotting.style import percent
from dpforest.privacy.ledger import Ledger
from dpforest.privacy.rationals import positive_fraction
from dpforest.simulation import Curve
from ui import simulate
from ui.controls import LINKED
from ui.headline import is_skewed
from ui.page import chart, titled
from ui.sidebar import Choice
from ui.wording import epsilon_text, plural, sum_text

MEASURES = {"accuracy": "accuracy", "balanced accuracy": "balanced"}


class Panel:
    """Drawn once, then refined in place."""

    def __init__(self, choice: Choice, curve: Curve, ledger: Ledger) -> None:
        self._choice, self._ledger = choice, ledger
        self._curve = curve
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            with st.container(width="content"):
                titled(
                    "Accuracy against ε",
                    "Curator only",
                    help="Measured on records held out. The band is one standard deviation to either side, over "
                    "simulated releases: two in three fall inside.",
                )
            shown = "accuracy"
            if is_skewed(curve):
                shown = st.segmented_control(
                    "Measure", list(MEASURES), default="accuracy", required=True, key="measure", bind=LINKED,
                    label_visibility="collapsed",
                )  # fmt: skip
        self._measure = MEASURES.get(shown, "accuracy")
        self._drawn = self._figure(curve)
        self._chart = chart(self._drawn, self._alt(curve))
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_curve"
        ):
            self._insight = st.caption(
                insight(curve, self._measure, "privacy" if self._choice.settings.certified else "its noise"),
                width="content",
            )
            self.progress = st.container(width=300)
            st.download_button(
                "Curve as CSV", lambda: table(self._curve).to_csv(index=False), "CURATOR_ONLY_curve.csv", "text/csv",
                on_click="ignore", type="tertiary",
            )  # fmt: skip

        self._price = st.caption(price(curve, ledger))
        if st.toggle(
            "Beside other trees without privacy", key="others", persist_state="session",
            help="CART and Breiman's random forest from scikit-learn, on the same records: what there is to be had "
            "when nobody has to be protected.",
        ):  # fmt: skip
            self._others()

    def _others(self) -> None:
        """Scikit-learn's trees in a sentence."""
        place = 1 if self._measure == "balanced" else 0
        found = simulate.references(self._choice.table)
        said = ", ".join(f"{name} **{percent(figures[place])}**" for name, figures in found.items())
        st.markdown(f"Without privacy: {said} ({'balanced accuracy' if place else 'accuracy'}, records held out).")

    def refine(self, curve: Curve) -> None:
        """The same chart, surer; the download follows."""
        self._curve = curve
        figure = self._figure(curve)
        if figure.data != self._drawn.data:  # Streamlit wants no chart twice on a page
            chart(figure, self._alt(curve), self._chart)
            self._drawn = figure
        self._insight.caption(
            insight(curve, self._measure, "privacy" if self._choice.settings.certified else "its noise"),
            width="content",
        )
        self._price.caption(price(curve, self._ledger))

    def _figure(self, curve: Curve):
        settings, classes = self._choice.settings, self._choice.table.domain.classes
        return plotting.accuracy_curve(
            curve, settings.epsilon, floor_label=classes[curve.floor_class], measure=self._measure,
            certified=settings.certified,
        )  # fmt: skip

    def _alt(self, curve: Curve) -> str:
        values, ceiling, floor = series(curve, self._measure)
        mean = values.mean(axis=0)
        return (
            f"Accuracy goes from {percent(mean[0])} at ε = {curve.epsilons[0]:g} to {percent(mean[-1])} at ε = "
            f"{curve.epsilons[-1]:g}; the floor is {percent(floor)}, the ceiling {percent(float(ceiling.mean()))}."
        )


def insight(curve: Curve, measure: str, what: str) -> str:
    """The one thing to take away: from which ε on privacy costs less than a point."""
    values, ceiling, floor = series(curve, measure)
    mean, best = values.mean(axis=0), float(ceiling.mean())
    if mean.max() > best + 0.01 and np.isclose(mean[-1], mean.max(), atol=0.01):
        return (
            f"From ε = {curve.epsilons[np.flatnonzero(mean > best)[0]]:g} on it does better than without noise, which "
            "happens where the best question comes again and again: noise makes the trees differ."
        )
    near = np.flatnonzero(np.minimum.accumulate((mean >= best - 0.01)[::-1])[::-1])
    if len(near):
        return f"From ε = {curve.epsilons[near[0]]:g} on, {what} costs less than one point of accuracy here."
    worse = ", and below the floor: always naming one class does better" if mean[-1] < floor else ""
    last, missing = f"ε = {curve.epsilons[-1]:g}", 100 * (best - mean[-1])
    return f"Even at {last} it stays {missing:.1f} points below the ceiling{worse}."


def price(curve: Curve, ledger: Ledger) -> str:
    """What the simulated forests behind a curve would cost if they were released: exactly as many as were drawn."""
    repeats, points = curve.accuracy.shape
    if ledger.epsilon is None:
        return (
            f"Nothing of this is released. As published, the {plural(repeats * points, 'forest')} behind the curve do "
            "not have the ε they claim, so no sum says what releasing them would cost."
        )
    # A release may cost less than its ε: always the same part of it.
    each = repeats * ledger.spent
    all_of_them = each / ledger.epsilon * sum(positive_fraction(e) for e in curve.epsilons)
    here = "one forest" if repeats == 1 else f"{repeats} forests"
    return (
        f"Nothing of this is released. If it were: {here} at ε = {epsilon_text(ledger.epsilon)} cost ε = "
        f"{sum_text(each)}, all {repeats * points} of the curve ε = {sum_text(all_of_them)} ({ledger.neighbours}); "
        "no ε covers the ceiling."
    )


def table(curve: Curve) -> pd.DataFrame:
    """One row for each ε. Curator only."""
    return pd.DataFrame(
        {
            "epsilon": curve.epsilons,
            "accuracy": curve.accuracy.mean(axis=0),
            "accuracy_sd_over_releases": spread_over(curve.accuracy),
            "balanced_accuracy": curve.balanced.mean(axis=0),
            "balanced_accuracy_sd_over_releases": spread_over(curve.balanced),
            "rows_in_flipped_leaves": curve.flips.mean(axis=0),
            "ceiling": curve.ceiling.mean(),
            "floor": curve.floor,
            "simulated_releases": len(curve.accuracy),
        }
    )
