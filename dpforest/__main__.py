"""The command `dpforest`: open the app, release a forest, predict with it, or check it.

`python -m dpforest` runs the same command.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dpforest import __version__
from dpforest.commands import predict, release, verify_file

_COMMANDS: Final = {"release": release.main, "predict": predict.main, "verify": verify_file.main}
_PACKAGE: Final = Path(__file__).resolve().parent
_APPS: Final = (_PACKAGE / "_app" / "app.py", _PACKAGE.parent / "app.py")  # the app in a wheel, and in a checkout


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after `dpforest`; by default those of the command line.

    Returns
    -------
    int
        0 if all went well, 1 if a forest is not what it claims, 2 if the command could not do its work, 3 if a release
        is booked but not complete.
    """
    parser = argparse.ArgumentParser(
        "dpforest",
        "dpforest [app] [options of streamlit run]\n"
        "       dpforest release TABLE SCHEMA --forest KIND --epsilon ε ...\n"
        "       dpforest predict FOREST TABLE\n"
        "       dpforest verify FOREST [RECORD]\n"
        "       dpforest COMMAND --help",
        "Open the app in a browser, release a forest from a CSV file, predict rows with a released forest, or check "
        "the numbers of a released forest.",
    )
    parser.add_argument("--version", action="version", version=f"dpforest {__version__}")
    parser.add_argument("command", choices=("app", *_COMMANDS), help="without a command, the app opens")
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help", "--version")):
        words.insert(0, "app")
    # Only the first word is parsed here. Each command, Streamlit among them, reads the others.
    command = parser.parse_args(words[:1]).command
    return open_app(words[1:]) if command == "app" else _COMMANDS[command](words[1:])


def open_app(options: Sequence[str]) -> int:
    """Run the app with Streamlit until the user stops it.

    Parameters
    ----------
    options : sequence of str
        Options of `streamlit run`.

    Returns
    -------
    int
        Exit code of Streamlit; 0 if the user or the system stops it; 2 if the app or Streamlit is not installed.
    """
    app = next((path for path in _APPS if path.exists()), None)
    if app is None or find_spec("streamlit") is None:
        print("The app is not installed. Install it with: pip install 'dpforest[app]'", file=sys.stderr)
        return 2
    with subprocess.Popen([sys.executable, "-m", "streamlit", "run", str(app), *options]) as process:
        # A service manager ends only this process. Without the handler, the app would go on and keep its port.
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            code = process.wait()
        except KeyboardInterrupt:
            return 0  # the terminal has interrupted Streamlit, too; the end of the block waits for it
    return 0 if code == -signal.SIGTERM else code


if __name__ == "__main__":
    sys.exit(main())
