"""The release button: once its noise is drawn, a release counts and is stored, whatever the user presses meanwhile."""

from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest

from tests.ui.test_use_page import choice
from ui.releasing import release


def only_the_button() -> None:
    """Release, as the dialog does when a user presses its button."""
    import streamlit as st

    from ui.releasing import release

    if st.button("now"):
        release._release(st.session_state["choice"], 1)


def test_a_dialog_that_is_closed_while_noise_is_drawn_loses_no_release(monkeypatch):
    """If a user closes the dialog, the run ends at its next call of Streamlit. The app stores the release before."""
    drawn, make = [], release.make

    def closed_meanwhile(*of):
        drawn.append(make(*of))
        get_script_run_ctx().script_requests.request_rerun(RerunData())
        return drawn[-1]

    monkeypatch.setattr(release, "make", closed_meanwhile)
    app = AppTest.from_function(only_the_button, default_timeout=600)
    app.session_state["choice"] = choice("zoo")
    app.run().button[0].click().run()
    assert not app.exception
    assert len(drawn) == 1 and app.session_state["releases"] == drawn
