"""An upload whose classes or values look alike, or which has a class with one row, gets a message on the Data tab."""

import numpy as np
import pandas as pd

from tests.ui.app_words import words
from ui.shared import tables


def upload(app, frame: pd.DataFrame) -> str:
    app.query_params.update({"data": tables.UPLOAD, "tab": "Data"})
    app.run()
    app.file_uploader[0].upload("own.csv", frame.to_csv(index=False).encode()).run()
    assert not app.exception
    return words(app)


def test_values_that_look_alike_are_reported(app):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Bern", "bern", "Basel", "Basel\u200b"], 60),
            "size": rng.choice(["S", "L"], 60),
            "ill": ["Yes", "no"] * 29 + ["yes", "no"],
        }
    )
    text = upload(app, frame)
    assert "Values of “town” that look alike: " in text and "“Basel” and “Basel" in text
    assert "Bern” and “bern" not in text and "Classes that look" not in text, "the cards propose these spellings"
    assert "“size”" not in text
    assert "Only one row has the class “yes”." in text


def test_different_values_get_no_message(app):
    frame = pd.DataFrame({"town": ["Bern", "Basel"] * 30, "ill": ["yes", "no", "no", "yes"] * 15})
    text = upload(app, frame)
    assert "look alike" not in text and "Only one row" not in text
