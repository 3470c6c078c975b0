"""A ledger across releases: what all releases on the same people cost together, kept in a file that survives."""

from dpforest.book.account import PopulationAccount
from dpforest.book.book import Book
from dpforest.book.errors import BookError, StaleProjectError
from dpforest.book.population import Booking, Population, Total
from dpforest.book.sums import Cost, added_up

__all__ = [
    "Book",
    "BookError",
    "Booking",
    "Cost",
    "Population",
    "PopulationAccount",
    "StaleProjectError",
    "Total",
    "added_up",
]
