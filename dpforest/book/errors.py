"""The errors of a book. Their messages say what is wrong and what to do."""


class BookError(ValueError):
    """Raised if a book cannot be read or written, or refuses a release.

    A fit that raises this error has drawn no noise.
    """


class SpentError(ValueError):
    """Raised if a release is booked but not complete. The ε of the release is spent. The message states the reason."""


class StaleProjectError(BookError):
    """Raised if somebody saved or deleted a project after it was read, for example in another browser tab."""
