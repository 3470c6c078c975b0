"""The largest allowed size of a forest, for fits and for files. A fit checks the size before it queries the rows."""

from dpforest.limits import MAX_FOREST_LEAVES, MAX_FOREST_TREES, MAX_LEAF_NUMBERS


def most_leaves(n_classes: int) -> int:
    """Return the largest number of leaves of a forest.

    >>> most_leaves(2), most_leaves(50)
    (6000000, 671088)
    """
    return min(MAX_FOREST_LEAVES, MAX_LEAF_NUMBERS // n_classes)


def check_forest_size(n_trees: int, depth: int, n_leaves: int, n_classes: int) -> None:
    """Raise ValueError, with advice, if a forest is too large to be read back from its file.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    depth : int
        Largest number of tests on a path, for the message of the error.
    n_leaves : int
        Number of leaves of all trees, or its largest possible value.
    n_classes : int
        Number of classes, which limits the number of leaves.
    """
    if n_trees > MAX_FOREST_TREES:
        raise ValueError(f"a forest has at most {MAX_FOREST_TREES:,} trees, not {n_trees:,}; use fewer trees")
    if n_leaves > most_leaves(n_classes):
        raise too_many_leaves(n_trees, depth, n_leaves, most_leaves(n_classes))


def too_many_leaves(n_trees: int, depth: int, n_leaves: int | None, most: int) -> ValueError:
    """Return the error of a forest with more than `most` leaves; `n_leaves` is None if the count was cut short."""
    excess = f"would have {n_leaves:,} leaves, more than" if n_leaves else "have more leaves than"
    return ValueError(
        f"{n_trees:,} trees of depth {depth} {excess} the {most:,} that a file of this forest may have; take fewer "
        "trees or a smaller max_depth"
    )
