"""Each patch of Streamlit is still needed, finds the code that it relies on, and works.

If a test fails after an upgrade, correct the patch if Streamlit has moved something, and delete it if Streamlit no
longer needs it ("Upgrade Streamlit" in docs/CONTRIBUTING.md).
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import json
import os
import re
import socket
import sys
import threading
import tomllib
from collections.abc import Iterator
from functools import cache
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.runtime import Runtime, RuntimeConfig
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from streamlit.web.server.app_discovery import discover_asgi_app
from streamlit.web.server.starlette.starlette_app import create_streamlit_routes
from streamlit.web.server.starlette.starlette_server import _bind_socket

from ui.server.front_end import files
from ui.server.streamlit_patches import internals, process, scripts, styles

HOME = Path(__file__).parents[2]
FOLDER = HOME / "ui" / "server" / "streamlit_patches"
MODULES = [importlib.import_module(f"ui.server.streamlit_patches.{path.stem}") for path in FOLDER.glob("[!_]*.py")]


@cache
def bundle() -> str:
    """Return the text of all scripts of Streamlit's front end."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(scripts.FOLDER.glob("*.js")))


def is_text_in_bundle(text: str) -> bool:
    return any(f"{mark}{text}{mark}" in bundle() for mark in "\"'`")


def page_of(script: str) -> AppTest:
    return AppTest.from_string(script, default_timeout=60).run()


# The list of patches


def test_each_patch_gives_its_reason_its_gain_and_its_tests():
    entries = [
        inspect.getdoc(entry) or ""
        for module in (process, internals)
        for name, entry in vars(module).items()
        if (inspect.isfunction(entry) or inspect.isclass(entry)) and entry.__module__ == module.__name__
        if not name.startswith("_")
        # `apply` lists the patches, and `network_address` is a part of `app_url`.
        and name not in ("apply", "network_address")
    ]
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]
    assert len(entries) > 10
    for text in entries:
        assert re.findall(r"^(Reason|Gain|Test): \S", text, re.MULTILINE) == ["Reason", "Gain", "Test"], text
    for text in texts:
        kinds = re.findall(r"^ *#? ?(Reason|Gain|Test): \S", text, re.MULTILINE)
        assert kinds == ["Reason", "Gain", "Test"] * (len(kinds) // 3)
    named = {name for text in texts for name in re.findall(r"`(test_\w+)`", "".join(re.findall(r"Test: .+", text)))}
    assert named and named <= {name for name in globals() if name.startswith("test_")}


PRIVATE = re.compile(
    r"data-testid|sys\.modules|setswitchinterval|\bgc\.\w|_stcore|__streamlit|get_preparation_data"
    r"|streamlit\.(?:runtime|web|config|net_util)|from streamlit import (?:config|runtime|net_util)"
    r"|(?<!\w)(?!self\b|cls\b)\w+\._(?!replace\b|exit\b)[a-z]\w*"
)


def test_no_other_file_of_the_app_reaches_into_streamlit():
    paths = [HOME / "app.py", *(HOME / "pages").glob("*.py"), *(HOME / "ui").rglob("*.py")]
    others = [path for path in paths if FOLDER not in path.parents]
    assert len(others) > 50
    private = {path.relative_to(HOME).as_posix(): PRIVATE.findall(path.read_text(encoding="utf-8")) for path in others}
    assert {path: names for path, names in private.items() if names} == {}


# Changes in the process


@pytest.fixture
def unpatched(monkeypatch) -> Iterator[None]:
    """After the test, undo all changes that patches make in the process."""
    monkeypatch.setattr(config, "get_option", process._get_option)
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)
    monkeypatch.setattr(SafeSessionState, "on_script_finished", SafeSessionState.on_script_finished)
    monkeypatch.setattr(spawn, "get_preparation_data", process._preparation_data)
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)


def sends_without_delay(listening: socket.socket) -> bool:
    """Return whether asyncio disables Nagle's algorithm for connections to this socket."""
    off: list[int] = []

    class Answer(asyncio.Protocol):
        def connection_made(self, transport) -> None:
            accepted = transport.get_extra_info("socket")
            off.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def connect() -> None:
        server = await asyncio.get_running_loop().create_server(Answer, sock=listening)
        async with server:
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            await reader.read()
            writer.close()

    asyncio.run(connect())
    return bool(off[0])


@pytest.mark.parametrize("is_patched", [False, True])
def test_a_connection_of_streamlit_s_socket_sends_without_delay(is_patched):
    with _bind_socket("127.0.0.1", 0, 10) as listening:
        if is_patched:
            assert process.send_without_delay() >= 1
        assert sends_without_delay(listening) == is_patched


def test_sockets_that_do_not_listen_stay_as_they_are():
    with socket.socket() as listening, socket.socket() as other, open(__file__):
        for one in (listening, other):
            one.bind(("127.0.0.1", 0))
        listening.listen()
        before = os.listdir("/proc/self/fd")
        assert process.send_without_delay() >= 1
        assert os.listdir("/proc/self/fd") == before  # no file handle stays open
        assert not other.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def is_read_while_locked() -> bool:
    """Return whether another thread can read an option while this thread holds Streamlit's lock."""
    values: list[Any] = []
    reader = threading.Thread(target=lambda: values.append(config.get_option("server.port")))
    with config._config_lock:
        reader.start()
        reader.join(0.2 if config.get_option is process._get_option else 10)
        was_read = bool(values)
    reader.join(10)
    assert values
    return was_read


def test_options_are_read_while_another_thread_holds_streamlit_s_lock(unpatched):
    assert not is_read_while_locked()
    process.read_options_without_lock()
    assert is_read_while_locked()


def test_options_have_the_values_that_streamlit_gives(unpatched):
    before = {key: config.get_option(key) for key in config.get_config_options()}
    process.read_options_without_lock()
    assert {key: config.get_option(key) for key in before} == before and len(before) > 50
    port = config.get_option("server.port")
    config.set_option("server.port", 4321)
    assert config.get_option("server.port") == 4321
    config.set_option("server.port", port)
    with pytest.raises(RuntimeError, match="not defined"):
        config.get_option("server.nothing")


class Replaced(BaseException):
    """Stands for the exception that Streamlit raises to end a run."""


class ChangedMeanwhile(dict):
    """Values of a session. Another run changes them during the first iteration over them."""

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


def state_of(values: dict) -> SessionState:
    state = SessionState()
    state._old_state = values
    return state


@pytest.mark.parametrize(("kind", "error"), [(ChangedMeanwhile, RuntimeError), (GoneMeanwhile, KeyError)])
def test_a_run_that_goes_on_reads_the_state_again(unpatched, kind, error):
    with pytest.raises(error):
        _ = SafeSessionState(state_of(kind(a=1, b=2)), lambda: None).filtered_state
    process.end_replaced_runs()
    values = kind(a=1, b=2)
    read = SafeSessionState(state_of(values), lambda: None).filtered_state
    assert read == dict(values) and {"a", "b"} <= set(read)


def test_a_run_ends_although_another_run_changes_the_state(unpatched):
    def ended() -> SessionState:
        state = state_of(ChangedMeanwhile(a=1, b=2))
        SafeSessionState(state, lambda: None).on_script_finished(frozenset())
        return state

    with pytest.raises(RuntimeError):
        ended()
    process.end_replaced_runs()
    assert {"a", "b"} <= set(ended()._old_state)


def test_a_run_that_was_replaced_ends_where_it_reads_the_state(unpatched):
    def check() -> None:
        raise Replaced

    state = SafeSessionState(state_of({"a": 1}), check)
    assert state.filtered_state == {"a": 1}  # without the patch, Streamlit does not check whether the run was replaced
    process.end_replaced_runs()
    with pytest.raises(Replaced):
        _ = state.filtered_state
    with pytest.raises(Replaced):  # in this way, `priority.look_up` ends a run that waits
        _ = "moved" in state


def test_a_state_that_changes_at_each_reading_is_an_error(unpatched):
    class Changing(dict):
        def __iter__(self):
            raise RuntimeError("dictionary changed size during iteration")

    process.end_replaced_runs()
    with pytest.raises(RuntimeError, match="faster than it can be read"):
        _ = SafeSessionState(state_of(Changing(a=1)), lambda: None).filtered_state


@pytest.mark.parametrize(
    "control",
    ["st.selectbox('a', [1, 2])", "st.radio('a', [1, 2])", "st.number_input('a')", "st.text_input('a')"],
)
def test_controls_of_streamlit_read_the_whole_state(unpatched, monkeypatch, control):
    reads: list[SafeSessionState] = []
    whole = SafeSessionState.filtered_state.fget

    def counted(self: SafeSessionState) -> dict[str, Any]:
        reads.append(self)
        return whole(self)

    monkeypatch.setattr(SafeSessionState, "filtered_state", property(counted))
    assert not page_of(f"import streamlit as st\n{control}").exception
    assert reads


def test_a_worker_does_not_run_the_page_that_is_the_main_module(unpatched, monkeypatch):
    """A worker process does not get the path of the page. `tests/ui/test_side_process.py` starts such a worker."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    page = page_of("import sys, streamlit as st\nst.text(sys.modules['__main__'].__file__)")
    assert sys.modules["__main__"].__file__ == page.text[0].value  # Streamlit has replaced the module
    assert "init_main_from_path" in spawn.get_preparation_data("worker")
    process.keep_pages_out_of_workers()
    prepared = spawn.get_preparation_data("worker")
    assert not any("main" in key for key in prepared)
    assert prepared == {key: value for key, value in process._preparation_data("worker").items() if key in prepared}


def test_threads_switch_often(unpatched):
    sys.setswitchinterval(0.005)
    process.switch_threads_often()
    assert sys.getswitchinterval() == process.SWITCH_INTERVAL


def test_a_collection_skips_what_was_frozen():
    class Kept:
        pass

    kept = Kept()
    assert any(one is kept for one in gc.get_objects())
    try:
        process.freeze_modules()
        assert not any(one is kept for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_streamlit_does_not_collect_after_each_run():
    source = inspect.getsource(ScriptRunner._on_script_finished)
    assert re.search(r'if config\.get_option\("runner\.postScriptGC"\):\s+gc\.collect\(2\)', source)
    assert options_of_the_project()["runner.postScriptGC"] is False


def test_applying_makes_every_change_and_twice_is_once(unpatched):
    for _ in range(2):
        process.apply()
    assert config.get_option is process._option and spawn.get_preparation_data is process._without_main
    assert SafeSessionState.filtered_state.fget is process._filtered_state  # type: ignore[attr-defined]
    assert sys.getswitchinterval() == process.SWITCH_INTERVAL
    code = (HOME / "app.py").read_text(encoding="utf-8")
    assert "process.apply()" in code and "process.freeze_modules()" in code


# Parts of Streamlit that the app reads


@pytest.fixture
def runtime(monkeypatch) -> Iterator[Runtime]:
    monkeypatch.setattr(Runtime, "_instance", None)
    storage = MemoryMediaFileStorage("/media")
    yield Runtime(RuntimeConfig(str(HOME / "app.py"), storage, MemoryUploadedFileManager("/_stcore/upload_file")))


def test_the_server_has_the_routes_that_the_guards_know(runtime):
    paths = {str(getattr(route, "path", "")) for route in create_streamlit_routes(runtime)}
    for route in (internals.METRICS_ROUTE, internals.HEALTH_ROUTE, internals.SESSION_ROUTE):
        assert f"/{route}" in paths
    (upload,) = {path for path in paths if path.startswith(f"/{internals.UPLOAD_ROUTE}")}
    assert re.sub(r"\{(\w+)[^}]*\}", r"\1", upload) == f"/{internals.UPLOAD_ROUTE}/session_id/file_id"
    assert "_stcore/health" in bundle()  # the app sets the browser's cookie there
    known = {path.split("/")[1] for path in paths if path} - {""}
    assert known >= {"_stcore", "media", "component"} and known - internals.NOT_PAGES <= SIGN_IN


SIGN_IN = {"auth", "oauth2callback", "{path:path}"}  # routes for accounts, which the app does not have


class Client:
    """A browser that ignores all messages."""

    def write_forward_msg(self, message: Any) -> None:
        pass

    def write_serialized_forward_msg(self, message: Any) -> None:
        pass


def test_the_runtime_knows_files_and_sessions(runtime):
    assert internals.current_runtime() is runtime

    async def visit() -> list[bool]:
        await runtime.start()
        session = runtime.connect_session(client=Client(), user_info={})
        ended = [internals.has_ended(runtime, session)]
        runtime.close_session(session)
        ended.append(internals.has_ended(runtime, session))
        runtime.stop()
        await runtime.stopped
        return ended

    assert asyncio.run(visit()) == [False, True]
    manager = runtime.uploaded_file_mgr
    manager.add_file("anna", UploadedFileRec("one", "a.csv", "text/csv", b"abc"))
    assert {key: [file.data for file in kept.values()] for key, kept in manager.file_storage.items()} == {
        "anna": [b"abc"]
    }
    manager.remove_session_files("anna")
    assert not manager.file_storage


READ = """
import streamlit as st
from ui.server.streamlit_patches import internals
file = st.file_uploader("file")
manager, session = internals.files_of_this_session()
st.text(internals.is_upload(file))
st.text([record.data for record in manager.file_storage.get(session, {}).values()])
"""


def test_a_page_reaches_the_files_of_its_session():
    assert internals.files_of_this_session() is None  # no page runs in this thread
    page = page_of(READ)
    assert [text.value for text in page.text] == ["False", "[]"]
    page.file_uploader[0].upload("a.csv", b"abc").run()
    assert not page.exception and [text.value for text in page.text] == ["True", "[b'abc']"]


def test_the_start_knows_its_addresses():
    port = config.get_option("server.port")
    assert internals.app_url("localhost") == f"http://localhost:{port}"
    socket.inet_aton(internals.network_address())


CHART = """
import streamlit as st
from ui.server.streamlit_patches.internals import UncheckedFigure
figure = {"data": [{"type": "scatter", "y": [1, 2]}], "layout": {"unknown": 1}}
st.plotly_chart(KIND(figure))
"""


def test_streamlit_sends_an_unchecked_figure_as_it_is():
    page = page_of(CHART.replace("KIND", "UncheckedFigure"))
    assert not page.exception
    spec = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert spec["layout"]["unknown"] == 1 and spec["data"] == [{"type": "scatter", "y": [1, 2]}]
    checked = page_of(CHART.replace("KIND", ""))  # without KIND, the page passes a dictionary to the chart
    assert checked.exception[0].proto.type == "ValueError"


COMPONENT = """
import streamlit as st
from ui.server.streamlit_patches.internals import let_draw_again
draw = st.components.v2.component("twice", html="<p></p>")
place = st.empty()
for number in (1, 2):
    AGAIN
    with place:
        draw(key="twice", data={"number": number}, on_moved_change=lambda: None)
"""


def test_a_component_can_be_drawn_again_in_one_run():
    page = page_of(COMPONENT.replace("AGAIN", "let_draw_again('twice')"))
    assert not page.exception
    (drawn,) = page.get("bidi_component")
    assert json.loads(drawn.proto.json or drawn.proto.mixed.json) == {"number": 2}
    refused = page_of(COMPONENT.replace("AGAIN", "pass"))
    assert refused.exception[0].proto.type.endswith("StreamlitDuplicateElementKey")


def test_streamlit_finds_the_server_in_app_py_and_runs_it_as_a_page():
    discovered = discover_asgi_app(HOME / "app.py")
    assert (discovered.is_asgi_app, discovered.import_string) == (True, "app:app")
    assert page_of("import streamlit as st\nst.text(__name__)").text[0].value == "__main__"
    assert {"script_path", "middleware"} <= set(inspect.signature(st.App).parameters)


def options_of_the_project() -> dict[str, Any]:
    """Return the options of .streamlit/config.toml by Streamlit's names, `section.option`."""

    def flat(settings: dict[str, Any], before: str = "") -> dict[str, Any]:
        named = ((f"{before}{key}", value) for key, value in settings.items())
        return {
            name: value
            for key, part in named
            for name, value in (flat(part, f"{key}.") if isinstance(part, dict) else {key: part}).items()
        }

    return flat(tomllib.loads((HOME / ".streamlit" / "config.toml").read_text(encoding="utf-8")))


def test_streamlit_knows_every_option_that_the_project_sets():
    options = options_of_the_project()
    assert len(options) > 20 and set(options) <= set(config.get_config_options())


# The script that runs first in a page, and the files that it requests early


def test_the_front_end_knows_what_the_first_script_sets():
    script = scripts.first_script("/base/")
    assert 'location.origin + "/base"' in script and 'location.origin + ""' in scripts.first_script("")
    assert "window.__streamlit" in script and "window.__streamlit" in bundle()
    assert "BACKEND_BASE_URL" in script and "BACKEND_BASE_URL" in bundle()
    assert "history.pushState(" in bundle() and is_text_in_bundle("popstate")
    for part in re.findall(r"data-testid=([\w-]+)", script):
        assert is_text_in_bundle(part)
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    assert page.count("<head>") == page.count("</head>") == 1
    assert page.index("<head>") < page.index("<script")


def test_the_front_end_has_a_file_for_each_element_that_is_loaded_early():
    assert [name.partition(".")[0] for name in scripts.early_files()] == list(scripts.LOADED_EARLY)
    assert set(scripts.early_files()) <= set(files())
    index = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    assert "./static/js/" in index and "new WebSocket(" in bundle()
    entry = re.search(r'src="\./static/js/(index\.[^"]+\.js)"', index)
    assert entry
    code = (scripts.FOLDER / entry.group(1)).read_text(encoding="utf-8")
    for name in scripts.early_files():  # the front end imports the same file, so it runs once
        assert name in code


def test_the_front_end_has_each_part_that_the_last_script_names():
    parts = set(re.findall(r"data-testid=([\w-]+)", scripts.show_whole_script()))
    assert len(parts) == 5
    for part in parts:
        assert is_text_in_bundle(part), part


COMPOSED = {"stBaseButton-primary": ("`stBaseButton-${", "primary")}


def test_the_front_end_has_each_part_that_a_style_names():
    text = "".join(value for value in vars(styles).values() if isinstance(value, str) and value.startswith("<style>"))
    parts = set(re.findall(r"data-testid=([\w-]+)", text))
    assert len(parts) > 10 and "data-testid" in bundle()
    for part in parts:
        if part in COMPOSED:
            start, end = COMPOSED[part]
            assert start in bundle() and is_text_in_bundle(end)
        else:
            assert is_text_in_bundle(part), part
    assert "[data-tag]" in text and "data-tag" in bundle()
    assert is_text_in_bundle("Download as CSV")
    assert ".st-key-" in text and "st-key-" in bundle()
