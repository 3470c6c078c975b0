"""Undocumented parts of Streamlit that the app reads."""

from __future__ import annotations

from typing import Any, Final, cast

import plotly.graph_objects as go
from streamlit import net_util, runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile
from streamlit.web.server.server_util import get_url

# Routes of the server.
# Reason: the middleware treats requests for these routes in a special way, and Streamlit does not document their names.
# Gain: the middleware recognizes the requests. With wrong names, it would treat them like any other request.
# Test: `test_the_server_has_the_routes_that_the_guards_know`
UPLOAD_ROUTE: Final = "_stcore/upload_file"
METRICS_ROUTE: Final = "_stcore/metrics"  # refused, because it states how many bytes other users have uploaded
SESSION_ROUTE: Final = "_stcore/stream"  # the websocket of a session
HEALTH_ROUTE: Final = "_stcore/health"  # a page requests this route before it opens its websocket
NOT_PAGES: Final = frozenset({"_stcore", "media", "component", "static"})  # first parts of all paths except of pages


class UncheckedFigure(go.Figure):
    """A plotly figure made from a checked dict. Neither plotly nor Streamlit checks or copies the dict again.

    Reason: to check a dict, Streamlit builds a plotly figure from it, which checks each property of each trace.
    Gain: after a user moves a control on Explore, the server computes for 47 ms, not 57 ms (`reruns` of the benchmark,
    medians of 5 pairs, less in all 5).
    Test: `test_streamlit_sends_an_unchecked_figure_as_it_is`
    """

    def __init__(self, figure: dict[str, Any]) -> None:
        object.__setattr__(self, "_dict", figure)

    def to_dict(self) -> dict[str, Any]:
        """Return the dict itself, not a copy."""
        return self._dict


def let_draw_again(key: str) -> None:
    """Let a run of a page draw the component with this key once more. The browser then updates the component in place.

    Reason: Streamlit refuses a second element with a key that the run has used.
    Gain: the drawing with sliders on Explore gets more precise numbers while the run computes. With another key, the
    browser would build a new drawing, and a user who drags a slider would lose the slider.
    Test: `test_a_component_can_be_drawn_again_in_one_run`
    """
    if (context := get_script_run_ctx()) is not None:
        for used in (context.shared.widget_ids_this_run, context.shared.widget_user_keys_this_run):
            used._data -= {name for name in used.snapshot() if name == key or name.endswith(f"-{key}")}


def current_runtime() -> Any:
    """Return the Streamlit runtime of this process.

    Reason: the runtime holds the files and the sessions, which the limits on uploads must count.
    Gain: uploads have limits for a session and for the server. Streamlit limits only the size of one file.
    Test: `test_the_runtime_knows_files_and_sessions`
    """
    return runtime.get_instance()


def has_ended(server: Any, session: str) -> bool:
    """Return whether a session of a runtime has ended.

    Reason: Streamlit removes the files of a session that has ended only when another session ends later.
    Gain: files of ended sessions are removed at the next upload, so that they do not use up the limit of the server.
    Test: `test_the_runtime_knows_files_and_sessions`
    """
    return server._session_mgr.get_session_info(session) is None


def files_of_this_session() -> tuple[MemoryUploadedFileManager, str] | None:
    """Return the manager of uploads, and the id of the session whose page runs in this thread.

    Reason: *Clear my data* removes files, and a page warns before a limit is reached. Streamlit has no documented
    function for removing or counting files.
    Gain: a file is gone when its user clears the data. Streamlit would keep the file as long as the session.
    Test: `test_a_page_reaches_the_files_of_its_session`
    """
    context = get_script_run_ctx()
    return None if context is None else (cast(MemoryUploadedFileManager, context.uploaded_file_mgr), context.session_id)


def is_upload(value: object) -> bool:
    """Return whether a value has the type that `st.file_uploader` returns.

    Reason: the state of a session can hold a value of any type under the key of a file field.
    Gain: a value of another type is dropped, and the page does not fail.
    Test: `test_a_page_reaches_the_files_of_its_session`
    """
    return isinstance(value, UploadedFile)


def app_url(host: str) -> str:
    """Return the URL of the app under a host name.

    Reason: Streamlit's greeting prints the URL, but it also asks another host for the public address of this machine.
    So the greeting is off, and `host_names.addresses` prints the URL.
    Gain: the server prints its addresses at startup, and asks no other host.
    Test: `test_the_start_knows_its_addresses`
    """
    return get_url(host)


def network_address() -> str:
    """Return the address of this machine in its network, for `app_url`. Reason, gain and test are the same."""
    return str(net_util.get_internal_ip())
