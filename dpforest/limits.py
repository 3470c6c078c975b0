"""Every limit and default in one place."""

from typing import Final

# Public grid on which numeric features are read: codes are uint16.
GRID: Final = 65_536
MISSING_STRIP: Final = GRID // 11  # codes below a numeric range, for "missing" as its own value

MIN_CLASSES: Final = 2
MAX_CLASSES: Final = 50
MAX_CATEGORIES: Final = 1_000
MAX_FEATURES: Final = 16_383  # half of the 15 bits in a packed node; one-vs-rest tests take more columns

MAX_DEPTH: Final = 15
MAX_TREES: Final = 1_000
MAX_CANDIDATES: Final = 16_384  # of a split; a draw from more could fail (`samplers.MAX_LANES`)
LEAF_CAP: Final = 4_096  # default of the public cap on leaves of one multiway tree
MAX_LEAVES: Final = 2**20

EPSILON_MIN: Final = 1e-4
EPSILON_MAX: Final = 1e4

BLOCK_ROWS: Final = 65_536  # rows encoded and routed at a time
MAX_UPLOAD_MB: Final = 200

MIN_ROWS: Final = 2
MAX_LEAF: Final = 1e6  # that a leaf of a boosted tree adds to a score
MAX_BOUND: Final = 2_000_000  # rows: their weights, in 1/1024, are summed in 31 bits and multiplied in 62
MANY_DISTINCT: Final = 0.9  # a text column with this share of different values names rows rather than describes them
