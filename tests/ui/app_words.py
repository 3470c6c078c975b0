"""What a page in process (AppTest) says."""

from streamlit.testing.v1 import AppTest


def words(app: AppTest) -> str:
    """All that the page says, with plain spaces."""
    elements = [*app.main.markdown, *app.main.caption, *app.sidebar.caption, *app.info, *app.warning]
    return "\n".join(e.value for e in elements).replace("\u00a0", " ")
