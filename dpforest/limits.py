"""All limits and defaults of the package."""

from typing import Final

# Numeric features are read on a public grid; codes are uint16.
N_CODES: Final = 65_536
MISSING_STRIP: Final = N_CODES // 11  # codes below a numeric range, if "missing" is a separate value

MIN_CLASSES: Final = 2
MAX_CLASSES: Final = 50
MAX_CATEGORIES: Final = 1_000
MAX_FEATURES: Final = 16_383  # half of what 15 bits of a packed node hold; one-vs-rest tests take more columns

MAX_DEPTH: Final = 15
MAX_TREES: Final = 1_000
MAX_CANDIDATES: Final = 16_384  # candidates of a split; a draw from more could fail (`samplers.MAX_LANES`)
LEAF_CAP: Final = 4_096  # default of the public cap on leaves of one multiway tree
MAX_LEAVES: Final = 2**20

EPSILON_MIN: Final = 1e-4
EPSILON_MAX: Final = 1e4
# δ bounds the chance of a loss above ε. A promise that can fail for more than one person in ten protects nobody.
DELTA_MIN: Final = 1e-15
DELTA_MAX: Final = 0.1

# Limits of a whole forest: whatever can be fitted can be read from a file, so no release is lost.
MAX_FOREST_TREES: Final = MAX_TREES * MAX_CLASSES  # a boosted forest has separate trees for each class
MAX_FOREST_LEAVES: Final = 6_000_000
MAX_FOREST_NODES: Final = 2 * MAX_FOREST_LEAVES  # every test has at least two answers
MAX_LEAF_NUMBERS: Final = 2**25  # leaves times classes

BLOCK_ROWS: Final = 65_536  # rows encoded and routed at a time
MAX_UPLOAD_MB: Final = 200

# Limits of a file: every forest within the limits above takes less.
MAX_FILE_BYTES: Final = MAX_UPLOAD_MB * 2**20  # compressed
MAX_JSON_BYTES: Final = 2**28  # not compressed
MAX_WIDE_BYTES: Final = 2**25  # JSON with characters beyond ASCII, which our files never have
MAX_JSON_VALUES: Final = 2_000_000  # values in lists and objects; arrays of leaves and nodes are packed
MAX_DOMAIN_BYTES: Final = 2**24  # a domain as JSON
MAX_DOMAIN_VALUES: Final = MAX_JSON_VALUES // 3  # the certificate repeats values of the domain
MAX_NAME: Final = 1_000  # characters of a name, a category or a class
MAX_NOTE: Final = 10_000  # characters of a sentence

MIN_ROWS: Final = 2
MAX_LEAF: Final = 1e6  # most that a leaf of a boosted tree adds to a score
MAX_BOUND: Final = 2_000_000  # rows; their weights, in 1/1024, are summed in 31 bits and multiplied in 62
MANY_DISTINCT: Final = 0.9  # a text column with this share of distinct values names rows rather than describes them
