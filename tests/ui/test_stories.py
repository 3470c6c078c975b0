"""The stories of bundled tables fit the tables: each story has a word for every class of its table, or for no class."""

import pytest

from dpforest.tables.datasets import readable_names
from dpforest.tables.features import text
from ui.explore.stories import _STORIES, class_words
from ui.shared import tables


@pytest.mark.parametrize("name", _STORIES)
def test_each_unclear_name_of_a_bundled_table_has_a_word(name):
    data = tables.bundled(name)
    columns, classes = readable_names(name)
    names = [feature.name for feature in data.domain.features]
    assert set(columns) <= set(names) and not classes or set(classes) == {text(label) for label in data.domain.classes}
    for words in (*[columns.get(each, each) for each in names],), tuple(classes.values()):
        assert len(set(words)) == len(words) and all(len(word) <= 44 and "_" not in word for word in words)
    table = tables.bundled_table(data, data.label)
    assert class_words(table) == [classes.get(text(label), text(label)) for label in data.domain.classes]


def test_another_label_keeps_its_classes():
    data = tables.bundled("mushroom")
    label = next(label for label in tables.label_choices(data) if label != data.label)
    table = tables.bundled_table(data, label)
    assert class_words(table) == [text(one) for one in table.domain.classes]
