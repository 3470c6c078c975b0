"""The terms of the field, for the page Glossary and for tooltips. This module does not use Streamlit."""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """A term, its definition in plain words, and its exact definition."""

    plain: str
    exact: str


GLOSSARY: Final[dict[str, Entry]] = {
    "row, record": Entry(
        "One line of the table: what it holds about one person, thing or event.",
        "The unit of privacy, unless a column of identifiers is declared. k rows of one person multiply ε by k.",
    ),
    "unit of privacy": Entry(
        "What ε protects: one row. If a column of identifiers is declared, one person with all of their rows.",
        "Neighboring tables differ in one unit: one row, or all rows with the same identifier. If a person has more "
        "than 256 rows, only 256 of them are used.",
    ),
    "attribute, label": Entry(
        "What is known of a record, and what is to be predicted from it.",
        "The columns of the table: all but one are attributes, that one is the label; its values are the classes.",
    ),
    "differential privacy": Entry(
        "If one row is taken away, no matter which, whatever is published stays about as likely. ε limits how much "
        "more or less likely. With a column of identifiers, this holds for any one person with all of their rows.",
        "P(M(D) ∈ S) ≤ eᵋ P(M(D′) ∈ S) + δ for all neighboring tables D and D′ and every set S of outputs.",
    ),
    "ε (epsilon)": Entry(
        "The dial: how much one row may change what is published; with a column of identifiers, one person.",
        "With δ = 0 the bound of |ln P(M(D) ∈ S) − ln P(M(D′) ∈ S)|: odds change by a factor of eᵋ at most.",
    ),
    "δ (delta)": Entry(
        "How much slack the promise has: a probability added to what ε allows.",
        "The δ in P(S) ≤ eᵋ Q(S) + δ, for any set S of outputs. It is 0 except for forests with δ in their name, "
        "which spend 10⁻⁶ and say so.",
    ),
    "odds": Entry(
        "“3 to 1” instead of 75 %.",
        "p/(1 − p). A release multiplies them by P/Q: its probability with the row, divided by that without it.",
    ),
    "prior, posterior": Entry(
        "What an attacker believed before a release, and after it.",
        "P(the row is in D), and P(the row is in D | the release). With a column of identifiers, P(the person is in "
        "D).",
    ),
    "neighboring tables": Entry(
        "Two tables that differ in one row. If a column of identifiers is declared, they differ in one person.",
        "Add-remove: one of them has one row (or person) more. Replace-one: both have equally many rows (or persons), "
        "and one differs.",
    ),
    "mechanism": Entry(
        "A rule with chance in it: it turns a table into what is published.",
        "A random function from tables to outputs.",
    ),
    "noise": Entry(
        "Chance that is put in on purpose: random numbers added to counts, or a random choice of a label.",
        "Discrete Laplace and discrete Gaussian numbers; permute-and-flip and the exponential mechanism for choices.",
    ),
    "discrete Laplace": Entry(
        "Noise that is mostly small, and rarely large.", "P(k) in proportion to e^(−|k|/scale), for whole numbers k."
    ),
    "permute-and-flip": Entry(
        "A way to draw a label: mostly the most frequent class, now and then another one.",
        "Classes in random order, each taken with probability e^(−ε · number of rows by which it trails the most "
        "frequent class), until one is taken.",
    ),
    "exponential mechanism": Entry(
        "A way to choose at random, where a better choice is more likely.",
        "P(choice) in proportion to e^(ε · score / (2 · sensitivity)); without the 2 if a further row can only "
        "raise scores, as with counts and add-remove.",
    ),
    "smooth sensitivity": Entry(
        "How much one row can change a result, at most, for this table and those near it.",
        "The largest local sensitivity (what a row can change in one given table) over all tables, each weighted by "
        "e^(−β · distance).",
    ),
    "sensitivity": Entry(
        "The most that one row can change a number; with a column of identifiers, one person. The larger it is, the "
        "more noise the number needs.",
        "max |q(D) − q(D′)| over neighboring tables.",
    ),
    "leaf": Entry(
        "Where records with the same answers meet.",
        "A cell of the partition of all possible records that a tree makes.",
    ),
    "split, question": Entry(
        "What a tree asks of a record before it goes on.",
        "A threshold of an attribute, one value of it against all others, or one branch for each value. “Among last "
        "4 listed”: whether the value is one of the last 4 in the list of the Data tab.",
    ),
    "lead": Entry(
        "By how many rows the most frequent class of a leaf is ahead; with a column of identifiers, by how many "
        "persons.",
        "n₍₁₎ − n₍₂₎ of a leaf.",
    ),
    "flip": Entry(
        "A leaf releases another class than its most frequent one.",
        "With two classes and permute-and-flip: probability e^(−jε)/2 at a lead of j rows.",
    ),
    "empty leaf": Entry(
        "A leaf without rows. Its label is drawn at random.",
        "n = 0: each of K labels with probability 1/K.",
    ),
    "budget": Entry(
        "The ε that you are ready to spend on these rows, or on these persons if a column of identifiers is declared.",
        "An upper bound on the sum of the ledgers of all releases.",
    ),
    "in sequence": Entry(
        "Asked of the same rows, one after another: their ε add up.", "Sequential composition: ε₁ + ε₂."
    ),
    "in parallel": Entry(
        "Asked of different rows: only the largest ε counts.",
        "Parallel composition: max(ε₁, ε₂), if a row (or person) alone decides which part it is in.",
    ),
    "post-processing": Entry(
        "What is done with a release afterwards costs nothing.",
        "f(M(D)) keeps M's ε and δ for any f that does not see D.",
    ),
    "membership": Entry(
        "Whether a row is in the table, or a person if a column of identifiers is declared; an attack guesses it.",
        "A test of D against D′. At 50:50 it is right in at most (1 + t)/2 of guesses, where t is the least δ for "
        "which the promise holds with ε = 0. If δ = 0, a test is right in at most eᵋ/(1 + eᵋ) of guesses.",
    ),
    "TPR, FPR": Entry(
        "How many rows an attacker says are in the table: of 100 that are in it (TPR), and of 100 that are not (FPR).",
        "True and false positive rates; TPR ≤ eᵋ FPR + δ for every test.",
    ),
    "reconstruction": Entry(
        "Working out the secrets of rows from many counts.", "Finding x ∈ {0, 1}ⁿ with Ax ≈ the published counts."
    ),
    "certificate": Entry(
        "What a release promises, and on which conditions.",
        "Guarantee, assumptions and mechanism, in the forest's file.",
    ),
    "ledger": Entry(
        "The receipt: every question to the rows that was answered with noise, and its price.",
        "Each cost is an exact fraction.",
    ),
    "certified": Entry(
        "Proved to keep its ε; tests and attacks find no error.",
        "Every noisy answer is charged to the ledger, which adds up to ε at most.",
    ),
    "privacy loss": Entry(
        "How much one row can change how likely a result is: the logarithm of the largest factor. It must be at "
        "most ε.",
        "The largest |ln P(M(D) ∈ S) − ln P(M(D′) ∈ S)| over neighboring tables and sets S, for δ = 0.",
    ),
    "as published": Entry(
        "What a paper printed. Some of these forests break their promise; the Audit page states the true loss where "
        "it is known.",
        "The paper's own mechanism, with its true loss where one is known.",
    ),
    "simulated": Entry(
        "A rehearsal for whoever holds the rows. It publishes nothing.",
        "Drawn in floating point, from a public seed, from the raw rows.",
    ),
    "release": Entry(
        "A forest drawn to be published. It costs its ε from the moment when its noise is drawn.",
        "Drawn by exact samplers from the operating system's randomness.",
    ),
    "schema": Entry(
        "The columns, bounds and categories that are public without looking at the rows.",
        "The domain. ε does not cover what is read from the rows instead.",
    ),
    "scale of an attribute": Entry(
        "Roughly which values are frequent, so that questions cut where the rows are.",
        "Quantiles of noisy histograms, which cost a part of ε. A scale that depends on the bounds alone costs "
        "nothing.",
    ),
    "held-out rows": Entry(
        "Rows that are set aside before a forest learns, to measure how often it is right.",
        "A random 30 % of the rows, the same for all forests and all ε; on Compare, if wanted, 5 parts are held out "
        "in turn.",
    ),
    "release record": Entry(
        "What was released, when, by whom, for what, and at what cost: a page to sign.",
        "JSON with settings, sources of the schema, the sum of ε and δ, and the SHA-256 of the released file.",
    ),
    "floor of a leaf": Entry(
        "The lowest rate at which any rule that keeps ε and treats classes alike must flip a label.",
        "e^(−jε) · (k − 1)/k for a leaf of one class with j rows, with k classes and add-remove.",
    ),
    "without privacy": Entry(
        "The best of a few forests that protect no row: a yardstick, not a limit.",
        "Of CART, a random forest and a forest of the same kind without noise, the best on the held-out rows. A forest "
        "with noise can be a little better, by luck, or because noise makes its trees differ.",
    ),
    "floor: always naming one class": Entry(
        "Guessing, with no forest at all.", "Its accuracy is the share of the most frequent class."
    ),
    "balanced accuracy": Entry("Accuracy with every class counted alike.", "The mean of the recalls of all classes."),
    "α (alpha)": Entry(
        "How a boosted tree judges its questions.",
        "The Mα-loss: between the 0/1 loss (α = 0, little sensitivity) and Matsushita's loss (α = 1, fast boosting).",
    ),
}


def tip(term: str) -> str:
    """Return the tooltip of a term. It has both definitions."""
    return f"{GLOSSARY[term].plain} Exactly: {GLOSSARY[term].exact}"
