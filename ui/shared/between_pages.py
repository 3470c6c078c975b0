"""From page to page: what they share goes along, an answer is handed over, and Back is the page before."""

from __future__ import annotations

from typing import Final

import streamlit as st

from ui.shared.epsilon import put_epsilon
from ui.shared.forests import FORESTS, Settings

# Controls that several pages have, and those that can be handed over, by key.
_CONTROLS: Final = {
    "Explore": ("data", "label", "eps", "neighbours", "mode", "present", "forest", "delta"),
    "Compare forests": ("data", "label", "eps", "neighbours", "also_delta", "present"),
    "Choose ε": ("data", "label", "neighbours", "mode", "also_delta", "present"),
    "Audit": ("eps", "neighbours", "present"),
    "Use a released forest": ("present",),
}
_ALL: Final = tuple(dict.fromkeys(key for keys in _CONTROLS.values() for key in keys))
_FROM: Final = {"from": "choose"}

# Streamlit makes a step for Back of every control that is moved, empties the address before it changes pages, and of
# the address that Back leads to forgets what the page before has, too. Here a page is one step, and Back its link.
_BACK_IS_THE_PAGE_BEFORE: Final = """<script>
if (!window.oneStepAPage) {
  window.oneStepAPage = true;
  const push = history.pushState.bind(history);
  let before = new URL(location.href);
  for (const kind of ["click", "keydown"])
    addEventListener(kind, () => { before = new URL(location.href); }, true);
  history.pushState = (state, title, url) => {
    if (new URL(url ?? location.href, location.href).pathname === location.pathname)
      return history.replaceState(state, title, url);
    if (before.pathname === location.pathname) history.replaceState(state, title, before);
    return push(state, title, url);
  };
  addEventListener("popstate", (event) => {
    const links = [...document.querySelectorAll("[data-testid=stSidebar] a[data-testid=stPageLink-NavLink]")];
    const path = (link) => new URL(link.getAttribute("href"), location.origin + "/").pathname;
    const there = links.find((link) => path(link) === location.pathname);
    if (!there) return;
    event.stopImmediatePropagation();
    there.click();
  }, true);
}
</script>"""


def carry_over(title: str) -> None:
    """What the page before has, too: Streamlit drops it where a link has set it and nobody has moved it since.

    An address with settings of its own (a link, or a page that Back leads to) says all itself.
    """
    st.html(_BACK_IS_THE_PAGE_BEFORE, unsafe_allow_javascript=True)
    changed, st.session_state["page_shown"] = st.session_state.get("page_shown", title) != title, title
    if st.query_params.to_dict() == _FROM:
        st.query_params.clear()
        if (settings := st.session_state.pop("handed_over", None)) is not None:
            _take(settings)
    if not changed or st.query_params:
        return
    for key in _ALL:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]
            if key in _CONTROLS[title] and (said := _address().get(key)):
                st.query_params[key] = said


def remember() -> None:
    """What the address says, for the next page. What this one does not have keeps what it said last."""
    said = st.query_params.to_dict()
    for key in _ALL:
        if key in said:
            _address()[key] = said[key]
        elif key in st.session_state:
            _address().pop(key, None)  # as by default


def hand_over(settings: Settings, label: str, help: str) -> None:
    """A link to Explore that takes a forest along, with depth and trees by rule. All else goes along anyway."""
    st.session_state["handed_over"] = settings
    st.page_link("app.py", label=label, icon=":material/arrow_forward:", query_params=_FROM, help=help)


def _take(settings: Settings) -> None:
    """What Explore's controls will say."""
    for key in ("by_rule", "depth", "trees"):
        st.session_state.pop(key, None)
    put_epsilon(settings.epsilon)
    st.session_state["forest"] = settings.kind
    _address().update(forest=settings.kind, eps=f"{settings.epsilon:g}")
    for option in FORESTS[settings.kind].options:
        if choices := option.choices[settings.mode]:
            chosen = next(label for label, value in choices.items() if value == settings.option(option.parameter))
            is_on = chosen == list(choices)[-1]
            st.session_state[option.key] = is_on if option.switch else chosen
            if option.switch:
                _address().update({option.key: str(is_on).lower()})


def _address() -> dict[str, str]:
    """Last said by an address of each control."""
    return st.session_state.setdefault("address", {})
