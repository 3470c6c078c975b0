"""A stand-in for a browser tab of one user: Streamlit's messages over a websocket, without a browser.

The client works like Streamlit's front end. With every rerun, it sends the query string and the states of the sliders,
select boxes and radio buttons on the page. It also sends the hashes of the large messages that it has stored, so that
the server can refer to these messages instead of sending them again. A select box without a choice has no value, and a
control that is no longer on the page has no state.

With every rerun, a hostile tab also sends a choice that the select box does not offer. A browser does this only if the
user chooses while a new page with other options is on its way, which is rare.
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

XSRF = "_streamlit_xsrf"  # name of the cookie
WIDGETS = ("slider", "selectbox", "radio")
STALE = "of another tree"  # no select box offers this choice
KEPT_RUNS = 2  # number of runs of the script after which the front end drops a message that was not used again


@dataclass
class Run:
    """Times, values and errors of one run of the script. Times are in seconds of `time.monotonic`."""

    sent: float
    begun: float | None = None
    first_chart: float | None = None
    ended: float | None = None
    values: list[str] = field(default_factory=list)  # all values of the figures at the top, refined values included
    errors: list[str] = field(default_factory=list)


class Tab:
    """A page of the app, opened in a separate session.

    Parameters
    ----------
    url : str
        Address of the app, such as `http://127.0.0.1:8501`.
    page : str
        Path of the page: empty for Explore, or the name of another page.
    hostile : bool
        Whether the tab sends choices that the page does not offer.
    settings : str
        Values of controls in the address.
    """

    def __init__(self, url: str, page: str = "", *, hostile: bool = False, **settings: object) -> None:
        self.url, self.page, self.hostile = url, page, hostile
        self.query = {key: str(value) for key, value in settings.items()}
        self.run = Run(time.monotonic())
        self.widgets: dict[str, object] = {}  # the last drawn state of each control, by label
        self._states: dict[str, WidgetState] = {}
        self._script = ""
        # For each large message, by hash: its kind, the control that it draws, and the run in which it arrived last.
        self._cached_messages: dict[str, tuple[str, str, int]] = {}
        self._drawn_controls: set[str] = set()  # ids of the controls of this run
        self._runs = 0
        self._session = ""
        self._uploader = ""  # id of the last drawn file field
        self._address_of_file: FileURLs | None = None
        self._changed = asyncio.Condition()

    async def open(self) -> None:
        """Connect, and run the page for the first time."""
        address = f"ws://{urlsplit(self.url).netloc}/_stcore/stream"
        self._socket = await websockets.connect(
            address, subprotocols=[websockets.Subprotocol("streamlit")], max_size=None, compression=None
        )
        self._reading = asyncio.create_task(self._read())
        await self.rerun()

    async def close(self) -> None:
        self._reading.cancel()
        await self._socket.close()

    @property
    def dropped(self) -> bool:
        """Whether the server has closed the connection."""
        return self._reading.done()

    async def rerun(self) -> Run:
        """Request a run with the current states of the controls.

        Return a `Run` whose times and values are still empty; the messages of the server fill them in.
        """
        message = BackMsg()
        state = message.rerun_script
        state.query_string = urlencode(self.query)
        state.page_script_hash, state.page_name = self._script, "" if self._script else self.page
        state.widget_states.widgets.extend(self._state_to_send(widget) for widget in self._states.values())
        state.cached_message_hashes.extend(self._cached_messages)
        state.context_info.url = f"{self.url}/{self.page}"
        state.context_info.timezone, state.context_info.locale = "UTC", "en-US"
        state.context_info.color_scheme = "light"
        self.run = Run(time.monotonic())
        await self._socket.send(message.SerializeToString())
        return self.run

    def _state_to_send(self, state: WidgetState) -> WidgetState:
        if not self.hostile or state.WhichOneof("value") is not None:
            return state
        return WidgetState(id=state.id, string_value=STALE)

    async def move(self, label: str, steps: int) -> Run:
        """Move a control by a number of steps, turning around at its ends, and run the page."""
        widget, kind = self.widgets[label]
        state = WidgetState(id=widget.id)
        if kind == "slider" and not widget.options:
            position = int(self._states[widget.id].double_array_value.data[0]) + steps
            new = _reflected(position, int(widget.min), int(widget.max))
            state.double_array_value.data.append(new)
        else:
            state_before = self._states[widget.id]
            current = state_before.string_array_value.data[0] if kind == "slider" else state_before.string_value
            options = list(widget.options)
            place = options.index(current) if current in options else -1  # -1 if nothing is chosen
            new = options[_reflected(place + steps, 0, len(options) - 1)]
            if kind == "slider":
                state.string_array_value.data.append(new)
            else:
                state.string_value = new
        self._states[widget.id] = state
        if widget.query_param_key:
            self.query[widget.query_param_key] = str(new)
        return await self.rerun()

    async def upload(self, name: str, content: bytes) -> Run:
        """Upload a file to the page's file field, and run the page."""
        self._address_of_file = None
        request = BackMsg()
        request.file_urls_request.request_id, request.file_urls_request.session_id = name, self._session
        request.file_urls_request.file_names.append(name)
        await self._socket.send(request.SerializeToString())
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: self._address_of_file is not None)
        address = self._address_of_file
        assert address is not None
        await asyncio.to_thread(_send_file, self.url, address.upload_url, name, content)
        state = WidgetState(id=self._uploader)
        info = state.file_uploader_state_value.uploaded_file_info.add(
            name=name, size=len(content), file_id=address.file_id
        )
        info.file_urls.CopyFrom(address)
        self._states[self._uploader] = state
        return await self.rerun()

    async def until(self, event: str, seconds: float) -> bool:
        """Wait until `event` ("begun", "first_chart" or "ended") of the run is known. Return False after a timeout."""
        run = self.run
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: getattr(run, event) is not None or self.dropped)
        except TimeoutError:
            return False
        return not self.dropped

    async def _read(self) -> None:
        try:
            async for data in self._socket:
                now, message = time.monotonic(), ForwardMsg.FromString(data)
                async with self._changed:
                    self._handle(message, now)
                    self._changed.notify_all()
        except websockets.ConnectionClosed:
            pass
        finally:
            asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(self._wake()))

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _handle(self, message: ForwardMsg, now: float) -> None:
        run, kind = self.run, message.WhichOneof("type")
        if kind == "new_session":
            self._runs += 1
            self._drawn_controls = set()
            self._session = message.new_session.initialize.session_id
            run.begun = run.begun or now
        elif kind == "navigation":
            self._script = message.navigation.page_script_hash
        elif kind == "file_urls_response":
            self._address_of_file = message.file_urls_response.file_urls[0]
        elif kind == "ref_hash":
            element_kind, control, _ = self._cached_messages[message.ref_hash]
            self._cached_messages[message.ref_hash] = element_kind, control, self._runs
            self._drawn_controls.add(control)
            self._record_chart(element_kind, now)
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            element_kind = element.WhichOneof("type") or ""
            if message.metadata.cacheable:
                control = getattr(element, element_kind).id if element_kind in WIDGETS else ""
                self._cached_messages[message.hash] = element_kind, control, self._runs
            self._record_chart(element_kind, now)
            if element_kind in WIDGETS:
                self._record_control(getattr(element, element_kind), element_kind)
            elif element_kind == "file_uploader":
                self._uploader = element.file_uploader.id
                self._drawn_controls.add(self._uploader)
            elif element_kind == "exception":
                run.errors.append(f"{element.exception.type}: {element.exception.message}")
            elif element_kind == "markdown" and element.markdown.body.startswith("### ") and run.begun:
                run.values.append(element.markdown.body[4:])
        elif kind == "script_finished" and run.begun is not None:
            if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                run.ended = now
                self._forget_controls()
            elif message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                run.errors.append("the script does not compile")
            self._cached_messages = {
                hash: entry for hash, entry in self._cached_messages.items() if entry[-1] > self._runs - KEPT_RUNS
            }

    def _record_chart(self, element_kind: str, now: float) -> None:
        if element_kind == "plotly_chart" and self.run.begun is not None and self.run.first_chart is None:
            self.run.first_chart = now

    def _forget_controls(self) -> None:
        """Forget the controls that the last complete run did not draw, because they are no longer on the page."""
        self._states = {name: state for name, state in self._states.items() if name in self._drawn_controls}
        self.widgets = {label: drawn for label, drawn in self.widgets.items() if drawn[0].id in self._drawn_controls}

    def _record_control(self, widget, kind: str) -> None:
        """Record a drawn control.

        The tab takes over the drawn value if the app or the address has set it, or if the control is new to the tab.
        """
        self.widgets[widget.label] = widget, kind
        self._drawn_controls.add(widget.id)
        if widget.id in self._states and not widget.set_value:
            return
        state = WidgetState(id=widget.id)
        if kind != "slider":
            # If the message lacks this field, nothing is chosen in the select box.
            if widget.HasField("raw_value" if widget.set_value else "default"):
                state.string_value = widget.raw_value if widget.set_value else widget.options[widget.default]
        elif widget.options:
            first = widget.raw_value[0] if widget.set_value else widget.options[int(widget.default[0])]
            state.string_array_value.data.append(first)
        else:
            state.double_array_value.data.append((widget.value if widget.set_value else widget.default)[0])
        self._states[widget.id] = state


def _send_file(url: str, path: str, name: str, content: bytes) -> None:
    """Send a file to the server as a browser does, with the token against forged requests."""
    with urllib.request.urlopen(f"{url}/_stcore/health") as health:
        cookie = str(health.headers["Set-Cookie"] or "")
    token = next(part.partition("=")[2] for part in cookie.replace(",", ";").split(";") if XSRF in part)
    edge = "edge"
    start = (
        f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    )
    body = start.encode() + content + f"\r\n--{edge}--\r\n".encode()
    headers = {
        "Content-Type": f"multipart/form-data; boundary={edge}",
        "Cookie": f"{XSRF}={token}",
        "X-Xsrftoken": token,
    }
    request = urllib.request.Request(f"{url}{path}", body, headers, method="PUT")
    urllib.request.urlopen(request, timeout=120).close()


def _reflected(place: int, low: int, high: int) -> int:
    """Return an index within the bounds. An index beyond a bound is reflected at this bound."""
    if place > high:
        place = 2 * high - place
    return min(max(2 * low - place if place < low else place, low), high)
