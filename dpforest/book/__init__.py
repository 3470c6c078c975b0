"""A ledger across releases: a file that lists all releases about the same people, and their total privacy loss."""

from dpforest.book.account import PopulationAccount
from dpforest.book.book import Book
from dpforest.book.errors import BookError, SpentError, StaleProjectError
from dpforest.book.population import Booking, Population, Total
from dpforest.book.record import PopulationLoss, ReleaseRecord, SchemaSource
from dpforest.book.record_fields import RecordError, check_words
from dpforest.book.record_file import record_of, verify
from dpforest.book.record_page import page
from dpforest.book.sums import Cost, added_up

__all__ = [
    "Book",
    "BookError",
    "Booking",
    "Cost",
    "Population",
    "PopulationAccount",
    "PopulationLoss",
    "RecordError",
    "ReleaseRecord",
    "SchemaSource",
    "SpentError",
    "StaleProjectError",
    "Total",
    "added_up",
    "check_words",
    "page",
    "record_of",
    "verify",
]
