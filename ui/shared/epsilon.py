"""The control of ε, above the chart that it changes: a slider, a text field, and a list of the ε of known releases."""

from __future__ import annotations

from typing import Final, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import state
from ui.forest.forests import EPSILONS
from ui.shared.controls import LINKED, drop_unknown, say_nearest
from ui.shared.wording import plain

LEAST: Final = 0.001
MOST: Final = 25.0  # the largest ε in the experiments of Nock and Henecka
SCALE: Final = (*EPSILONS, MOST)  # values of the slider; curves cover `EPSILONS`


class Deployment(NamedTuple):
    """A release that others published, with the unit that its ε covers, and the source."""

    epsilon: float
    what: str
    unit: str
    source: str


DEPLOYMENTS: Final = (
    Deployment(1.68, "Google, searches for symptoms", "a user's day", "https://arxiv.org/abs/2009.01265"),
    Deployment(2.19, "Google, searches for vaccination (δ = 10⁻⁵)", "a user's day", "https://arxiv.org/abs/2107.01179"),
    Deployment(
        4.0,
        "Apple, emoji (noise on each device)",
        "a user's day",
        "https://desfontain.es/blog/real-world-differential-privacy.html",
    ),
    Deployment(9.98, "Israel, births of 2014", "a mother and her child", "https://arxiv.org/abs/2405.00267"),
)
# For each of these releases, its ε and the text of its mark on a chart.
OTHERS: Final = tuple((known.epsilon, f"{known.what}, for {known.unit}") for known in DEPLOYMENTS)


_HELP: Final = (
    "How much the release may reveal about any one row; with a column of identifiers, about any one person. A "
    "certified release with δ = 0 multiplies or divides the odds that this row or person is in the table by at most "
    "e^ε (2.72 at ε = 1). This holds if an attacker's beliefs about others do not depend on this row or person. For "
    "the odds of its value, the factor is at most e^(2ε) (with replace-one, e^ε). With δ > 0, rare releases may "
    "exceed these bounds."
)


def choose_epsilon(
    key: str = state.EPSILON,
    *,
    label: str = "Privacy budget ε",
    start: float = 1.0,
    help: str = _HELP,
    others: bool = True,
    messages: DeltaGenerator | None = None,
) -> float:
    """Draw a slider of ε and a field for typing ε, and return ε.

    A link may hold any ε that can be typed. A message reports a link with another value.

    Parameters
    ----------
    key : str
        Name of ε in the link.
    start : float
        Value of the slider until the user moves it.
    others : bool
        Whether to show a button that lists the ε of known releases.
    messages : container of Streamlit, optional
        Place of messages about an ε that is not possible. By default, it is below the slider.
    """
    asked = st.query_params.get(key)  # read first, because the slider removes a value that is not on its scale
    typed = _typed(asked)
    if typed is not None:
        _onto_scale(key, typed)
        if _as_text(typed) != asked:  # for example, 0.40 in the link and 0.4 on the scale
            st.session_state[key] = typed
    elif asked is not None and (nearest := _nearest(asked)) is not None:
        _onto_scale(key, nearest)
        st.session_state[key] = nearest
        say_nearest("ε", asked, LEAST, MOST, nearest)
    elif asked is not None:
        state.ASKED(key).value = asked
    scale = sorted({*scale_of(key), start})
    drop_unknown(key, scale)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key=f"{key}_controls"):
        with st.container(width="stretch"):
            epsilon = st.select_slider(
                label,
                scale,
                start,
                format_func=_as_text,
                key=key,
                bind=LINKED,
                on_change=lambda: state.ASKED(key).pop(),
                help=help,
            )
        epsilon = min(scale, key=lambda e: abs(e - float(epsilon)))
        state.TYPED(key).value = _as_text(epsilon)
        with st.container(width=96):
            # A text field, because in a number field some browsers turn a typed "0,4" into 04, which is 4.
            st.text_input(
                "Type ε",
                key=state.TYPED(key),
                on_change=_take_typed,
                args=(key,),
                label_visibility="collapsed",
                max_chars=12,
            )
        if others:
            with st.popover("ε in use", width="content"):
                _known_releases()
    below = messages or st.container()
    if refused_text := state.ASKED(key).value:
        below.caption(
            f"The link asks for ε = {plain(refused_text, 20)}, which is no number from {LEAST:g} to {MOST:g}. The page "
            f"shows ε = {epsilon:g}."
        )
    if refused_text := state.REFUSED(key).pop():  # shown once, because the message does not matter on another page
        below.caption(f"“{plain(refused_text, 20)}” is no number from {LEAST:g} to {MOST:g}, so ε stays {epsilon:g}.")
    return epsilon


def scale_of(key: str = state.EPSILON) -> tuple[float, ...]:
    """Return the positions of the slider: `SCALE`, and the numbers that were added last (at most two)."""
    return tuple(sorted({*SCALE, *_typed_before(key)}))


def put_epsilon(epsilon: float, key: str = state.EPSILON) -> None:
    """Set ε on a page that is not drawn yet."""
    _onto_scale(key, epsilon)
    st.session_state[key] = epsilon
    state.ASKED(key).pop()


def grid_with(epsilon: float) -> tuple[float, ...]:
    """Return the values of ε for a curve: `EPSILONS`, and this ε if they lack it.

    >>> 4.0 in EPSILONS, 4.0 in grid_with(4.0), grid_with(1.0) == EPSILONS
    (False, True, True)
    """
    return tuple(sorted({*EPSILONS, float(epsilon)}))


def _typed(text: object) -> float | None:
    """Return the ε in a text, rounded to the six digits that the page shows; None if the text holds no possible ε.

    >>> _typed("0.4"), _typed(" 0,4 "), _typed("1.0000004")
    (0.4, 0.4, 1.0)
    >>> [text for text in ("-1", "nan", "much", "1,2.3", "50") if _typed(text) is not None]
    []
    """
    try:
        value = float(str(text).replace(",", "."))
    except ValueError:
        return None
    return float(_as_text(value)) if LEAST <= value <= MOST else None


def _nearest(text: str) -> float | None:
    """Return the possible ε nearest to a number that is too small or too large; None if the text is no number.

    >>> _nearest("100"), _nearest("0"), _nearest("much"), _nearest("nan")
    (25.0, 0.001, None, None)
    """
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return min(max(value, LEAST), MOST) if value >= 0 else None


def _as_text(epsilon: float) -> str:
    return f"{epsilon:g}"


def _onto_scale(key: str, epsilon: float) -> None:
    """Add a number to the scale, which keeps the two numbers that were added last.

    The previous number is kept, because the slider may still be at this number when the new number is added.
    """
    if epsilon not in SCALE:
        earlier = [typed for typed in _typed_before(key) if typed != epsilon]
        state.ADDED(key).value = (*earlier[-1:], epsilon)


def _typed_before(key: str) -> tuple[float, ...]:
    """Return the numbers that this session added to the scale."""
    return tuple(filter(_can_be_epsilon, state.ADDED(key).value))


def _can_be_epsilon(value: object) -> bool:
    return type(value) is float and LEAST <= value <= MOST


def _take_typed(key: str) -> None:
    """Move the slider to the typed number. If the text is no possible ε, keep it for a message."""
    text = state.TYPED(key).value.strip()
    if (value := _typed(text)) is not None:
        put_epsilon(value, key)
    else:  # ε stays, and the text field shows the value of the slider again
        state.REFUSED(key).value = text


def _known_releases() -> None:
    """List known releases with the unit that their ε covers.

    The unit is what ε protects: for example, one day of a person's data, or all data of a person.
    """
    st.markdown("**What others chose** (marked on the chart)")
    for release in DEPLOYMENTS:
        st.markdown(f"- ε = {release.epsilon:g}: {release.what}, for {release.unit}. [Source]({release.source})")
    st.caption("Compare with care: an ε for each day adds up day by day; here it is for one row or person, once.")
