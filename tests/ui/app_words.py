"""Pages run by AppTest, and the text that they show."""

from streamlit.testing.v1 import AppTest


def visit(path: str = "", **query) -> AppTest:
    """Run Explore, or the page at `path`, with a query in its address."""
    page = AppTest.from_file("../../app.py", default_timeout=600)
    if path:
        page.switch_page(path)
    page.query_params.update(query)
    page.run()
    assert not page.exception
    return page


def controls() -> AppTest:
    """Return a page with the controls of Explore only, which simulates no releases.

    The page has not run yet, so a test can set its address first.
    """

    def page() -> None:
        from ui.shared import sidebar
        from ui.shared.epsilon import choose_epsilon

        sidebar.choose(choose_epsilon())

    return AppTest.from_function(page, default_timeout=600)


def words(app: AppTest) -> str:
    """Return all text of a page. Non-breaking spaces become plain spaces."""
    elements = [*app.main.markdown, *app.main.caption, *app.sidebar.caption, *app.info, *app.warning]
    return "\n".join(e.value for e in elements).replace("\u00a0", " ")
