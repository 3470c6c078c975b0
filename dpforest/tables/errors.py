"""The error that an unusable table or schema raises."""


class DomainError(ValueError):
    """Raised for an unusable table or schema; the message states the problem and a remedy."""
