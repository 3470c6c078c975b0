"""Every figure in the lesson follows from data/lesson.json or a closed form, and the marked answers are right."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from dpforest.audit.events import lower_bound
from dpforest.privacy.mechanisms import flip_floor, flip_probability
from dpforest.risk import classroom
from dpforest.risk.guarantee import MEMBERSHIP, VALUE, Guarantee
from dpforest.risk.rounding import percent_down, percent_up
from dpforest.risk.tradeoff import DistinguishingGame
from scripts import lesson_numbers
from ui.learn import lesson_charts, lesson_facts
from ui.learn.step import Step
from ui.learn.steps import FOOTER, STEPS

HAS = lesson_facts.measurements()
BY_KEY = {step.key: step for step in STEPS}
_NUMBER = re.compile(r"\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?")


def text_of(step: Step) -> str:
    answers = [text for answer in step.answers for text in (answer.text, answer.feedback)]
    links = [text for link in step.links for text in (link.label, link.note)]
    return "\n".join([step.title, step.text, step.question, *answers, step.reveal, step.take_away, step.aside, *links])


def percents(*shares: float, digits: int = 1) -> set[str]:
    return {f"{100 * share:.{digits}f}" for share in shares}


def bounds(*texts: str) -> set[str]:
    return {text.removesuffix(" %") for text in texts}


def of_class() -> set[str]:
    exact = dict(zip(HAS["class"]["trees"], HAS["class"]["exact"], strict=True))
    in_leaves = sorted(classroom.members(1).sum(axis=1).tolist(), reverse=True)
    assert in_leaves[:2] == [12, 8] and in_leaves.count(1) == 2 and sum(n > 0 for n in in_leaves) == 6
    assert exact[10]["all_thirty"] == 1
    return {
        "30",
        "15",
        "200",
        "0",
        "1",
        "3",
        "5",
        "7",
        "10",
        "60",
        "12",
        "8",
        "100",
        *(f"{exact[t]['right']:.1f}" for t in (1, 3, 5, 7)),
        *percents(exact[7]["all_thirty"], digits=0),
        *(f"{right:.1f}" for right in HAS["class"]["other_seeds"].values()),
    }


def of_leaf() -> set[str]:
    lies = [float(flip_floor(n, 1.0)) for n in range(11)]
    for epsilon, rows in ((1.0, 4), (0.1, 40)):  # the smallest number of rows with a flip rate below 1 %
        assert flip_floor(rows, epsilon) < 0.01 <= flip_floor(rows - 1, epsilon)
    return {
        "1",
        "0",
        "100",
        "0.1",
        "4",
        "40",
        "2",
        "3",
        "5",
        "10",
        "25",
        f"{math.e:.2f}",
        f"{math.log(3):.2f}",
        *percents(lies[0], lies[1], 2 * lies[1], digits=0),
        *percents(*lies[1:4]),
        *percents(lies[5], digits=2),
        *percents(lies[10], digits=3),
    }


def of_promise() -> set[str]:
    def most(epsilon: float, prior: float = 0.5, question: str = MEMBERSHIP) -> str:
        return percent_up(float(DistinguishingGame(Guarantee(epsilon), question).posterior(prior)[1]))

    beliefs = lesson_facts.beliefs(1.0)
    assert beliefs.most == pytest.approx(math.e / (1 + math.e)) and beliefs.passed == pytest.approx(beliefs.least)
    return {
        "50",
        "1",
        "0",
        "51",
        "100",
        "73",
        "10",
        "2",
        f"{math.e:.2f}",
        *percents(beliefs.failed, beliefs.passed),
        *bounds(
            percent_down(beliefs.least), percent_up(beliefs.most), most(10.0), most(1.0, 0.1), most(1.0, 0.5, VALUE)
        ),
        *bounds(percent_up(float(DistinguishingGame(Guarantee(1.0), VALUE).success()))),
    }


def of_votes() -> set[str]:
    measured = HAS["votes"]
    at = {name: dict(zip(measured["trees"], measured[name], strict=True)) for name in measured if name != "trees"}
    right, lies, quiet = at["accuracy"], at["lies"], at["without_noise"]
    return {
        "12,960",
        "4",
        "1",
        "31",
        "45",
        "300",
        *percents(right[1], right[31], lies[1], lies[31], digits=0),
        *percents(right[1], right[31], right[300], lies[31], quiet[1], quiet[31]),
        *percents(at["empty"][300], HAS["explore"]["31 trees"], digits=0),
    }


def of_budget() -> set[str]:
    one, other = HAS["plans"]["shared"], HAS["plans"]["independent"]
    assert one["spent"] == other["spent"] == "1" and (one["each"], other["each"]) == ("1/100", "1")
    assert (one["times"], one["composition"], other["composition"]) == (100, "sequential", "parallel")
    quiet = HAS["votes"]["without_noise"][HAS["votes"]["trees"].index(100)]  # 100 trees of depth 4, all rows in each
    assert quiet == HAS["depth"]["without_noise"][HAS["depth"]["depth"].index(4)] < one["accuracy"][1]
    shares = percents(*one["accuracy"], *other["accuracy"], quiet)
    return {"0.01", "1", "100", "10", "4", "99", f"{other['times']:,}", *shares}


def of_depth() -> set[str]:
    measured = HAS["depth"]
    at = {e: dict(zip(measured["depth"], accuracy, strict=True)) for e, accuracy in measured["accuracy"].items()}
    quiet, empty = (dict(zip(measured["depth"], measured[name], strict=True)) for name in ("without_noise", "empty"))
    assert [max(at[e], key=at[e].__getitem__) for e in ("0.1", "1", "10")] == [1, 3, 3]
    assert all(quiet[d] < at["1"][d] for d in (1, 2, 3)) and quiet[4] > at["1"][4]
    one, two = (float(flip_probability("permute-and-flip", [[rows, 0, 0, 0, 0]], 1.0)[0]) for rows in (1, 2))
    return {
        "100", "4", "6", "1", "3", "5", "0.1", "10", "94", "85", "2",
        *percents(quiet[4], quiet[6], *(at["1"][d] for d in (3, 4, 5, 6)), at["0.1"][1], at["10"][3]),
        *percents(measured["guessing"]),
        *percents(empty[6], one, two, at["1"][6], HAS["explore"]["depth 6"], HAS["explore"]["depth 2"], digits=0),
    }  # fmt: skip


def counts_above(with_a: np.ndarray, with_b: np.ndarray, _: int) -> np.ndarray:
    return with_a > math.e * with_b


def proves(with_a: np.ndarray, with_b: np.ndarray, n: int) -> np.ndarray:
    return lower_bound(with_a, with_b, n, alpha=0.001) > 1


def share_of_draws(what: Callable, n: int, a: float, b: float) -> float:
    """Return the probability that `what` holds for the counts in n draws from table A and n draws from table B.

    `a` and `b` are the probabilities of the event in a draw.
    """
    most = [int(binom.isf(1e-9, n, p)) for p in (a, b)]
    with_a, with_b = (grid.ravel() for grid in np.mgrid[: most[0] + 1, : most[1] + 1])
    return float((binom.pmf(with_a, n, a) * binom.pmf(with_b, n, b) * what(with_a, with_b, n)).sum())


def of_proof() -> set[str]:
    a, b = lesson_facts.chances(lesson_facts.PAPER)
    assert lesson_facts.broken_pair().change.before.tolist() == [[1, 0]]
    assert lesson_facts.broken_pair().change.after.tolist() == [[2, 0]]
    chances = lesson_facts.chances(lesson_facts.CERTIFIED)
    assert chances[0] / chances[1] == pytest.approx(math.e)
    above, proved = (share_of_draws(what, n, a, b) for what, n in ((counts_above, 100), (proves, 1000)))
    assert share_of_draws(proves, 100, a, b) < 1e-5  # the lesson says "it proves nothing"
    return {
        "2017",
        "2021",
        "1",
        "2",
        "100",
        "1,000",
        "0",
        "3.4",
        "99.9",
        f"{math.e:.2f}",
        *percents(b),
        *percents(b, digits=2),
        *percents(math.e * lesson_facts.chances(lesson_facts.PAPER)[1]),
        *percents(a, *chances),
        f"{a / b:.1f}",
        f"{math.log(a / b):.2f}",
        *percents(above, proved, digits=0),
    }


def of_rebuild() -> set[str]:
    noisy = {e: f"{cell['right']:.1f}" for e, cell in zip(HAS["class"]["epsilon"], HAS["class"]["noisy"], strict=True)}
    assert 1 / float(classroom.spec_of(10).leaf_rate(1)) == 10  # the lesson says "noise of size 10"
    assert lesson_facts.most_rebuilt(1.0) == 18.7
    return {
        "1",
        "15",
        "30",
        "24",
        "17",
        "10",
        "200",
        "0",
        "0.3",
        "3",
        "25",
        "30.0",
        *(noisy[e] for e in (10.0, 3.0, 1.0, 0.3)),
        *(f"{lesson_facts.most_rebuilt(e):.1f}" for e in (1.0, 0.3)),
    }


def of_choose() -> set[str]:
    measured = HAS["choose"]
    i, one = measured["epsilon"].index(0.1), measured["epsilon"].index(1.0)
    more = {who: measured[who]["wrong"][i] - measured[who]["without_noise"] for who in lesson_numbers.TABLES}
    clinic = measured["clinic"]
    assert min(*clinic["wrong"], clinic["without_noise"]) > clinic["guessing"]  # worse than guessing at each ε
    late = measured["bank"]["wrong"][measured["epsilon"].index(0.3) :]
    assert max(late) < measured["bank"]["without_noise"]  # from ε = 0.3 on, noise costs nothing
    return {
        "0.1",
        "1",
        "0.3",
        "100",
        "1,000",
        *(f"{measured[who]['rows']:,}" for who in lesson_numbers.TABLES),
        *(f"{1000 * more[who]:.0f}" for who in ("school", "hospital", "bank")),
        f"{1000 * measured['hospital']['spread'][i]:.0f}",
        f"{1000 * clinic['wrong'][one]:.0f}",
        f"{1000 * clinic['guessing']:.0f}",
    }


FACTS = {
    "class": of_class,
    "leaf": of_leaf,
    "promise": of_promise,
    "votes": of_votes,
    "budget": of_budget,
    "depth": of_depth,
    "proof": of_proof,
    "rebuild": of_rebuild,
    "choose": of_choose,
}


@pytest.mark.parametrize("key", FACTS)
def test_every_figure_in_the_texts_is_a_computed_one(key):
    assert list(FACTS) == [step.key for step in STEPS]
    facts = FACTS[key]()
    unknown = [figure for figure in _NUMBER.findall(text_of(BY_KEY[key])) if figure not in facts]
    assert unknown == []


def test_right_answers_are_right():
    """The right answers match the stored results, and the wrong answers are far from them."""
    votes = dict(zip(HAS["votes"]["trees"], HAS["votes"]["accuracy"], strict=True))
    assert round(100 * votes[31]) == 84 and all(abs(100 * votes[31] - wrong) > 10 for wrong in (45, 60))
    deep = dict(zip(HAS["depth"]["depth"], HAS["depth"]["accuracy"]["1"], strict=True))
    assert deep[6] < HAS["depth"]["guessing"] and round(100 * deep[6]) == 31
    measured = HAS["choose"]
    i = measured["epsilon"].index(0.1)
    more = {who: measured[who]["wrong"][i] - measured[who]["without_noise"] for who in ("school", "hospital", "bank")}
    assert more["hospital"] > 1.5 * max(more["school"], more["bank"])
    right = {key: next(answer.text for answer in step.answers if answer.right) for key, step in BY_KEY.items()}
    assert right["votes"] == "about 84 %" and right["choose"] == "the hospital"
    assert right["depth"].startswith("31 %")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_a_step_is_short_and_has_one_right_answer(step):
    assert len(step.text.split()) <= 60
    assert sum(answer.right for answer in step.answers) == 1
    assert step.control.start in step.control.options
    assert all(answer.feedback for answer in step.answers)


def test_the_lesson_takes_forty_five_minutes():
    assert len(STEPS) == 9 and sum(step.minutes for step in STEPS) == 45
    assert "add-remove" in FOOTER and "δ > 0" in FOOTER and "column of identifiers" in FOOTER


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.key)
def test_steps_mention_rows_and_students_only(step):
    """Without a unit of privacy, ε is for one row, so no sentence may promise it to a person."""
    feedback = [answer.feedback for answer in step.answers]
    texts = [step.goal, step.text, step.question, step.reveal, step.take_away, step.aside or "", *feedback]
    words = r"\b(somebody|someone|anybody|anyone|nobody|persons?|people)\b"
    assert [text for text in texts if re.search(words, text)] == []


# Each of the following tests computes a few stored numbers again.


def test_stored_votes_are_reproduced():
    again = lesson_numbers.votes([1, 31])
    for name in ("accuracy", "without_noise", "lies", "empty"):
        kept = dict(zip(HAS["votes"]["trees"], HAS["votes"][name], strict=True))
        assert again[name] == [kept[1], kept[31]]


@pytest.mark.parametrize("partition", ["shared", "independent"])
def test_stored_plans_are_reproduced(partition):
    again, kept = lesson_numbers.plan(partition, [1.0]), HAS["plans"][partition]
    assert again["accuracy"] == kept["accuracy"][:1]
    assert {name: again[name] for name in ("times", "each", "composition", "spent")}.items() <= kept.items()


@pytest.mark.slow
def test_stored_depths_are_reproduced():
    again, kept = lesson_numbers.depths([3, 6], [1.0]), HAS["depth"]
    places = [kept["depth"].index(depth) for depth in (3, 6)]
    assert again["accuracy"]["1"] == [kept["accuracy"]["1"][i] for i in places]
    assert again["empty"] == [kept["empty"][i] for i in places] and again["guessing"] == kept["guessing"]


@pytest.mark.parametrize("who", ["hospital", "clinic"])
def test_stored_wrong_predictions_are_reproduced(who):
    again, kept = lesson_numbers.tree_of(lesson_numbers.TABLES[who], [0.1, 1.0]), HAS["choose"][who]
    places = [HAS["choose"]["epsilon"].index(e) for e in (0.1, 1.0)]
    assert again["wrong"] == [kept["wrong"][i] for i in places]
    assert again["spread"] == [kept["spread"][i] for i in places]


def test_stored_degrees_are_reproduced_and_the_average_hides_them():
    again, kept = lesson_numbers.by_education([0.1]), HAS["degrees"]
    at = [HAS["choose"]["epsilon"].index(0.1), -1]
    assert {name: degree["wrong"] for name, degree in again.items()} == {
        name: [degree["wrong"][i] for i in at] for name, degree in kept.items()
    }
    more = {name: round(1000 * (degree["wrong"][0] - degree["wrong"][1])) for name, degree in again.items()}
    _, alt, below = lesson_charts.who_pays()
    assert more["Masters"] > 10 * 14 > 14 > more["HS-grad"]
    assert f"adds {more['Masters']} wrong predictions" in below and f"but {more['HS-grad']} for 1,000" in below
    assert f"master’s {more['Masters']}, bachelor’s {more['Bachelors']}, high school {more['HS-grad']}." in alt


def test_stored_reconstructions_are_reproduced():
    trees, epsilons = HAS["class"]["trees"], HAS["class"]["epsilon"]
    assert lesson_numbers.reconstruction(3, None) == HAS["class"]["exact"][trees.index(3)]
    assert lesson_numbers.reconstruction(10, 1.0) == HAS["class"]["noisy"][epsilons.index(1.0)]


def test_the_figures_of_explore_are_reproduced():
    assert lesson_numbers.in_explore() == HAS["explore"]


def test_the_stored_ballots_are_reproduced():
    again, kept = lesson_numbers.ballots([1, 31]), HAS["ballots"]
    for name in ("votes", "kinds"):
        assert again[name] == {n: kept[name][n] for n in ("1", "31")}
    assert (again["row"], again["truth"]) == (kept["row"], kept["truth"])


def test_the_stored_tree_is_reproduced():
    assert lesson_numbers.one_tree(3)["levels"] == HAS["one_tree"]["levels"][:3]
