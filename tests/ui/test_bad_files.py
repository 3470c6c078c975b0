"""An upload that is not a table gets one clear message, and the page stays usable."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.tables.bad_tables import ONE_BAD_COLUMN, REFUSED
from tests.ui.app_words import words

TRACE = re.compile(r"Traceback|\wError\b|Exception|\.py\b|line \d+, in ")
GOOD = "age;ill\n" + "".join(f"{20 + i % 60};{'ja' if i % 60 > 25 else 'nein'}\n" for i in range(200))


@pytest.fixture
def upload_page(app) -> AppTest:
    app.query_params["data"] = "upload a CSV"
    return app.run()


@pytest.mark.slow
def test_refused_one_after_the_other(upload_page):
    """The same session refuses all bad files in turn, and then accepts a good file."""
    for name, bad in REFUSED.items():
        upload_page.file_uploader[0].upload(f"{name}.csv", bad.data).run()
        assert not upload_page.exception, name
        (message,) = [warning.value for warning in upload_page.warning]
        assert re.search(bad.says, message) and 20 < len(message) < 220 and message.endswith("."), f"{name}: {message}"
        assert not TRACE.search(words(upload_page)) and ":red" not in words(upload_page), name
        assert not upload_page.get("plotly_chart"), name
    upload_page.file_uploader[0].upload("good.csv", GOOD.encode()).run()
    assert not upload_page.exception and not upload_page.warning and upload_page.get("plotly_chart")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(name, marks=pytest.mark.slow) if i % 2 else name
        for i, name in enumerate(name for name in ONE_BAD_COLUMN if name != "10,000 categories")
    ],
)
def test_one_bad_column(upload_page, fault):
    """One message names the bad column and the reason, and the app uses the other columns."""
    bad = ONE_BAD_COLUMN[fault]
    upload_page.session_state["tab"] = "Data"
    upload_page.file_uploader[0].upload(f"{fault}.csv", bad.data).run()
    assert not upload_page.exception and upload_page.get("plotly_chart")
    sentences = [line for line in words(upload_page).splitlines() if re.search(bad.says, line.replace("*", ""), re.I)]
    assert len(sentences) == 1, words(upload_page)
    assert not TRACE.search(words(upload_page))
    upload_page.select_slider(key="eps").set_value(0.01).run()
    assert not upload_page.exception and ":red" not in words(upload_page)
