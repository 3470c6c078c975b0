"""Tables in a user's folder, in the format of bundled tables, and how the reproductions find them."""

import json
import shutil

import pytest

from dpforest import load_dataset
from dpforest.tables.datasets import DATA, TableError
from reproduce.protocol import load
from reproduce.ranks import ranks


@pytest.fixture
def folder(tmp_path):
    entry = json.loads((DATA / "catalog.json").read_text(encoding="utf-8"))["datasets"]["zoo"]
    kept = {key: value for key, value in entry.items() if key not in ("attribution", "license", "uci_url")}
    shutil.copy(DATA / entry["file"], tmp_path)
    (tmp_path / "catalog.json").write_text(json.dumps({"datasets": {"our zoo": kept}}))
    return tmp_path


def test_a_table_of_a_folder_is_read_as_a_bundled_one(folder):
    ours, bundled = load_dataset("our zoo", folder=folder), load_dataset("zoo")
    assert ours.domain.features == bundled.domain.features and ours.table.equals(bundled.table)
    with pytest.raises(TableError, match="There is no data set 'zoo'; choose one of our zoo"):
        load_dataset("zoo", folder=folder)
    with pytest.raises(FileNotFoundError):
        load_dataset("our zoo", folder=folder / "elsewhere")


def test_bundled_tables_come_first_and_missing_tables_are_left_out(folder):
    assert load("zoo", folder).title == load_dataset("zoo").title
    assert load("our zoo", folder) is not None
    assert load("our zoo", None) is None and load("banknote", folder) is None


def test_rank_tests_match_values_by_hand():
    """Rank tests match values by hand; the first method is best on all five tables."""
    result = ranks({"a": [0.9, 0.8, 0.7, 0.95, 0.9], "b": [0.8, 0.7, 0.6, 0.9, 0.8], "c": [0.7, 0.75, 0.6, 0.8, 0.7]})
    assert result.mean_ranks == (1.0, 2.3, 2.7) and result.n_tables == 5
    # All five differences have the same sign, so the p-value is 2 / 2^5.
    assert result.wilcoxon == {"b": pytest.approx(2 / 2**5), "c": pytest.approx(2 / 2**5)}
    with pytest.raises(ValueError, match="three methods"):
        ranks({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
