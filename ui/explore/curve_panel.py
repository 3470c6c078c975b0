"""The chart of accuracy against ε, and sentences about the chart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpforest import plotting
from dpforest.evaluation.headroom import Headroom, overwide_features
from dpforest.plotting.curve import mark_epsilons, spread_over
from dpforest.plotting.style import percent
from dpforest.privacy.ledger import Ledger, unit_noun
from dpforest.privacy.loss import PURE, PrivacyLoss, mu_for
from dpforest.privacy.rationals import positive_fraction
from dpforest.tables.features import plural
from ui import state
from ui.explore.delta_gain import DeltaGain
from ui.explore.headline import is_skewed
from ui.explore.other_forests import OtherForests
from ui.explore.stories import class_words
from ui.forest.forests import FORESTS, ForestSettings
from ui.jobs.baselines import Baselines, best_model, floor_of
from ui.jobs.results import SweepResult, ceiling_of, headroom_of
from ui.shared.controls import LINKED, drop_unknown
from ui.shared.downloads import as_csv
from ui.shared.epsilon import OTHERS
from ui.shared.headroom_words import learns_nothing, what_helps, what_privacy_costs
from ui.shared.loss_words import at_delta
from ui.shared.page import badge, chart, titled
from ui.shared.sidebar import Choice
from ui.shared.tables import Table, read_by, split
from ui.shared.wording import epsilon_text, plain, sum_text

_TITLE = "Accuracy against ε"
MEASURES = {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy"}


class Panel:
    """The chart of accuracy against ε, with sentences about it.

    `refine` updates the chart and the text in place.

    Parameters
    ----------
    delta : float
        The δ at which costs are stated as ε.

    Attributes
    ----------
    measure : str
        Measure that the chart shows, as a column of a sweep's results.
    progress : container of Streamlit
        Place for progress bars.
    """

    def __init__(
        self,
        choice: Choice,
        result: SweepResult,
        ledger: Ledger,
        baselines: Baselines,
        delta: float = 0.0,
    ) -> None:
        self._choice, self._ledger, self._baselines, self._delta = choice, ledger, baselines, delta
        self._result, self._other_forests = result, OtherForests(choice)
        self._warning = st.empty()
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            with st.container(width="content"):
                titled(
                    _TITLE,
                    "Do not share",
                    help="Measured on held-out records. The band is one standard deviation to either side, over "
                    "simulated releases. About two in three fall inside.",
                )
            measure_name = "accuracy"
            if is_skewed(baselines):
                drop_unknown(state.MEASURE, MEASURES)
                measure_name = st.segmented_control(
                    "Measure",
                    list(MEASURES),
                    default="accuracy",
                    required=True,
                    key=state.MEASURE,
                    bind=LINKED,
                    label_visibility="collapsed",
                )
        self._name = measure_name if measure_name in MEASURES else "accuracy"
        self.measure = MEASURES[self._name]
        self._drawn, self._redrawn = self._figure(result), 0
        with st.expander("Chart of the curve, of your kind of forest without noise, and of the ε of known releases"):
            self._place = st.empty()
            chart(self._drawn, self._alt(result), self._place, title=_TITLE, key="curve_0")
        with st.container(
            horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="below_curve"
        ):
            self._insight = st.empty()
            self.progress = st.container(width=300)
            st.download_button(
                "Curve as CSV",
                lambda: as_csv(table(self._result, baselines, choice.settings)),
                "DO_NOT_SHARE_curve.csv",
                "text/csv",
                on_click="ignore",
                type="tertiary",
            )
        self._gain = DeltaGain(choice)
        with st.expander("What stands behind these figures"):
            settings = choice.settings
            claim = "" if settings.certified else " claimed"
            badge("Simulated", f" at ε = {settings.epsilon:g}{at_delta(settings.delta)}{claim}, {settings.neighbors}")
            self._price = st.empty()
        self._write_text(result)

    def refine(self, result: SweepResult) -> None:
        """Redraw the chart, the text and the download from a result with more simulated releases."""
        self._result = result
        figure = self._figure(result)
        if figure.data != self._drawn.data:
            # Streamlit refuses the same chart twice in one run. A refined chart may equal an earlier one, so each
            # drawing has a new key.
            self._redrawn += 1
            chart(figure, self._alt(result), self._place, title=_TITLE, key=f"curve_{self._redrawn}")
            self._drawn = figure
        self._write_text(result)

    def _write_text(self, result: SweepResult) -> None:
        """Describe the chart in words. A notice comes first if the forest does not clearly beat guessing."""
        headroom = self._headroom(self.measure)
        if headroom.has_none:
            self._warning.info(self._message_without_headroom(headroom), icon=":material/info:")
            why = (
                "too few rows are held out"
                if headroom.is_undecided
                else "without privacy it is no better than guessing"
            )
            self._insight.caption(f"This curve does not show what privacy costs: {why}.", width="content")
        else:
            self._warning.empty()
            what = "privacy" if self._choice.settings.certified else "its noise"
            means = result.private(self.measure).mean(axis=0)
            self._insight.caption(
                what_privacy_costs(result.epsilons, means, headroom, self._best_name, what), width="content"
            )
        self._price.caption(price(len(result.private("accuracy")), result.epsilons, self._ledger, self._delta))

    def _message_without_headroom(self, headroom: Headroom) -> str:
        """Explain why this forest learns nothing from this table, and what may help."""
        table, settings = self._choice.table, self._choice.settings
        guess = "always saying “" + plain(class_words(table)[int(self._baselines.floor["class"])], 20) + "”"
        if self.measure == "balanced_accuracy":
            guess = "always naming one class"
        held_out, noun = len(self._baselines.labels), unit_noun(table.unit)
        sentences = learns_nothing(headroom, guess, self._name, held_out, certified=settings.certified, noun=noun)
        if self.measure == "accuracy" and is_skewed(self._baselines):
            other = self._headroom("balanced_accuracy")
            if not other.has_none:
                sentences += " It does learn something about the rarer classes: choose “balanced accuracy” below, "
                sentences += "which counts every class alike."
        reading = read_by(table, settings)
        wide = overwide_features(reading.domain, split(reading).X_train)
        helps = what_helps(headroom, self._best_name, greedy=FORESTS[settings.kind].chooses_questions, wide=wide)
        return f"{_first_look(table)}{sentences} {helps}{self._other_forests.sentence(self.measure, headroom)}"

    def step(self) -> bool:
        """Do one step of background work: measure the effect of δ, or simulate a part of another forest.

        Return False if no work is left. Other forests are simulated only if this forest learns nothing.
        """
        return self._gain.step() or (self._headroom(self.measure).has_none and self._other_forests.step())

    @property
    def _best_name(self) -> str | None:
        model = best_model([self._baselines], self.measure)
        return model and model[0]

    def _headroom(self, measure: str) -> Headroom:
        (headroom,) = headroom_of(self._result, [self._baselines], measure).values()
        return headroom

    @property
    def _floor(self) -> float:
        value = floor_of([self._baselines], self.measure)
        assert value is not None  # guessing has a value for each measure of `MEASURES`
        return value

    def _figure(self, result: SweepResult) -> go.Figure:
        settings, classes = self._choice.settings, class_words(self._choice.table)
        figure = plotting.accuracy_curve(
            result.epsilons,
            result.private(self.measure),
            result.without_noise(self.measure),
            self._floor,
            settings.epsilon,
            floor_label=classes[int(self._baselines.floor["class"])],
            best=best_model([self._baselines], self.measure),
            certified=settings.certified,
        )
        mark_epsilons(figure, OTHERS)
        return figure

    def _alt(self, result: SweepResult) -> str:
        mean, exact = result.private(self.measure).mean(axis=0), result.without_noise(self.measure).mean()
        ceiling, epsilons = ceiling_of(result, [self._baselines], self.measure), result.epsilons
        ceiling_words = f", the best without privacy {percent(ceiling.value)}" if ceiling else ""
        return (
            f"{self._name.capitalize()} goes from {percent(mean[0])} at ε = {epsilons[0]:g} to {percent(mean[-1])} at "
            f"ε = {epsilons[-1]:g}; the floor is {percent(self._floor)}, its kind without noise "
            f"{percent(float(exact))}{ceiling_words}."
        )


def _first_look(table: Table) -> str:
    """Return a sentence if the user must still confirm parts of an upload; else an empty text."""
    if not table.uploaded or not table.domain.leaks():
        return ""
    return "**This is a first look**, because cards under *Data* are open and columns may be misread. "


def price(repeats: int, epsilons: np.ndarray, ledger: Ledger, delta: float = 0.0) -> str:
    """Describe what releasing all simulated forests of a curve would cost.

    Parameters
    ----------
    repeats : int
        Number of simulated releases at each ε.
    delta : float
        The δ at which each ε of the curve and each sum is stated. It is above 0 if the noise is Gaussian.
    """
    n_epsilons = len(epsilons)
    budget = ledger.budget
    if budget is None:
        return (
            "These are simulated; nothing is released. As published, the "
            f"{plural(repeats * n_epsilons, 'forest')} behind the curve do not have the ε they claim, so no sum says "
            "what releasing them would cost."
        )
    # A release may cost less than its budget, but it costs the same share of its budget at each ε.
    each = ledger.loss * repeats
    budgets = PrivacyLoss.total((_budget_at(e, ledger.kind, delta) for e in epsilons), ledger.kind)
    all_of_them = PrivacyLoss(ledger.kind, each.amount / budget.amount * budgets.amount)
    at, mu_note = at_delta(delta), "" if ledger.kind == PURE else " What Gaussian noise costs adds up in μ², not in ε."
    forests = "one forest" if repeats == 1 else f"{repeats} forests"
    return (
        f"These are simulated; nothing is released. Releasing {forests} at "
        f"ε = {epsilon_text(budget.epsilon(delta))} would cost ε = "
        f"{sum_text(each.epsilon(delta))}{at}, and all {repeats * n_epsilons} of the curve would cost ε = "
        f"{sum_text(all_of_them.epsilon(delta))}{at} ({ledger.neighbors}). The lines without noise have no "
        f"privacy at any ε: never publish them.{mu_note}"
    )


def _budget_at(epsilon: float, kind: str, delta: float) -> PrivacyLoss:
    """Return the budget of a release at one ε of the curve."""
    return PrivacyLoss.pure(positive_fraction(epsilon)) if kind == PURE else mu_for(positive_fraction(epsilon), delta)


def table(result: SweepResult, baselines: Baselines, settings: ForestSettings) -> pd.DataFrame:
    """Return the figures of the curve, with a row for each ε. Only the curator may see them."""
    accuracy, balanced = result.private("accuracy"), result.private("balanced_accuracy")
    return pd.DataFrame(
        {
            "forest": settings.name,
            "neighbors": settings.neighbors,
            "epsilon": result.epsilons,
            "delta": settings.delta,
            "accuracy": accuracy.mean(axis=0),
            "accuracy_sd_over_releases": spread_over(accuracy),
            "balanced_accuracy": balanced.mean(axis=0),
            "balanced_accuracy_sd_over_releases": spread_over(balanced),
            "rows_in_flipped_leaves": result.private("flips").mean(axis=0),
            "same_forest_without_noise": result.without_noise("accuracy").mean(),
            "floor": baselines.floor["accuracy"],
            "simulated_releases": len(accuracy),
        }
    )
