"""Steps 5 to 8 of the lesson with all their texts. This module does not use Streamlit."""

from __future__ import annotations

from typing import Final

from ui.learn.step import AUDIT, CHOOSE_EPSILON, EXPLORE, AnswerOption, Control, Link, Step

DEPTH: Final = Step(
    key="depth",
    goal="Every question leaves fewer rows in a leaf, so the best tree is smaller than you think.",
    minutes=5,
    badges=("Simulated", "Do not share"),
    title="Depth and empty leaves",
    text="Nursery again: 100 trees, each row in one tree. Questions have a branch for every answer. Deeper trees "
    "tell more rows apart. With all rows in every tree and no noise, accuracy on held-out rows "
    "is 88.6 % at depth 4, 94.8 % at depth 6. Empty leaves publish a random label; silence would reveal that they are "
    "empty.",
    question="At ε = 1, the accuracy at depth 6 is …",
    answers=(
        AnswerOption(
            "94 %",
            False,
            "Noise does not shrink when leaves do: at depth 6, 93 % of leaves are empty, and every one of them votes.",
        ),
        AnswerOption(
            "85 %",
            False,
            "Some loss, you thought. But with five classes, a leaf with a single row is wrong in 51 of 100 releases, "
            "with two rows in 24.",
        ),
        AnswerOption(
            "31 %, worse than guessing", True, "93 % of the leaves at depth 6 are empty, and all of them vote."
        ),
    ),
    control=Control("ε", ("0.1", "1", "10"), "1"),
    reveal="At ε = 1, depth 3 is best: 86.6 %. Depth 4: 78.1 %, 5: 51.5 %, 6: 30.5 %. Guessing: 33.3 %. At ε = 0.1 "
    "depth 1 is best (64.9 %), at ε = 10 depth 3 (89.4 %).",
    take_away="Every question leaves fewer rows in a leaf, so noise changes its label more often. Shallow first; "
    "deeper only with more rows or more ε.",
    links=(
        Link(
            "Open in the app: depth 6 at ε = 0.1",
            EXPLORE,
            (("data", "nursery"), ("forest", "majority labels"), ("eps", "0.1"), ("depth", "6"), ("trees", "100")),
            "In Explore, each question has only two branches, so leaves become empty later. At ε = 0.1 its forest of "
            "depth 6 gets about 43 %, and one of depth 2 gets 65 %.",
        ),
    ),
    aside_title="Why is the dashed line lower at first?",
    aside="The dashed line has all rows in every tree. At depth 1 to 3, and with ε = 10 at depth 4, it is *below* the "
    "private votes: noise and different rows make trees differ, and a vote gains from that.",
)

PROOF: Final = Step(
    key="proof",
    goal="You can test a promise by counting; published is not the same as true.",
    minutes=6,
    badges=("From a formula",),
    title="A proof that failed",
    text="A paper of 2017 gave a proof that its rule for leaf labels keeps ε, here ε = 1. Table A has one row of "
    "class 1, table B has two. If the promise holds, no label is more than 2.72 times as likely with one table "
    "as with the other. Release both and count “class 2”.",
    question="With B, 2.43 of 100 releases say class 2. If the promise holds, at most … say so with A.",
    answers=(
        AnswerOption("2.43 of 100", False, "That would be ε = 0."),
        AnswerOption("3.4 of 100", False, "ε is not one point more. It multiplies: by e = 2.72."),
        AnswerOption("6.6 of 100", True, "2.72 × 2.43 is 6.6. Now look at what the rule does."),
        AnswerOption("any number", False, "Then ε would promise nothing."),
    ),
    control=Control("Releases of each table", ("100", "1,000", "10,000"), "10,000"),
    reveal="Allowed: 6.6. The formula says 20.4, 8.4 times as many as with B. The privacy loss is ln 8.4 = 2.13, "
    "where 1 is allowed. The app’s own rule, permute-and-flip: 18.4 and 6.8, exactly e times. An "
    "addendum of 2021 withdrew the rule.",
    take_away="Counting can show that a promise is broken; only a proof can show that it is kept. 100 draws only "
    "hint at this break; 1,000 prove it in most cases.",
    links=(
        Link(
            "Open in the app: attack this rule",
            AUDIT,
            (("rule", "smooth sensitivity"), ("eps", "1")),
            "Then press “Attack it”.",
        ),
    ),
    aside_title="How sure is counting?",
    aside="With 100 releases, the count is above the limit in 99 % of draws, but it proves nothing. With 1,000 it "
    "proves a loss above 1, at 99.9 % confidence, in 96 % of draws. The larger the lead of a class, the larger the "
    "loss, without limit.",
)

REBUILD: Final = Step(
    key="rebuild",
    goal="With noise the same attack fails, gently, with ε as the dial.",
    minutes=5,
    badges=("Made-up tables",),
    title="Rebuild the class again",
    text="The thirty students again, ten trees, the same attacker. Now all counts carry noise, and the ten trees "
    "together cost ε. Exact counts gave away all thirty. A coin gets 15 right. The chart’s gray line is what no "
    "attacker can exceed on average, whatever they try.",
    question="At ε = 1 the attacker rebuilds …",
    answers=(
        AnswerOption("30", False, "Each count now carries noise of size 10 in a class of thirty."),
        AnswerOption("24", False, "No attacker exceeds 18.7 on average, even with all ten trees together."),
        AnswerOption("about 17", True, "Two more than a coin. The noise of a count has size 10."),
        AnswerOption(
            "15, exactly a coin", False, "That would need ε = 0: a little is always told, 16.7 instead of 15."
        ),
    ),
    control=Control("ε", ("0.1", "0.3", "1", "3", "10", "30", "exact"), "1"),
    reveal="Mean of 200 classes: exact 30.0, ε = 10: 25.0, ε = 3: 19.4, ε = 1: 16.7, ε = 0.3: 15.5. Any attacker, on "
    "average: at most 18.7 at ε = 1, 16.2 at ε = 0.3.",
    take_away="At ε = 10 the attacker would still guess 25 of 30 right; a coin gets about 15. Small ε, small "
    "table: next to nothing leaks, and next to nothing is learned.",
    links=(
        Link(
            "Open in the app: attack a real table", CHOOSE_EPSILON, (("data", "hepatitis"), ("choose_tab", "Attack it"))
        ),
    ),
)

CHOOSE: Final = Step(
    key="choose",
    goal="Choosing ε is weighing two costs, and the table decides the rate of exchange.",
    minutes=5,
    badges=("Simulated", "Do not share"),
    title="Choose ε: a school, a hospital, a bank",
    text="One ε, three tables, the same kind of tree. School: 12,960 applications. Hospital: 699 tissue samples. Bank: "
    "32,561 customers. Count the wrong predictions of 1,000 (error bars hold two thirds of releases), and how often, "
    "at most, an attacker guesses the class of a row right. There is no right ε, but you must sign.",
    question="ε = 0.1 instead of no noise. Whose number of wrong predictions rises most, on average?",
    answers=(
        AnswerOption("the school", False, "Five classes make it hard, but 12,960 rows hide one row well."),
        AnswerOption("the hospital", True, "Only 699 rows hide one row: 84 more of 1,000 are wrong."),
        AnswerOption(
            "the bank, it has most to lose",
            False,
            "32,561 rows: from ε = 0.3 on, the noise costs the bank nothing that can be seen.",
        ),
    ),
    control=Control("ε", ("0.01", "0.03", "0.1", "0.3", "1", "3", "10"), "0.1"),
    reveal="More wrong of 1,000: school 44, hospital 84 (± 48 from one release to the next), bank 14. A clinic with "
    "155 patients: at ε = 1 its tree gets 228 of 1,000 wrong; always saying “lives” gets only 206 wrong. The tree is "
    "not better at any ε that you can set here: do not publish it.",
    take_away="Rows buy privacy. There is no right ε; there is an ε whose two costs you can say aloud. Choosing it by "
    "looking at results from private rows reveals something, too, and ε does not cover it.",
    links=(
        Link("Open in the app: hospital", CHOOSE_EPSILON, (("data", "breast_wisconsin"), ("need", "90.0"))),
        Link("school", CHOOSE_EPSILON, (("data", "nursery"), ("need", "83.0"))),
        Link("bank", CHOOSE_EPSILON, (("data", "adult"), ("need", "80.0"))),
        Link("clinic", CHOOSE_EPSILON, (("data", "hepatitis"), ("need", "80.0"))),
    ),
    aside_title="Sign it, in groups of three",
    aside="Patient, doctor, privacy board. Write one sentence: “We choose ε = …, because … wrong predictions of 1,000 "
    "and an attacker who is right about … of 100 is worth …” Show hands; no answer gets a tick.",
)
