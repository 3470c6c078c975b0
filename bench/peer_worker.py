"""The loop of a process in the environment of a peer. It needs only the standard library.

`processes.Peer` starts the process, and sends pickled commands such as ``{"do": "fit", "X": ...}`` to its stdin. The
loop calls the method that "do" names, with the other entries as arguments, and writes the pickled result to stdout.
"""

import os
import pickle
import sys
import warnings
from typing import Any


def serve(worker: Any) -> None:
    """Answer commands with the methods of `worker`, until stdin is closed."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # sends the output of libraries to stderr, because stdout is for answers
    while True:
        try:
            command = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(getattr(worker, command.pop("do"))(**command), answers)
        answers.flush()
