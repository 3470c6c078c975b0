"""A table on which forests learn nothing: no page may say that privacy costs little on this table."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.compare import MeasureScale
from dpforest.simulation.metrics import METRICS
from tests.ui.app_words import words
from ui.choose import answer_words, report, wish_controls
from ui.compare.comparison_controls import Comparison
from ui.compare.insight import insight
from ui.jobs.results import SweepResult
from ui.shared.headroom_words import what_helps, what_privacy_costs

EPSILONS = np.array([0.01, 0.1, 1.0, 10.0])
CHEAP = ("costs this forest less than", "takes less than a quarter", "Smallest ε for", "price of privacy is")


def heavy_tails() -> bytes:
    """Return a table in which the last digits of the income decide the label, and the public range is far too wide.

    So no tree with a few splits can learn the label.
    """
    rng = np.random.default_rng(0)
    digits, debt = rng.integers(0, 40, 900), rng.lognormal(5, 1, 900)
    repaid = np.where(np.isin(digits % 7, (2, 5)), "no", "yes")
    rows = [f"{2_000 + a};{20_000 + b:.2f};{c}" for a, b, c in zip(digits, debt, repaid, strict=True)]
    return "\n".join(["income;debt;repaid", "40000;300000;yes", "0;0;yes", *rows, ""]).encode()


@pytest.fixture
def opened(monkeypatch):
    """Return a function that opens a page with the table as an upload."""
    from ui.explore import instrument
    from ui.jobs import first_release

    monkeypatch.setattr(first_release, "LAST", 2)
    monkeypatch.setattr(instrument, "MOST_LEAVES", 0)
    monkeypatch.setattr(wish_controls, "kinds", lambda: ["RF-E", "one greedy tree"])

    def open_page(page: str = "", data: bytes | None = None, **query) -> AppTest:
        app = AppTest.from_file("../../app.py", default_timeout=600)
        if page:
            app.switch_page(f"pages/{page}.py")
        app.query_params.update({"data": "upload a CSV", **query})
        app.run()
        app.file_uploader[0].upload("heavy.csv", data or heavy_tails()).run()
        assert not app.exception
        return app

    return open_page


@pytest.mark.refined
@pytest.mark.parametrize("kind", ["majority labels", "noisy counts", "one greedy tree"])
def test_explore_reports_a_forest_that_learns_nothing_and_names_others(opened, kind):
    page = opened(forest=kind)
    text = words(page)
    assert "**This forest learns nothing here that makes it more often right.**" in text
    assert "At no ε is it better than always saying “yes” (71.2 %)" in text
    assert "random forest, without privacy, gets 100.0 %" in text or "CART, without privacy, gets 100.0 %" in text
    assert "“income” in" in text and "narrower public bounds" in text
    assert "no better than guessing" in text and "best of those tried: " in text
    assert "None of the other forests is better than guessing at ε = 1 either." in text
    assert not any(cheap in text for cheap in CHEAP)


@pytest.mark.refined
@pytest.mark.slow
def test_explore_names_the_forests_that_would_learn(opened):
    """Two of 60 columns decide the label, so trees with random splits mostly test other columns."""
    answers = np.random.default_rng(0).integers(0, 2, (900, 60))
    rows = [";".join("ab"[v] for v in row) + f";{'no' if row[0] and row[1] else 'yes'}" for row in answers]
    table = "\n".join([";".join(f"q{i}" for i in range(60)) + ";repaid", *rows, ""]).encode()
    text = words(opened(data=table, forest="RF-E", eps="10"))
    assert "**This forest learns nothing here" in text
    named = text[text.index("**These do learn something at ε = 10**") :].split("\n")[0]
    assert "“one greedy tree” 100.0 %" in named and "“boosted”" in named and "RF" not in named


def test_explore_names_the_price_where_there_is_one(opened):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, 900)
    table = "\n".join(["size;big", *(f"{v};{'yes' if v > 1 else 'no'}" for v in x), ""]).encode()
    text = words(opened(data=table, forest="one greedy tree"))
    assert (
        "learns nothing" not in text and "privacy costs this forest less than one point compared with a forest" in text
    )


@pytest.mark.slow
def test_compare_names_no_price_and_no_winner(opened):
    kinds = ["RF-E", "one greedy tree"]
    page = opened("1_Compare", forests=kinds, releases_each="2")
    text = words(page)
    assert "**No forest here exceeds guessing" in text and "comes first" not in text
    assert "There is something to learn" in text and "100.0 %" in text
    shown = page.dataframe[0].value
    assert set(shown["best above guessing"]) == {"no more than luck"}
    assert shown["price of privacy"].isna().all() and shown["next to no price from ε"].isna().all()
    page = opened("1_Compare", forests=kinds, releases_each="2", compare_tab="ε × depth", mapped="RF-E")
    text = words(page)
    assert "**it predicts no better than guessing**" in text and "So privacy costs nothing here" in text
    assert not any(cheap in text for cheap in CHEAP)


@pytest.mark.parametrize("need", [None, 71.0, 85.0])
def test_choose_gives_no_smallest_epsilon(opened, need):
    page = opened("2_Choose_epsilon")
    if need is not None:
        page.slider(key="need").set_value(need).run()
    text = words(page)
    assert "**No forest here is better than guessing.**" in text
    assert not any(cheap in text for cheap in CHEAP)
    assert ("needs no forest and no ε" in text) == (need != 85.0)
    assert page.select_slider(key="look_eps").value == 1.0


def test_what_guessing_reaches_needs_no_epsilon(opened):
    at = {"a": Headroom(0.7, 0.9, 0.9, 0.95, 0.01)}
    scale = MeasureScale("accuracy", True, 0.7, None)
    assert answer_words.no_need(0.7, scale, at) == (
        "**70.0 % needs no forest and no ε.** Always naming the most frequent class gets 70.0 % without any rows. Ask "
        "for more."
    )
    assert answer_words.no_need(0.71, scale, at) == ""


def test_the_report_states_a_lack_of_headroom_first(opened, monkeypatch):
    made = []
    monkeypatch.setattr(
        report.ReportButton, "draw", lambda self, is_early: made.append(self._make(self._table, self._column))
    )
    page = opened("2_Choose_epsilon", choose_tab="Report")
    page.slider(key="need").set_value(71.0).run()
    cost = made[-1][made[-1].index("What it costs") :]
    assert cost.index("This forest predicts no better than guessing.") < cost.index("Needed: an accuracy")
    assert "No ε is needed for that" in cost and "smallest ε" not in cost


def test_a_forest_that_learns_nothing_is_named_among_others_that_learn():
    rows = [
        {
            "forest": name,
            "epsilon": e,
            "depth": 1,
            "trees": 1,
            "repeat": r,
            "fold": 0,
            **dict.fromkeys(METRICS, m),
            "flips": 0.0,
            "empty": 0.0,
        }
        for name, m in (("a", 0.8), ("b", 0.7))
        for e in (1.0, np.inf)
        for r in range(2)
    ]
    done = SweepResult(rows, 2, 1)
    view = Comparison(("a", "b"), False, "add-remove", 1.0, 2, 1, "accuracy", True)
    at = {"a": Headroom(0.7, 0.8, 0.8, None, 0.01), "b": Headroom(0.7, 0.7, 0.7, None, 0.01)}
    text = insight(view, done, MeasureScale("accuracy", True, 0.7, None), at)
    assert text == (
        "At ε = 1, **a** comes first: 80.0 %. No better than guessing by accuracy, at any ε and without noise too: b."
    )


@pytest.mark.parametrize(
    "means, without_noise, sentence",
    [
        (
            [0.6, 0.79, 0.8, 0.8],
            0.8,
            "From ε = 0.1 on, privacy costs this forest less than one point compared with a "
            "forest of its kind without noise (80.0 %).",
        ),
        (
            [0.6, 0.71, 0.718, 0.72],
            0.72,
            "From ε = 1 on, privacy takes less than a quarter of what a forest of its kind "
            "learns without noise (2.0 points above guessing).",
        ),
        (
            [0.6, 0.6, 0.65, 0.7],
            0.8,
            "Even at ε = 10 guessing does as well as this forest; a forest of its kind without noise reaches 80.0 %.",
        ),
        (
            [0.6, 0.7, 0.75, 0.77],
            0.8,
            "Even at ε = 10, this forest stays 3.0 points below a forest of its kind without noise.",
        ),
        (
            [0.6, 0.76, 0.74, 0.72],
            0.8,
            "This forest is most accurate at ε = 0.1, 4.0 points below a forest of its kind without noise. At "
            "ε = 10 it is 8.0 points below that forest: perhaps this depth and number of trees suit a smaller ε "
            "better.",
        ),
        ([0.6, 0.76, 0.7, 0.69], 0.8, "This forest is most accurate at ε = 0.1, 4.0 points"),
        (
            [0.6, 0.8, 0.74, 0.72],
            0.8,
            "This forest is most accurate at ε = 0.1, as accurate as a forest of its kind without noise. At",
        ),
        ([0.6, 0.75, 0.8, 0.8], 0.75, "From ε = 1 on this forest does better with noise than without."),
        ([0.6, 0.7, 0.712, 0.705], 0.705, "hardly better than guessing, so what privacy costs is unknown"),
    ],
)
def test_sentences_on_cost(means, without_noise, sentence):
    """Each sentence names what the accuracy is compared with: a forest of its kind without noise, or guessing."""
    means = np.array(means)
    assert sentence in what_privacy_costs(EPSILONS, means, Headroom(0.7, without_noise, means.max(), None, 0.01), None)


@pytest.mark.parametrize("best, named", [(0.967, True), (0.802, True), (0.8, False), (0.75, False)])
def test_the_sentence_on_cost_names_the_best_without_privacy_where_the_card_does(best, named):
    """The sentence names the best model of Explore's card “Without privacy” if it exceeds the forest without noise."""
    means = np.array([0.6, 0.795, 0.8, 0.8])
    sentences = what_privacy_costs(EPSILONS, means, Headroom(0.7, 0.8, 0.8, best, 0.01), "CART")
    assert "compared with a forest of its kind without noise (80.0 %)." in sentences
    assert (f"The best model without privacy (CART) reaches {100 * best:.1f} %." in sentences) == named


def test_what_would_help_is_shown_only_once_it_is_known():
    at = [Headroom(0.7, 0.7, 0.7, best, 0.01) for best in (None, 0.7, 0.9)]
    assert "is not known until" in what_helps(at[0], None, greedy=False)
    assert "say little about the label" in what_helps(at[1], "CART", greedy=False)
    tight = what_helps(at[1], "CART", greedy=False, wide=[("a*b", 0.00004)])
    assert "say little" not in tight and "“a\\*b” in under 0.1 % of the public range" in tight
    assert "looks at the data" in what_helps(at[2], "CART", greedy=False)
    assert "looks at the data" not in what_helps(at[2], "CART", greedy=True)
