"""A page in process (AppTest), and what it says."""

from streamlit.testing.v1 import AppTest


def visit(path: str = "", **query) -> AppTest:
    """Run a page, or Explore, with a query in its address."""
    page = AppTest.from_file("../../app.py", default_timeout=600)
    if path:
        page.switch_page(path)
    page.query_params.update(query)
    page.run()
    assert not page.exception
    return page


def words(app: AppTest) -> str:
    """All that the page says, with plain spaces."""
    elements = [*app.main.markdown, *app.main.caption, *app.sidebar.caption, *app.info, *app.warning]
    return "\n".join(e.value for e in elements).replace("\u00a0", " ")
