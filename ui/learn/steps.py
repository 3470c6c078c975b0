"""The nine steps of the lesson with all their texts. This module does not use Streamlit.

The numbers in the texts come from `data/lesson.json` or from closed forms. A test computes each number again.
"""

from __future__ import annotations

from typing import Final

from ui.forest.forests import EPSILONS
from ui.learn.later_steps import CHOOSE, DEPTH, PROOF, REBUILD
from ui.learn.step import AUDIT, CHOOSE_EPSILON, EXPLORE, AnswerOption, Control, Link, Step

HOOK: Final = Step(
    key="class",
    goal="Exact statistics of groups can give away everybody in them.",
    minutes=3,
    badges=("Made-up tables",),
    title="Rebuild the class",
    text="Thirty students, one row each. Seats, heights and birthdays are on the class list; who failed is secret. The "
    "school publishes small random decision trees. Each leaf says how many of its students passed and how many failed, "
    "exactly. No names, only counts. Each tile is a student. A coin would guess 15 of 30.",
    question="How many trees until all thirty secrets are revealed?",
    answers=(
        AnswerOption(
            "never, there are no names in counts",
            False,
            "Names were never needed: ten trees are sums over known groups, enough equations for thirty unknowns.",
        ),
        AnswerOption("about 10", True, "Each leaf is an equation. Ten trees make enough of them for thirty unknowns."),
        AnswerOption(
            "about 100",
            False,
            "One tree gives several equations: with 7 trees all thirty are right in 84 % of classes.",
        ),
        AnswerOption(
            "one is enough",
            False,
            "One tree leaves groups of 12 and 8 together; but two students sat alone in a leaf and were given away at "
            "once.",
        ),
    ),
    control=Control("Trees published", ("1", "2", "3", "5", "7", "10"), "1"),
    reveal="Move the trees from 1 to 10 and watch. Mean of 200 made-up classes: 1 tree 20.0 right, 3 trees 25.4, "
    "5 trees 27.4, 7 trees 29.6. With 10 trees all 30, in every class.",
    take_away="Enough exact counts of groups reveal the table.",
    links=(
        Link(
            "Open in the app: leaves of real patients",
            EXPLORE,
            (("data", "hepatitis"), ("forest", "noisy counts"), ("depth", "3"), ("trees", "10"), ("tab", "Leaves")),
        ),
    ),
    aside_title="How the attack works",
    aside="Each leaf says: the secrets of these students add up to so many. The attacker finds secrets between 0 and 1 "
    "that fit all sums best (least squares), and rounds. All trees have depth 3 and hold all 30 students.\n\n"
    "To be honest: of 60 public seeds we picked one whose first tree has six leaves in use. Over "
    "all 60 seeds, ten exact trees rebuild 29.2 of 30 on average, twenty rebuild 30.0.",
)

LEAF: Final = Step(
    key="leaf",
    goal="Noise lies now and then about a small group and hardly ever about a large one.",
    minutes=5,
    badges=("From a formula",),
    title="One noisy leaf",
    text="All students in this leaf failed, so its true label is “failed”. It publishes one label, but now and then "
    "the wrong one. At ε = 1 each extra student makes the lie rarer by the same factor, e = 2.72. An empty leaf tosses "
    "a coin.",
    question="One student in the leaf, ε = 1. Of 100 releases, how many have the wrong label?",
    answers=(
        AnswerOption("none", False, "Then one release would tell you all about this student."),
        AnswerOption("about 18", True, "The coin’s 50 %, made rarer by 2.72 once, is 18.4 %."),
        AnswerOption(
            "about 37",
            False,
            "You are near: the chance that the truth gets lost is 1/e = 37 %. Then a coin is tossed, so half of it is "
            "right by luck.",
        ),
        AnswerOption("50", False, "That is an empty leaf. With 50 % the label would say nothing about any student."),
    ),
    control=Control("Students in the leaf", tuple(str(n) for n in range(11)), "1"),
    reveal="Half of 1/e is 18.4 %. An empty leaf: 50 %. 2 students: 6.8 %; 3: 2.5 %; 5: 0.34 %; 10: 0.002 %.",
    take_away="Noise is a lie with a known rate. It hides one student and leaves crowds visible: with 4 "
    "students in the leaf, the lie is rarer than 1 % (at ε = 0.1, with 40).",
    links=(Link("Open in the app: this rule in Audit", AUDIT, (("rule", "permute-and-flip"), ("eps", "1"))),),
    aside_title="The same with two coins",
    aside="Heads: tell the truth. Tails: toss again, and say what that coin says. The answer is wrong in 25 %. If "
    "one answer is *changed*, a reply becomes at most 3 times as likely, so ε = ln 3 = 1.10.",
)

PROMISE: Final = Step(
    key="promise",
    goal="ε limits how much more one row can reveal, whoever asks and whatever they know.",
    minutes=6,
    badges=("From a formula",),
    title="What ε promises",
    text="Two worlds: in one, Ann’s row (“failed”) is in the table, in the other it is not. You think 50:50. Only "
    "Ann could be in this leaf. You see the published label. Your odds change by the ratio of the label’s "
    "chances in the two worlds (Bayes’ rule): at most e^ε.",
    question="You were 50 % sure. At ε = 1, how sure can a release make you at most?",
    answers=(
        AnswerOption(
            "still 50 %", False, "That would be ε = 0: the release could depend on no row, so it could teach nothing."
        ),
        AnswerOption(
            "51 %", False, "ε = 1 is not 1 %. It is a factor of e = 2.72 on the odds: 1:1 becomes at most 2.72:1."
        ),
        AnswerOption("about 73 %", True, "The odds of 1:1 become at most 2.72:1, so at most 73.2 %."),
        AnswerOption("100 %", False, "Only without a limit. But you are right to be wary: at ε = 10 it is 99.996 %."),
    ),
    control=Control("ε", tuple(f"{e:g}" for e in EPSILONS), "1"),
    reveal="At ε = 1: at most 73.2 %, at least 26.8 %. In this leaf “failed” makes you 62.0 % sure, “passed” 26.9 %. "
    "From 10 % sure, you become at most 23.2 % sure.",
    take_away="A release multiplies odds by at most e^ε: 1:1 becomes at most e^ε : 1. ε says nothing about what is "
    "true of all who are like Ann.",
    links=(
        Link(
            "Open in the app: what ε = 2 means",
            CHOOSE_EPSILON,
            (("data", "breast_wisconsin"), ("look_eps", "2")),
            "Then move “at ε”.",
        ),
    ),
    aside_title="Which of two answers is hers?",
    aside="If it is known that Ann is in the table, but not which of two values she has, that is two steps: one row "
    "out, one row in. At ε = 1, no release makes an attacker more than 88.1 % sure (from 50 %), and over all "
    "releases at most 81.7 % of guesses are right.",
)

VOTES: Final = Step(
    key="votes",
    goal="Noisy trees can vote well; too many of them have too little data each.",
    minutes=5,
    badges=("Simulated", "Do not share"),
    title="Trees vote",
    text="12,960 nursery-school applications, five outcomes. Random trees of depth 4 ask questions drawn "
    "without the data. Each row goes to one tree, at ε = 1. With more trees, each one sees fewer rows, so more "
    "leaves publish a wrong label: a lie. A row gets a lie if its leaf in its own tree lies. Then the trees vote.",
    question="From 1 tree to 31, lies go from 1 % of rows to 21 %. Accuracy of the vote goes from 60 % to …",
    answers=(
        AnswerOption(
            "about 45 %",
            False,
            "A lie in one leaf of one tree is one vote of 31, and the lies do not agree with each other.",
        ),
        AnswerOption(
            "about 60 %",
            False,
            "Lies cost, but 31 different trees know more than one: without any noise they go from 60.3 % to 84.0 %.",
        ),
        AnswerOption("about 84 %", True, "Now move on to 300 trees: why does it fall?"),
    ),
    control=Control("Trees", ("1", "3", "11", "31", "100", "300"), "31"),
    reveal="1 tree: 60.4 % right. 31 trees: 84.2 %, although 21.0 % of rows get a lie. 300 trees: 65.3 %, as 79 % of "
    "their leaves are empty and vote at random.",
    take_away="A vote forgives independent lies as long as enough trees tell the truth. If most leaves have no rows, "
    "too few trees do.",
    links=(
        Link(
            "Open in the app: 31 trees on nursery",
            EXPLORE,
            (
                ("data", "nursery"),
                ("forest", "majority labels"),
                ("eps", "1"),
                ("depth", "4"),
                ("trees", "31"),
                ("tab", "Leaves"),
            ),
            "In Explore, each question has two branches, not one for each answer; its forest gets about 77 %.",
        ),
    ),
)

BUDGET: Final = Step(
    key="budget",
    goal="What is asked of the same rows adds up; what is asked of different rows does not.",
    minutes=5,
    badges=("Simulated", "Do not share"),
    title="The budget",
    text="One hundred trees. Plan A: every row is in every tree, and each tree spends ε = 0.01. Plan B: every row is "
    "drawn into one tree, and each tree spends ε = 1. The ledger adds up what one single row pays, not what the table "
    "pays. Ann has one row.",
    question="What does plan B cost one row?",
    answers=(
        AnswerOption(
            "ε = 0.01",
            False,
            "That is what one tree costs in plan A. In B the tree that holds Ann spends all of ε = 1 on her.",
        ),
        AnswerOption("ε = 1", True, "Only one tree holds Ann, and it spends ε = 1 on her."),
        AnswerOption(
            "ε = 100",
            False,
            "That would be right if all 100 saw the same rows. Ann is in one tree; the other 99 say nothing about her "
            "row.",
        ),
    ),
    control=Control("Plan", ("all rows in every tree", "each row in one tree"), "each row in one tree", few=True),
    reveal="Both cost ε = 1. A: 100 × 1/100 in sequence, added up. B: 12,201 leaves in parallel, each at ε = 1. "
    "Accuracy on Nursery’s held-out rows, depth 4: A 77.2 %, B 78.1 %. At ε = 10: A 92.5 %, B 89.1 %. A’s trees, with "
    "all rows in each and no noise, get only 88.6 %: noise makes trees differ, and their vote gains from that.",
    take_away="Same rows: add. Different rows: take the largest. If every tree has all rows, the trees must share "
    "ε, and each has more noise.",
    links=(
        Link(
            "Open in the app: ledger of A",
            EXPLORE,
            (
                ("data", "nursery"),
                ("forest", "majority labels"),
                ("eps", "1"),
                ("depth", "4"),
                ("trees", "100"),
                ("rows", "all rows in every tree"),
                ("tab", "Budget"),
            ),
        ),
        Link(
            "of B",
            EXPLORE,
            (
                ("data", "nursery"),
                ("forest", "majority labels"),
                ("eps", "1"),
                ("depth", "4"),
                ("trees", "100"),
                ("tab", "Budget"),
            ),
            "In Explore, each question has two branches, so the trees have other leaves.",
        ),
    ),
)

STEPS: Final = (HOOK, LEAF, PROMISE, VOTES, BUDGET, DEPTH, PROOF, REBUILD, CHOOSE)
FOOTER: Final = (
    "Neighboring tables differ by one row, added or removed (add-remove); δ = 0. If a table declares a column of "
    "identifiers, ε holds for a person with all their rows. Names are made up. Two tables of the lesson are not what "
    "their stories say: the rows of Nursery were made from rules for judging applications, not from families, and the "
    "bank’s customers are people of a census. Some forests elsewhere in the app spend δ > 0."
)
