"""How large a forest may be: known before a row is read, and the same for a fit and for a file."""

from dpforest.limits import MAX_FOREST_LEAVES, MAX_FOREST_TREES, MAX_LEAF_NUMBERS


def most_leaves(n_classes: int) -> int:
    """Leaves that a forest may have.

    >>> most_leaves(2), most_leaves(50)
    (6000000, 671088)
    """
    return min(MAX_FOREST_LEAVES, MAX_LEAF_NUMBERS // n_classes)


def check_forest_size(n_trees: int, depth: int, n_leaves: int, n_classes: int) -> None:
    """Raise ValueError, with what to do, for a forest that could not be read back.

    Parameters
    ----------
    n_trees, depth : int
    n_leaves : int
        Of all trees, or as many as there can be.
    n_classes : int
    """
    if n_trees > MAX_FOREST_TREES:
        raise ValueError(f"{n_trees:,} trees are more than the {MAX_FOREST_TREES:,} of a forest; take fewer")
    if n_leaves > most_leaves(n_classes):
        raise too_many_leaves(n_trees, depth, n_leaves, most_leaves(n_classes))


def too_many_leaves(n_trees: int, depth: int, n_leaves: int | None, most: int) -> ValueError:
    """The error of a forest with more leaves than `most`; `n_leaves` is None where they were not counted to the end."""
    have = f"would have {n_leaves:,} leaves, more than" if n_leaves else "have more leaves than"
    return ValueError(
        f"{n_trees:,} trees of depth {depth} {have} the {most:,} that a file of this forest may have; take fewer trees "
        "or a smaller max_depth"
    )
