"""The words of bundled tables fit the tables: each story has a word for every class of its table, or for none."""

import pytest

from dpforest.tables.features import text
from ui.explore.stories import _STORIES, class_words
from ui.shared import tables


@pytest.mark.parametrize("name", [name for name, story in _STORIES.items() if story.classes])
def test_each_class_has_a_word_of_its_table(name):
    data = tables.bundled(name)
    words = _STORIES[name].classes
    assert set(words) == {text(label) for label in data.domain.classes}
    assert len(set(words.values())) == len(words)
    table = tables.bundled_table(data, data.label)
    assert class_words(table) == [words[text(label)] for label in data.domain.classes]


def test_another_label_keeps_its_classes():
    data = tables.bundled("mushroom")
    label = next(label for label in tables.label_choices(data) if label != data.label)
    table = tables.bundled_table(data, label)
    assert class_words(table) == [text(one) for one in table.domain.classes]
