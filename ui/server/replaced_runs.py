"""A run of a page that another one has replaced ends where it looks at the whole state of the session.

A moved control starts a new run at once, in a thread of its own, while the run before goes on to the next place where
Streamlit looks whether it may. Both change one state, each under a lock of its own. Select boxes, radio buttons, and
fields for numbers and text read all of it, and there Streamlit does not look: the run fails with `RuntimeError` or
`KeyError` where the other one adds or removes a value meanwhile, about once in a thousand moves of thirty people.
"""

from __future__ import annotations

from typing import Any, Final

from streamlit.runtime.state.safe_session_state import SafeSessionState

MOST: Final = 100  # times in a row that the state changes while it is read; once is rare


def end_replaced_runs() -> None:
    """From now on, in this process; what reads the state again is as before for a run that goes on."""
    SafeSessionState.filtered_state = property(_filtered_state)  # type: ignore[method-assign, assignment]


def _filtered_state(self: SafeSessionState) -> dict[str, Any]:
    """All values by key, as of one moment."""
    for _ in range(MOST):
        self._yield_callback()  # ends this run if another one has replaced it
        try:
            with self._lock:
                return self._state.filtered_state
        except (RuntimeError, KeyError):
            continue
    raise RuntimeError("The state of the session changes faster than it can be read.")
