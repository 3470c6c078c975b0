"""Limits of sizes, numbers and files that the package accepts, and a few shared defaults."""

from typing import Final

# A fit replaces each value by a code of type uint16. The codes of a numeric feature are positions on a public grid.
N_CODES: Final = 65_536
# In a numeric feature that may have missing cells, all codes below this one stand for a missing cell.
MISSING_STRIP: Final = N_CODES // 11

MIN_CLASSES: Final = 2
MAX_CLASSES: Final = 50
MAX_CATEGORIES: Final = 1_000
MAX_WORDS: Final = 100  # number of words that mean a missing cell of an attribute
MAX_SPELLINGS: Final = 1_000  # number of spellings of the values of an attribute, or of the classes
# A packed tree node has 15 bits for the number of the column that it tests. Half of these numbers are for attributes,
# and the other half are for the additional columns of one-vs-rest tests.
MAX_FEATURES: Final = 16_383

MAX_DEPTH: Final = 15
MAX_TREES: Final = 1_000
MAX_CANDIDATES: Final = (
    16_384  # number of candidates of a split; with more, a draw could need more than `samplers.MAX_LANES` random words
)
LEAF_CAP: Final = 4_096  # default of the public cap on leaves of one multiway tree
MAX_LEAVES: Final = 2**20

EPSILON_MIN: Final = 1e-4
EPSILON_MAX: Final = 1e4
# (ε, δ)-privacy allows a mechanism that publishes each row with probability δ, so a δ above 1/10 protects nobody.
DELTA_MIN: Final = 1e-15
DELTA_MAX: Final = 0.1

# Limits of a whole forest. A fit refuses settings that could exceed them, so every released forest can be loaded again.
MAX_FOREST_TREES: Final = MAX_TREES * MAX_CLASSES  # a boosted forest has separate trees for each class
MAX_FOREST_LEAVES: Final = 6_000_000
MAX_FOREST_NODES: Final = 2 * MAX_FOREST_LEAVES  # an inner node has at least two children
MAX_LEAF_NUMBERS: Final = 2**25  # number of leaves times number of classes

BLOCK_ROWS: Final = 65_536  # number of rows that are encoded and routed at a time
MAX_UPLOAD_MB: Final = 200

# Limits of a file. Every forest within the limits above has a smaller file.
MAX_FILE_BYTES: Final = MAX_UPLOAD_MB * 2**20  # size of a compressed file
MAX_JSON_BYTES: Final = 2**28  # size of the JSON text, not compressed
# Size of a JSON text with characters beyond ASCII, because each of its characters can take four bytes in memory.
# dpforest writes only ASCII, but other programs may write such a file.
MAX_WIDE_BYTES: Final = 2**25
MAX_JSON_VALUES: Final = 2_000_000  # number of values in lists and objects; arrays of leaves and nodes are packed
MAX_DOMAIN_BYTES: Final = 2**24  # size of a domain as JSON text
MAX_DOMAIN_VALUES: Final = MAX_JSON_VALUES // 3  # number of values in a domain, which the certificate repeats
MAX_NAME: Final = 1_000  # number of characters of a name, a category or a class
MAX_NOTE: Final = 10_000  # number of characters of a note, such as the note on the source of a public range

MIN_ROWS: Final = 2
MAX_LEAF: Final = 1e6  # largest addition of a leaf of a boosted tree to a score
# Largest number of rows. With this limit, a sum of row weights, in units of 1/1024, fits in 31 bits, and the product of
# two such sums fits in 62 bits.
MAX_BOUND: Final = 2_000_000
# Largest number of rows of a forest that only adds up gradients. A row or person adds at most 2**14 to a sum, in steps
# of 1/2**14, and the samplers accept sums below 2**62.
MAX_SUMMED_ROWS: Final = 2**40
MANY_DISTINCT: Final = 0.9  # a text column with at least this share of distinct values is taken for identifiers
