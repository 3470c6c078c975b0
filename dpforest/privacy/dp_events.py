"""Convert a ledger into events of Google's library dp_accounting, which can recompute the ε and δ of the ledger.

An event is a dictionary that JSON can hold. The events have the names and fields that `DpEvent.to_named_tuple` of
dp_accounting 0.6.0 returns. In a pure ledger, each query becomes a mechanism that is at least as easy to attack as the
query (docs/PRIVACY.md, "The trade-off curve"). Under add-remove, this mechanism is a count with discrete Laplace noise;
under replace-one, it is randomized response. In a Gaussian ledger, each entry becomes a Gaussian mechanism.
"""

import math
from typing import Any

from dpforest.privacy.ledger import ADD_REMOVE, Ledger
from dpforest.privacy.loss import GAUSSIAN, PrivacyLoss
from dpforest.privacy.rationals import float_up
from dpforest.privacy.tradeoff_curve import steps_of


def to_dp_events(ledger: Ledger) -> dict[str, Any]:
    """Return the name of the neighbor relation, and one composed event for all queries of the ledger.

    Parameters
    ----------
    ledger : Ledger
        A ledger with a budget.

    Returns
    -------
    dict
        "neighboring_relation" is the name of a member of `dp_accounting.NeighboringRelation`. "event" is the event,
        with its "module_name", "class_name" and fields.

    Raises
    ------
    ValueError
        If the ledger has no budget, because its loss is then unknown.

    Examples
    --------
    >>> ledger = Ledger(1)
    >>> paid = ledger.charge("counts", "discrete-laplace", 1, "1/10", 10, "sequential")
    >>> to_dp_events(ledger)["event"]["events"][0]["event"]["noise_parameter"]
    0.1
    """
    if not ledger.has_budget:
        raise ValueError("A ledger without a budget has no event: this forest has no privacy guarantee.")
    if ledger.kind == GAUSSIAN:
        # Under replace-one, dp_accounting doubles μ, so the events hold the μ of one row added or removed.
        losses = [(entry.each, entry.times if entry.composition == "sequential" else 1) for entry in ledger.entries]
        events = [_repeated(_gaussian(each), times) for each, times in losses if each is not None]
    elif ledger.neighbors == ADD_REMOVE:
        events = [_repeated(_discrete_laplace(float_up(step)), times) for step, times in steps_of(ledger)]
    else:
        # dp_accounting 0.6.0 counts a self-composed randomized response only once, so the event lists each repetition.
        events = [event for step, times in steps_of(ledger) for event in [_randomized_response(float_up(step))] * times]
    relation = "ADD_OR_REMOVE_ONE" if ledger.neighbors == ADD_REMOVE else "REPLACE_ONE"
    return {"neighboring_relation": relation, "event": _event("ComposedDpEvent", events=events)}


def _event(class_name: str, **fields: Any) -> dict[str, Any]:
    return {"module_name": "dp_accounting.dp_event", "class_name": class_name, **fields}


def _repeated(event: dict[str, Any], times: int) -> dict[str, Any]:
    return _event("SelfComposedDpEvent", event=event, count=times)


def _gaussian(loss: PrivacyLoss) -> dict[str, Any]:
    return _event("GaussianDpEvent", noise_multiplier=1 / float_up(loss.mu))


def _discrete_laplace(epsilon: float) -> dict[str, Any]:
    """Return the event of a count of sensitivity 1 with discrete Laplace noise, whose loss is always ε or -ε."""
    return _event("DiscreteLaplaceDpEvent", noise_parameter=epsilon, sensitivity=1)


def _randomized_response(epsilon: float) -> dict[str, Any]:
    """Return the event of randomized response with two answers.

    With probability `noise_parameter`, the mechanism draws one of the two answers uniformly. Otherwise it gives the
    true answer.
    """
    redraw_probability = 2 / (1 + math.exp(min(epsilon, 700.0)))
    return _event("RandomizedResponseDpEvent", noise_parameter=redraw_probability, num_buckets=2)
