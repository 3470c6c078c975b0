"""Worker processes of the benchmark. They stay alive, so that the runs of all contenders can alternate."""

import atexit
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Python interpreters of the peers that need separate environments.
PEER_PYTHON = {
    "diffprivlib": HERE / ".venv-diffprivlib" / "bin" / "python",
    "diffprivlib, linear": HERE / ".venv-diffprivlib-linear" / "bin" / "python",
    "DPExplainableBoosting": HERE / ".venv-interpret" / "bin" / "python",
    "dpmm": HERE / ".venv-dpmm" / "bin" / "python",
    "LightGBM": HERE / ".venv-lightgbm" / "bin" / "python",
}
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def make_peer(contender: str) -> bool:
    """Create a peer's environment if it does not exist. Return False if that fails."""
    if PEER_PYTHON[contender].exists():
        return True
    venv = PEER_PYTHON[contender].parent.parent
    print(f"making bench/{venv.name} ...", flush=True)
    command = [HERE / "peers.sh", venv.name.removeprefix(".venv-")]
    return subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}).returncode == 0


def python_of(contender: str) -> str:
    """Return the path of the Python interpreter that runs a contender."""
    return str(PEER_PYTHON.get(contender, sys.executable))


def environment(**more: str) -> dict[str, str]:
    """Return the environment variables of a process: libraries use one thread, and Python can import dpforest."""
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT), **more}


def ask(python: str, code: str, **env: str) -> Any:
    """Run a short program, and return its output, read as JSON."""
    process = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, env=environment(**env))
    return json.loads(process.stdout)


class Peer:
    """A process that runs a script in the environment of a peer, and answers its commands (`peer_worker.serve`)."""

    def __init__(self, contender: str, script: str) -> None:
        if not make_peer(contender):
            raise RuntimeError(f"bench/peers.sh could not make the environment of {contender}; its message is above")
        command = [python_of(contender), HERE / script]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        assert self._process.stdin
        atexit.register(self._process.stdin.close)

    def ask(self, do: str, **command: Any) -> Any:
        """Call a method of the script's worker, and return its result."""
        assert self._process.stdin and self._process.stdout
        pickle.dump({"do": do, **command}, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)


class Worker:
    """A process running `worker.py`; use it in a `with` block."""

    def __init__(self, python: str, X: Path, y: Path, **variables: str) -> None:
        self._process = subprocess.Popen(
            [python, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(**variables),
        )
        self("load", X=str(X), y=str(y))

    def __call__(self, do: str, **command: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"do": do, **command}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended during {do} {command}; its message is above")
        return json.loads(line)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
