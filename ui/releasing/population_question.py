"""The question of the release dialog: whose data is it? The book adds up the privacy loss of each population.

A population is the people whose data is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpforest.book import Book, BookError, Cost, Population
from dpforest.tables.features import plural
from ui import state
from ui.releasing.session_ledger import Release, in_words
from ui.shared.loss_words import at_delta
from ui.shared.page import sorry
from ui.shared.tables import Table
from ui.shared.wording import plain, sum_text

NEW: Final = "new people, not in this list"
LARGEST_CAP: Final = 1_000.0


@dataclass(frozen=True)
class ChosenPopulation:
    """A population that the user chose or named, and what the release must first change in the book.

    Attributes
    ----------
    population : Population
        The population as the book will hold it, with the limit on its total loss. If the dialog asked for the largest
        number of rows of one person, the population has this number.
    is_new : bool
        Whether the population is not in the book yet.
    """

    book: Book
    population: Population
    is_new: bool

    def add_to_book(self) -> tuple[Book, str]:
        """Write the population, or its changed number of rows, to the book. Return the book and the name."""
        name, rows = self.population.name, self.population.rows_per_person
        if self.is_new:
            self.book.add_population(name, cap=self.population.cap, rows_per_person=rows)
        elif rows is not None:
            self.book.set_rows_per_person(name, rows)
        return self.book, name


def ask(
    book: Book, table: Table, cost: Cost, delta: float, earlier: list[Release], optional: DeltaGenerator
) -> ChosenPopulation | None:
    """Ask for the population, and show its total after the release. Return None if the release cannot be booked.

    Parameters
    ----------
    earlier : list of Release
        Releases of this session from the same rows. They come from the same people, so they have the same population.
    optional : DeltaGenerator
        Place of the question about a limit on the total. The user need not answer this question.
    """
    populations = {each.name: each for each in book.populations()}
    chosen = _chosen_name(populations, earlier)
    if chosen is None:
        return None
    answer = (
        ChosenPopulation(book, populations[chosen], False) if chosen in populations else _new(book, table, optional)
    )
    if answer is None:
        return None
    if len({cost.unit, *(each.cost.unit for each in answer.population.bookings)}) > 1:
        answer = _with_rows(answer)
    try:
        after = answer.population.check(cost, delta)
        before = answer.population.total()
    except BookError as problem:
        sorry(problem)
        return None
    n = len(answer.population.bookings)
    spent = f"ε = {sum_text(before.epsilon)}{at_delta(before.delta)} in {plural(n, 'release')}" if n else "nothing"
    cap = answer.population.cap
    st.markdown(
        f"Spent on these people so far: {spent}. After this release: **ε = {sum_text(after.epsilon)}"
        f"{at_delta(after.delta)}** ({in_words(after.neighbors, after.unit)})"
        f"{'' if cap is None else f', and the limit is {sum_text(cap)}'}. The app books the release before noise "
        "is drawn, so the sum stays after you close the app."
    )
    return answer


def _chosen_name(populations: dict[str, Population], earlier: list[Release]) -> str | None:
    """Return the name of the chosen population, `NEW` for new people, or None while the user has not answered."""
    if not populations:
        return NEW
    if known := [release.population for release in earlier if release.population in populations]:
        st.markdown(
            f"An earlier forest came from these rows, so they hold the same people: **{plain(known[-1], 80)}**."
        )
        return known[-1]
    return st.selectbox(
        "Whose data is it?",
        [*populations, NEW],
        index=None,
        placeholder="Choose the people",
        help="Choose the people of an earlier release if anybody is in both tables: then the costs add up. A file that "
        "was saved again, filtered or extended holds the same people.",
        key=state.POPULATION,
    )


def _new(book: Book, table: Table, optional: DeltaGenerator) -> ChosenPopulation | None:
    """Ask for the name of new people and a limit on their total. Return None if the book refuses them."""
    name = st.text_input(
        "Name for these people",
        f"people in {' '.join(table.short_title.split())}"[:200],
        max_chars=200,
        help="For example “patients of ward 3, 2025”. Later releases about the same people add to the same sum.",
        key=state.POPULATION_NAME,
    )
    cap = optional.number_input(
        "Limit for the total ε of these people",
        0.001,
        LARGEST_CAP,
        None,
        format="%g",
        placeholder="no limit",
        help="A release that would exceed it is refused.",
        key=state.POPULATION_CAP,
    )
    try:
        return ChosenPopulation(book, Population.named(name.strip(), cap), True)
    except BookError as problem:
        sorry(problem)
        return None


def _with_rows(answer: ChosenPopulation) -> ChosenPopulation:
    """Ask how many rows a person has at most. The book needs this number to add up losses for rows and for persons."""
    before = answer.population.rows_per_person
    rows = st.number_input(
        "What is the largest number of rows of one person?",
        before or 1,
        1_000_000,
        before,
        placeholder="a public number",
        help="Some releases about these people protect a row, and others a person with all of their rows. The "
        "app needs this number to add both kinds of cost. Do not look it up in the rows.",
        key=state.ROWS_PER_PERSON,
    )
    population = answer.population
    changed = Population(population.name, population.cap, None if rows is None else int(rows), population.bookings)
    return ChosenPopulation(answer.book, changed, answer.is_new)
