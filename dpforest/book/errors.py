"""The errors of a book. Their messages say what is wrong and what to do."""


class BookError(ValueError):
    """Raised if a book cannot be read or written, or refuses a release. Nothing was released."""


class StaleProjectError(BookError):
    """Raised if a project was saved elsewhere since it was read."""
