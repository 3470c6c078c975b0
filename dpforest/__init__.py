"""Differentially private decision forests that people can see, trust and use."""

from dpforest.evaluation.recommendation import Recommendation, recommend
from dpforest.models import file_consistency
from dpforest.models.boosting.booster import RandomTreeBoosterClassifier
from dpforest.models.boosting.rows_on_workers import FitStoppedError
from dpforest.models.greedy.boosted import BoostedForestClassifier
from dpforest.models.greedy.friedman_schuster import FriedmanSchusterClassifier
from dpforest.models.greedy.multinomial import MultinomialForestClassifier
from dpforest.models.random.baselines import (
    JagannathanForestClassifier,
    RandomForestExponentialClassifier,
    RandomForestLaplaceClassifier,
)
from dpforest.models.random.majority_label import MajorityLabelForestClassifier
from dpforest.models.random.random_decision import RandomDecisionForestClassifier
from dpforest.models.repeated_fits import RepeatedReleaseWarning
from dpforest.tables.chunked_files import read_chunks
from dpforest.tables.csv_rows import read_table
from dpforest.tables.datasets import load_dataset, make_synthetic, read_csv
from dpforest.tables.date_columns import date_attributes
from dpforest.tables.dates import DatePart
from dpforest.tables.domain import Domain, DomainError, Feature, PrivacyLeakWarning
from dpforest.tables.out_of_domain import OutOfDomainWarning
from dpforest.trees.forest import ReleasedForest
from dpforest.trees.forest_file import check_on_reading

__version__ = "0.2.0"

# `forest_file` cannot import the estimators, so it gets from here the check that needs them.
check_on_reading(file_consistency.check)

__all__ = [
    "BoostedForestClassifier",
    "DatePart",
    "Domain",
    "DomainError",
    "Feature",
    "FitStoppedError",
    "FriedmanSchusterClassifier",
    "JagannathanForestClassifier",
    "MajorityLabelForestClassifier",
    "OutOfDomainWarning",
    "MultinomialForestClassifier",
    "PrivacyLeakWarning",
    "RandomDecisionForestClassifier",
    "RandomTreeBoosterClassifier",
    "RandomForestExponentialClassifier",
    "RandomForestLaplaceClassifier",
    "Recommendation",
    "ReleasedForest",
    "RepeatedReleaseWarning",
    "date_attributes",
    "load_dataset",
    "make_synthetic",
    "read_chunks",
    "read_csv",
    "read_table",
    "recommend",
]
