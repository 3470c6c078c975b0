"""Warn if a search fits several certified forests on the same rows.

Each fit of a cross-validation or a grid search is a separate release, and the certificate of the best fit covers only
one release. Each search of scikit-learn runs all its fits in one `joblib.Parallel`, so a fit recognizes a search by the
frames on its call stack. A fit in another process or thread does not see these frames and does not warn.
"""

import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Final

from joblib import Parallel

from dpforest.privacy.certificate import Certificate
from dpforest.privacy.rationals import text_up

_SEARCHES: Final = "sklearn.model_selection"
_fits: weakref.WeakKeyDictionary[Parallel, int] = weakref.WeakKeyDictionary()  # number of fits in each search
_lock = threading.Lock()


class RepeatedReleaseWarning(UserWarning):
    """Warns that a search fits several certified forests on the same rows, but ε covers only one of these fits."""


def warn_if_repeated(promise: Callable[[], Certificate]) -> None:
    """Warn once in each search that fits certified forests. Each fit calls this function before its first question.

    If a filter turns the warning into an error, the error stops the fit. So the warning must come before any noise is
    drawn. Fits that are not certified need no warning, and do not call this function.

    Parameters
    ----------
    promise : callable
        Function that returns the certificate that the fit will have. `warn_if_repeated` calls it only before it warns.
    """
    frames = _callers()
    search_frames = [i for i, frame in enumerate(frames) if _module_name(frame).startswith(_SEARCHES)]
    if not search_frames or not _is_second_fit(frames[: search_frames[-1] + 1]):
        return
    certificate = promise()
    at_delta = f" at δ = {text_up(certificate.delta)}" if certificate.delta else ""
    user_frame = next(
        (i for i in range(search_frames[-1], len(frames)) if not _module_name(frames[i]).startswith("sklearn")), None
    )
    warnings.warn(
        "This search fits several certified forests on the same rows. Each fit costs its own ε ("
        f"{text_up(certificate.loss)}{at_delta} for this fit), the scores are computed from raw rows, and the "
        "certificate of the best forest covers neither the other fits nor the choice. docs/PRIVACY.md, “Choosing "
        "settings”, explains what it covers.",
        RepeatedReleaseWarning,
        stacklevel=2 + (search_frames[-1] if user_frame is None else user_frame),
    )


def _callers() -> list[FrameType]:
    """Return the frames of the call stack, from the caller of `warn_if_repeated` outwards."""
    frames = list[FrameType]()
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _module_name(frame: FrameType) -> str:
    return frame.f_globals.get("__name__") or ""


def _is_second_fit(frames: list[FrameType]) -> bool:
    """Return whether this is the second fit of the search in the last frame.

    A fit outside of the search's `Parallel` is the search's refit of the best model. The refit comes after other fits,
    so it counts as the second fit if no warning came before.
    """
    parallels = [f.f_locals.get("self") for f in reversed(frames) if _module_name(f).startswith("joblib")]
    parallels = [p for p in parallels if isinstance(p, Parallel)]
    search = next((v for v in [*frames[-1].f_locals.values(), *parallels] if isinstance(v, Parallel)), None)
    if search is None:
        return False
    with _lock:
        n_earlier = _fits.get(search, 0)
        _fits[search] = n_earlier + (1 if parallels else 2)
    return n_earlier == 1 or (n_earlier == 0 and not parallels)
