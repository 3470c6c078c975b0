"""The stored accuracy of scikit-learn on bundled tables without privacy was computed on the present tables."""

import json
from dataclasses import replace

import pytest

from dpforest.evaluation.nonprivate import metrics_of
from dpforest.tables.datasets import list_datasets
from ui.jobs import baselines
from ui.jobs.baselines import PATH, baselines_of, key_of
from ui.shared import tables

STORED = json.loads(PATH.read_text(encoding="utf-8"))


def table(name: str) -> tables.Table:
    data = tables.bundled(name)
    return tables.bundled_table(data, data.label)


def test_the_file_covers_all_bundled_tables_with_their_present_domains():
    """The file covers every bundled table with its current domain. scripts/without_privacy.py writes the file again."""
    assert {name: entry["of"] for name, entry in STORED.items()} == {n: key_of(table(n)) for n in list_datasets()}


@pytest.mark.parametrize("name", ["zoo", "hepatitis", "ionosphere"])
def test_stored_baselines_equal_those_of_a_fit(name):
    data = table(name)
    fitted = metrics_of(data.domain, tables.split(data))
    for model, metrics in fitted.items():
        assert STORED[name]["metrics"][model] == pytest.approx(metrics, abs=1e-9, nan_ok=True), model


def test_a_page_has_it_at_once_and_another_domain_or_label_has_not():
    assert baselines_of(table("adult")).metrics == STORED["adult"]["metrics"]
    hepatitis = table("hepatitis")
    narrower = replace(hepatitis.domain, features=hepatitis.domain.features[1:])
    assert not baselines_of(replace(hepatitis, domain=narrower)).done
    data = tables.bundled("hepatitis")
    other = next(label for label in tables.label_choices(data) if label != data.label)
    assert not baselines_of(tables.bundled_table(data, other)).done
    assert not baselines_of(hepatitis, folds=5).done
    assert baselines.best_model([baselines_of(hepatitis)], "accuracy") is not None
