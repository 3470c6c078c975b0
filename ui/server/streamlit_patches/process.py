"""Changes in the server's process.

`apply` makes all changes at startup except `freeze_modules`, which has to wait until the modules are imported.
"Python's lock" is the global interpreter lock, which lets one thread run Python code at a time.
"""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import spawn
from typing import Any, Final, TypeVar

from streamlit import config
from streamlit.runtime.state.safe_session_state import SafeSessionState

Result = TypeVar("Result")
SWITCH_INTERVAL: Final = 0.001  # seconds; Python's default is 0.005
_MOST_FILES: Final = 1024  # only file descriptors below this number are searched for listening sockets
_MOST_READS: Final = 100  # attempts to read the state. An attempt fails only if the state changes meanwhile.

_get_option: Final = config.get_option
_preparation_data: Final = spawn.get_preparation_data


def apply() -> None:
    """Make all changes except `freeze_modules`.

    `app.py` calls this function once, after Streamlit has opened its socket and before it answers requests.
    """
    send_without_delay()
    read_options_without_lock()
    end_replaced_runs()
    keep_pages_out_of_workers()
    switch_threads_often()


def send_without_delay() -> int:
    """Set TCP_NODELAY on every listening TCP socket of this process. Return the number of these sockets.

    Reason: Streamlit opens its socket with protocol 0, which asyncio does not recognize as TCP, so Nagle's algorithm is
    on. The second part of an answer then waits until the browser has acknowledged the first part, and the browser
    delays this acknowledgment for 40 ms. A page needs a hundred answers. It is enough to set the option on listening
    sockets, because connections inherit it.
    Gain: 100 answers over one connection take 0.26 s, not 4.8 s (`answers` of the benchmark, medians of 5 pairs).
    Test: `test_a_connection_of_streamlit_s_socket_sends_without_delay`
    """
    n = 0
    for listening in _listening_sockets():
        with listening, suppress(OSError):
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            n += 1
    return n


def _listening_sockets() -> Iterator[socket.socket]:
    """Yield a second handle on each listening TCP socket. The caller must close the handle."""
    for number in [number for number in range(3, _MOST_FILES) if _is_socket(number)]:
        handle = socket.socket(fileno=os.dup(number))
        is_tcp = handle.type == socket.SOCK_STREAM and handle.family in (socket.AF_INET, socket.AF_INET6)
        if is_tcp and handle.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            yield handle
        else:
            handle.close()


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


def read_options_without_lock() -> None:
    """Read options of Streamlit directly from its dict, without its lock. Streamlit reads options that the dict lacks.

    Reason: Streamlit reads options under one lock, once for each element of a page. The thread that holds this lock may
    have to wait for Python's lock. Then all threads that read an option wait for both locks.
    Gain: with thirty sessions, figures arrive 3.7 s after a moved control, not 8.1 s, and a moved control takes 73 ms
    of processor time, not 136 ms (`reruns` of the benchmark with `--sessions 30`, medians of 3 pairs, less in all 3; a
    very busy machine). Ten sessions show no difference.
    Test: `test_options_are_read_while_another_thread_holds_streamlit_s_lock`
    """
    config.get_option = _option


def _option(key: str) -> Any:
    option = (config._config_options or {}).get(key)
    return _get_option(key) if option is None else option.value


def end_replaced_runs() -> None:
    """End a run of a page that a newer run has replaced, when the old run reads the whole state of the session.

    Reason: when the user moves a control, Streamlit immediately starts a new run of the page in another thread. The old
    run continues until Streamlit next checks whether it may go on. Until then, both runs change the state of the
    session, each under its lock. Select boxes, radio buttons, and fields for numbers and text iterate over the whole
    state, and Streamlit does not check there. Each run also iterates over the state at its end. If one run changes the
    state while the other iterates over it, the iteration fails with `RuntimeError` or `KeyError`.
    Gain: these failures do not occur. Without this change, about one in a thousand moved controls failed with thirty
    sessions. The tests cause the failures.
    Test: `test_a_run_that_goes_on_reads_the_state_again`, `test_a_run_ends_although_another_run_changes_the_state`
    """
    SafeSessionState.filtered_state = property(_filtered_state)  # type: ignore[method-assign, assignment]
    SafeSessionState.on_script_finished = _on_script_finished  # type: ignore[method-assign]


def _filtered_state(self: SafeSessionState) -> dict[str, Any]:
    """Return all values of the session by key, all read at the same moment."""

    def read() -> dict[str, Any]:
        self._yield_callback()  # ends this run if another run has replaced it
        with self._lock:
            return self._state.filtered_state

    return _until_unchanged(read)


def _on_script_finished(self: SafeSessionState, *arguments: Any, **settings: Any) -> None:
    """Call Streamlit's method of the same name again until no other run changes the state meanwhile.

    The method resets buttons and forgets controls that the run did not draw, so a second call has no further effect.
    """
    with self._lock:
        _until_unchanged(lambda: self._state.on_script_finished(*arguments, **settings))


def _until_unchanged(read: Callable[[], Result]) -> Result:
    """Call `read` until no other run changes the state meanwhile, and return its result."""
    for _ in range(_MOST_READS):
        try:
            return read()
        except (RuntimeError, KeyError):
            continue
    raise RuntimeError("The state of the session changes faster than it can be read.")


def keep_pages_out_of_workers() -> None:
    """Start worker processes without the module `__main__`.

    Reason: each run of a page replaces `sys.modules["__main__"]` with that page, in any thread and at any time. A new
    process that gets this module would run the page or `app.py` again. `app.py` starts a thread that imports modules,
    while the main thread of the process also imports modules. Then an import may fail with `_DeadlockError`, which
    breaks all processes of the pool.
    Gain: no page runs in a worker, and no worker fails to start. The test causes these failures.
    Test: `test_a_worker_does_not_run_the_page_that_is_the_main_module`
    """
    spawn.get_preparation_data = _without_main


def _without_main(name: str) -> dict[str, Any]:
    return {key: value for key, value in _preparation_data(name).items() if not key.startswith("init_main")}


def switch_threads_often() -> None:
    """Let a thread keep Python's lock for 1 ms, not 5 ms, while others wait for it.

    Reason: every numba kernel waits for Python's lock when it ends. A page that draws would hold this lock for 5 ms
    each time.
    Gain: figures arrive 0.67 s after a move, not 1.02 s (`reruns` of the benchmark, medians of 5 pairs, less in all 5;
    a busy machine).
    Test: `test_threads_switch_often`
    """
    sys.setswitchinterval(SWITCH_INTERVAL)


def freeze_modules() -> None:
    """Exclude all objects that exist now, which are mostly imported modules, from garbage collection.

    A frozen object is never collected if it becomes part of a cycle that nothing refers to. So this function must run
    before the first session exists: the server would keep an older session, and its tables, until the server's end.
    `Sessions` makes browsers wait for this function.

    Reason: a full collection visits all objects, and all threads wait for it, because it holds Python's lock. By
    default, Streamlit makes a full collection after each run of a page; `.streamlit/config.toml` turns this off by
    `runner.postScriptGC = false`.
    Gain: a full collection takes 4 ms, not 117 ms (`garbage` of the benchmark, in processor time of a thread, medians
    of 3 pairs).
    Test: `test_a_collection_skips_what_was_frozen`, `test_streamlit_does_not_collect_after_each_run`
    """
    gc.collect()
    gc.freeze()
