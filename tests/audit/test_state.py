"""The audit compares everything that a fit leaves behind: attributes, classes, arrays, closures and pickles."""

import functools
import pickle

import numpy as np
import pytest

from dpforest import MajorityLabelForestClassifier
from dpforest.audit.replay.state import difference, state_of
from dpforest.audit.replay.variants import domain_of, random_rows


class Slotted:
    __slots__ = ("_hidden",)


class Text(str):
    pass


class Quiet:
    @functools.cached_property
    def asked(self) -> int:
        return 1


def hide(where: str, secret: int, thing: dict) -> None:
    """Put a number into an unusual part of a thing."""
    if where == "slot":
        thing["object"] = Slotted()
        thing["object"]._hidden = secret
    elif where == "text":
        thing["object"] = Text("plain")
        thing["object"].note = secret
    elif where == "base":
        thing["object"] = np.array([[1, 2], [secret, 4]])[0]
    elif where == "closure":
        thing["object"] = lambda: secret
    elif where == "default":
        thing["object"] = lambda number=secret: number
    elif where == "metadata":
        thing["object"] = np.zeros(1, np.dtype("i8", metadata={"note": secret}))
    elif where == "order":
        thing["object"] = dict([("a", 1), ("b", 2)][:: secret % 2 * 2 - 1])
    elif where == "sign of zero":
        thing["object"] = np.array([0.0 if secret % 2 else -0.0])
    elif where == "objects":
        thing["object"] = np.array([{"deep": [secret]}], object)
    elif where == "type":
        thing["object"] = 1 if secret % 2 else True
    else:
        thing["object"] = {frozenset({secret})}


HIDDEN_IN = (
    "slot",
    "text",
    "base",
    "closure",
    "default",
    "metadata",
    "order",
    "sign of zero",
    "objects",
    "type",
    "set",
)


@pytest.mark.parametrize("where", HIDDEN_IN)
def test_a_difference_is_detected_wherever_it_is_hidden(where):
    """The state of an object shows a hidden number that equality, the file and public attributes do not show."""
    states = []
    for secret in (2, 2, 3):
        thing: dict = {"public": [1.5, "x", None]}
        hide(where, secret, thing)
        states.append(state_of(thing))
    assert difference(states[0], states[1]) == ""
    assert difference(states[0], states[2]) != ""


def test_a_state_is_a_copy_with_loops_and_cached_properties():
    """Later edits do not change a state. Loops end, and it does not matter which cached properties were computed."""
    thing: dict = {"rows": [1, 2], "array": np.zeros(2)}
    thing["itself"] = thing
    before = state_of(thing)
    thing["array"][0] = 1
    assert difference(before, state_of(thing)) == "['array']"
    asked, never = Quiet(), Quiet()
    assert asked.asked == 1 and difference(state_of(asked), state_of(never)) == ""


def test_the_state_of_a_fit_is_all_of_it():
    """The state covers forest, ledger, domain, certificate and pickle, and equal fits have equal states."""
    table = random_rows(9, 2, 0)
    one, two = (
        state_of(MajorityLabelForestClassifier(domain=domain_of(2), n_estimators=2, random_state=5).fit(*table))
        for _ in range(2)
    )
    assert difference(one, two) == "" and len(one) > 150
    state_names = {".forest_.leaves.labels", ".forest_.ledger._entries[0].what", ".domain_", ".certificate_", "pickle"}
    assert state_names <= set(one)
    model = MajorityLabelForestClassifier(domain=domain_of(2), n_estimators=2).fit(*table)
    assert state_of(model)["pickle"] == pickle.dumps(model)
