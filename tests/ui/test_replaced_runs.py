"""Two runs of a page share one state: the one that is replaced ends, the other one reads on."""

import pytest
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from ui.server.replaced_runs import end_replaced_runs


class Replaced(BaseException):
    """What Streamlit raises to end a run."""


class ChangedMeanwhile(dict):
    """Values of a session, of which another run removes or adds some while they are listed for the first time."""

    n_listed = 0

    def __iter__(self):
        for key in super().__iter__():
            yield key
            self.n_listed += 1
            if self.n_listed == 1:
                self.change()

    def change(self) -> None:
        self["added"] = 1


class GoneMeanwhile(ChangedMeanwhile):
    def change(self) -> None:
        pass

    def __getitem__(self, key):
        if self.n_listed <= len(self):
            raise KeyError(key)
        return super().__getitem__(key)


@pytest.fixture(autouse=True)
def _mended(monkeypatch):
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)  # as before, afterwards
    end_replaced_runs()


def state_of(values: dict) -> SessionState:
    state = SessionState()
    state._old_state = values
    return state


@pytest.mark.parametrize("kind", [ChangedMeanwhile, GoneMeanwhile])
def test_a_run_that_goes_on_reads_again(kind):
    values = kind(a=1, b=2)
    read = SafeSessionState(state_of(values), lambda: None).filtered_state
    assert read == dict(values) and {"a", "b"} <= set(read)


def test_a_run_that_was_replaced_ends():
    def look() -> None:
        raise Replaced

    with pytest.raises(Replaced):
        _ = SafeSessionState(state_of({"a": 1}), look).filtered_state


def test_a_state_that_never_stands_still_is_an_error():
    class Never(dict):
        def __iter__(self):
            raise RuntimeError("dictionary changed size during iteration")

    with pytest.raises(RuntimeError, match="faster than it can be read"):
        _ = SafeSessionState(state_of(Never(a=1)), lambda: None).filtered_state
