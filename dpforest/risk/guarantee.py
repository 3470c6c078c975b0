"""What a guarantee means for one person: beliefs after a release, an attacker's success, and the errors left to them.

Two tables are told apart that differ in what one person contributed. All else is granted to the attacker: every other
row, the settings, unlimited computing. (Or else what they believe about the other rows must not hang on this person;
where it does, and where something is true of everybody of a kind, a release may teach it with or without this person:
Kasiviswanathan and Smith 2014, "On the semantics of differential privacy".)

Two questions are asked. *membership*: is this person's row in the table? Only add-remove speaks about it; under
replace-one the number of rows is public and the row is there anyway. *value*: which of two values does somebody in the
table have? Between those tables there are two steps under add-remove (one row out, another in), one under replace-one.
A person with k rows is k times as many steps.

References: Wasserman and Zhou (2010), "A statistical framework for differential privacy"; Kairouz, Oh and Viswanath
(2015), "The composition theorem for differential privacy"; Dong, Roth and Su (2022), "Gaussian differential privacy".
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpforest.checks import check_choice
from dpforest.privacy.certificate import Certificate
from dpforest.privacy.ledger import ADD_REMOVE, rows_changed
from dpforest.privacy.loss import GAUSSIAN, PrivacyLoss
from dpforest.privacy.rationals import text_up
from dpforest.risk import gaussian_tradeoff

MEMBERSHIP: Final = "membership"
VALUE: Final = "value"
_HUGE: Final = 600.0  # e^ε beyond that is taken as infinite, which can only make a risk look larger


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy under a neighbour relation.

    Attributes
    ----------
    epsilon : float or Fraction
        From 0; infinity where there is no bound. A fraction is shown as what it is, a float as its shortest decimal.
    delta : float
        From 0 to 1; 0 is pure differential privacy.
    neighbours : {"add-remove", "replace-one"}
    mu_squared : Fraction or None
        μ² where it is known that all of a Gaussian trade-off curve holds, which says more than its (ε, δ) do.

    Raises
    ------
    ValueError
        If one of them is out of range, or (ε, δ) do not follow from μ².

    Examples
    --------
    >>> Guarantee(1.0).kind, Guarantee(1.0, 1e-6).kind, Guarantee(math.inf).kind
    ('pure', 'approximate', 'none')
    """

    epsilon: float | Fraction
    delta: float = 0.0
    neighbours: str = ADD_REMOVE
    mu_squared: Fraction | None = None

    def __post_init__(self) -> None:
        rows_changed(self.neighbours)
        if not self.epsilon >= 0:
            raise ValueError(f"epsilon={self.epsilon!r} is not a number from 0")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta={self.delta!r} is not a number from 0 to 1")
        if self.gaussian is not None and not (self.kind == "none" or self.gaussian.holds(self.epsilon, self.delta)):
            raise ValueError(f"ε = {self.epsilon} at δ = {self.delta} does not follow from {self.gaussian}")

    @classmethod
    def of_loss(cls, loss: PrivacyLoss, neighbours: str = ADD_REMOVE, *, delta: float = 0.0) -> "Guarantee":
        """What a loss guarantees; a Gaussian one needs a δ, at which its ε is said.

        >>> Guarantee.of_loss(PrivacyLoss.gaussian(1), delta=1e-6).kind
        'approximate'
        """
        return cls(loss.epsilon(delta), delta, neighbours, loss.mu_squared if loss.kind == GAUSSIAN else None)

    @property
    def gaussian(self) -> PrivacyLoss | None:
        """The Gaussian loss behind it, where there is one."""
        return None if self.mu_squared is None else PrivacyLoss.gaussian(self.mu_squared)

    @property
    def kind(self) -> str:
        """ "pure", "approximate", or "none" where nothing is bounded."""
        if math.isinf(self.epsilon) or self.delta == 1:
            return "none"
        return "approximate" if self.delta else "pure"

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions that it says something about."""
        return (MEMBERSHIP, VALUE) if self.neighbours == ADD_REMOVE else (VALUE,)


@dataclass(frozen=True)
class HundredGuesses:
    """A hundred guesses, as icons.

    Attributes
    ----------
    without : int
        Right without the release too.
    more : int
        Right because of it, at most; a part of one counts as one.
    wrong : int
        Wrong at least.
    """

    without: int
    more: int
    wrong: int


def guarantee_of(certificate: Certificate) -> Guarantee:
    """What a certificate guarantees. Without certification nothing.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    Guarantee
        Its epsilon is infinite where the certificate knows no bound.

    Examples
    --------
    >>> from dpforest.privacy.certificate import certify
    >>> from dpforest.privacy.ledger import Ledger
    >>> guarantee_of(certify(Ledger(None), mechanism="exact counts")).kind
    'none'
    """
    if certificate.loss is None:
        return Guarantee(math.inf, certificate.delta, certificate.neighbours)
    return Guarantee(certificate.loss, certificate.delta, certificate.neighbours, certificate.mu_squared)


def steps(guarantee: Guarantee, question: str = MEMBERSHIP, rows: int = 1) -> int:
    """Neighbours that lie between the two tables of a question.

    Parameters
    ----------
    guarantee : Guarantee
    question : {"membership", "value"}
    rows : int
        Rows of the same person, at least 1.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If the question is not one of `Guarantee.questions`, or rows is not a whole number from 1.

    Examples
    --------
    >>> steps(Guarantee(1.0), "value"), steps(Guarantee(1.0, 0, "replace-one"), "value", rows=3)
    (2, 3)
    """
    check_choice("question", question, (MEMBERSHIP, VALUE))
    if question not in guarantee.questions:
        raise ValueError("replace-one says nothing about membership: the number of rows is public. Ask about a value.")
    if int(rows) != rows or rows < 1:
        raise ValueError(f"rows={rows!r} is not a whole number from 1")
    return int(rows) * (2 if question == VALUE and guarantee.neighbours == ADD_REMOVE else 1)


def grouped(guarantee: Guarantee, question: str = MEMBERSHIP, rows: int = 1) -> Guarantee:
    """The guarantee between the two tables of a question, as one (kε, δ (1 + e^ε + ... + e^((k-1)ε))).

    Each of k steps multiplies a probability by e^ε and adds δ (group privacy: Vadhan 2017, "The complexity of
    differential privacy", Lemma 2.2, whose k e^(kε) δ is above this sum).

    Of a Gaussian guarantee it is kμ, said at kε.

    Parameters
    ----------
    guarantee : Guarantee
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    Guarantee

    Raises
    ------
    ValueError
        As for `steps`.

    Examples
    --------
    >>> grouped(Guarantee(1.0), "value").epsilon, round(grouped(Guarantee(1.0, 1e-6), rows=2).delta, 9)
    (2.0, 3.718e-06)
    """
    k = steps(guarantee, question, rows)
    epsilon, delta = k * guarantee.epsilon, guarantee.delta
    if guarantee.gaussian is not None and guarantee.kind != "none":
        loss = guarantee.gaussian.grouped(k)
        return Guarantee(epsilon, max(loss.delta(epsilon), delta), guarantee.neighbours, loss.mu_squared)
    if delta and epsilon:
        grown = math.expm1(epsilon) / math.expm1(guarantee.epsilon) if epsilon < _HUGE else math.inf
        delta = min(1.0, delta * grown)
    elif delta:
        delta = min(1.0, k * delta)
    return Guarantee(epsilon, delta, guarantee.neighbours)


def most_success(epsilon: float) -> float:
    """What no attacker on a pure ε-private release exceeds when a fair coin decides: e^ε / (1 + e^ε).

    Parameters
    ----------
    epsilon : float
        From 0, or infinite.

    Returns
    -------
    float
        From 1/2 to 1.

    Examples
    --------
    >>> round(most_success(1.0), 3), most_success(math.inf)
    (0.731, 1.0)
    """
    return 1 / (1 + math.exp(-epsilon))


def hits(guarantee: Guarantee, false_alarms: Any, question: str = MEMBERSHIP, rows: int = 1) -> np.ndarray:
    """Most that a test can hit of what is true, at a rate of false alarms.

    Neighbours at one step allow at most ``min(δ + e^ε a, 1 - e^-ε (1 - δ - a), 1)`` at false alarm rate a (Wasserman
    and Zhou, Theorem 2.4; Kairouz, Oh and Viswanath, Theorem 2.1; Dong, Roth and Su, Proposition 2.5). More steps apply
    that to itself (Dong, Roth and Su, Theorem 2.14), and k steps of a Gaussian guarantee are one of kμ. Nothing smaller
    is true of every such mechanism; two steps allow less than one step of 2ε does, as there is a table between the two.

    Parameters
    ----------
    guarantee : Guarantee
    false_alarms : float or float array
        From 0 to 1.
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    float array of the shape of false_alarms

    Raises
    ------
    ValueError
        As for `steps`, or if a rate is out of range.

    Examples
    --------
    >>> [round(float(hits(Guarantee(1.0), 0.05, q)), 3) for q in ("membership", "value")]
    [0.136, 0.369]
    """
    k = steps(guarantee, question, rows)
    rate = np.asarray(false_alarms, float)
    if not ((rate >= 0) & (rate <= 1)).all():
        raise ValueError("false alarms are rates from 0 to 1")
    if guarantee.gaussian is not None:
        return gaussian_tradeoff.hits(guarantee.gaussian.grouped(k), rate)
    if guarantee.kind == "none" or guarantee.epsilon > _HUGE:
        return np.ones_like(rate)
    more, delta = math.exp(guarantee.epsilon), guarantee.delta
    for _ in range(k):
        rate = np.minimum(np.minimum(delta + more * rate, 1 - (1 - delta - rate) / more), 1)
    return rate


def misses(guarantee: Guarantee, false_alarms: Any, question: str = MEMBERSHIP, rows: int = 1) -> np.ndarray:
    """The trade-off curve: least that a test must miss of what is true, at a rate of false alarms. 1 - `hits`.

    Parameters
    ----------
    guarantee : Guarantee
    false_alarms : float or float array
        From 0 to 1.
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    float array of the shape of false_alarms

    Raises
    ------
    ValueError
        As for `steps`, or if a rate is out of range.

    Examples
    --------
    >>> misses(Guarantee(math.log(3)), [0, 0.25, 0.5, 1]).round(3).tolist()
    [1.0, 0.25, 0.167, 0.0]
    """
    return 1 - hits(guarantee, false_alarms, question, rows)


def kinks(guarantee: Guarantee, question: str = MEMBERSHIP, rows: int = 1) -> np.ndarray:
    """False alarm rates, rising from 0 to 1, between which `hits` is straight; of a Gaussian curve, enough to draw it.

    Parameters
    ----------
    guarantee : Guarantee
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    float array

    Raises
    ------
    ValueError
        As for `steps`.

    Examples
    --------
    >>> kinks(Guarantee(math.log(3))).round(3).tolist()
    [0.0, 0.25, 1.0]
    """
    k = steps(guarantee, question, rows)
    if guarantee.gaussian is not None:
        return gaussian_tradeoff.points()
    if guarantee.kind == "none" or guarantee.epsilon > _HUGE:
        return np.array([0.0, 1.0])
    shrink, delta = math.exp(-guarantee.epsilon), guarantee.delta
    bend = shrink * (1 - delta) / (1 + shrink)  # of one step; k steps bend wherever one of them does
    found = [bend]
    while len(found) < k and found[-1] > delta and (found[-1] - delta) * shrink > 0:
        found.append((found[-1] - delta) * shrink)
    full = float(misses(guarantee, 0, question, rows))  # the curve is its own mirror image, so nothing is missed here
    return np.unique([0.0, *found, full, 1.0])


def success(guarantee: Guarantee, prior: float = 0.5, question: str = MEMBERSHIP, rows: int = 1) -> float:
    """Most that an attacker can be right with on average, whatever they do.

    With a prior p the answers are right with probability p · hits(a) + (1 - p) (1 - a), a concave function of the
    false alarm rate a that is straight between `kinks`, so one of them is best. For one step that is
    ``max((e^ε + δ) / (1 + e^ε), p + (1 - p) δ, 1 - p + p δ)``: the first at 50:50; without δ the others are what always
    giving the likelier answer gets right. A Gaussian curve has a best point of its own (`gaussian_tradeoff.success`).

    Parameters
    ----------
    guarantee : Guarantee
    prior : float
        What the attacker believed before, between 0 and 1: that the row is in the table, or has the first value.
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    float from 0.5 to 1

    Raises
    ------
    ValueError
        As for `steps`, or if the prior is out of range.

    Examples
    --------
    >>> [round(success(Guarantee(1.0), prior), 3) for prior in (0.5, 0.9)]
    [0.731, 0.9]
    >>> round(success(Guarantee(1.0), 0.5, "value"), 3)
    0.816
    """
    _check_prior(prior)
    if guarantee.gaussian is not None:
        return gaussian_tradeoff.success(guarantee.gaussian.grouped(steps(guarantee, question, rows)), prior)
    a = kinks(guarantee, question, rows)
    return float((prior * hits(guarantee, a, question, rows) + (1 - prior) * (1 - a)).max())


def advantage(guarantee: Guarantee, question: str = MEMBERSHIP, rows: int = 1) -> float:
    """Most by which hits can exceed false alarms; for one step (e^ε - 1 + 2δ) / (e^ε + 1).

    The same as 2 · success - 1 at 50:50. (Kairouz, Oh and Viswanath, Theorem 2.1; as a bound on membership inference:
    Humphries et al. 2023, "Investigating membership inference attacks under data dependencies".)

    Parameters
    ----------
    guarantee : Guarantee
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        As for `steps`.

    Examples
    --------
    >>> round(advantage(Guarantee(1.0)), 3)
    0.462
    """
    if guarantee.gaussian is not None:
        return guarantee.gaussian.grouped(steps(guarantee, question, rows)).delta(0)
    a = kinks(guarantee, question, rows)
    return float((hits(guarantee, a, question, rows) - a).max())


def posterior(
    guarantee: Guarantee, prior: Any, question: str = MEMBERSHIP, rows: int = 1, *, failure: float = 0.0
) -> tuple[Any, Any]:
    """Least and most that somebody can believe after a release, who believed `prior` before.

    By Bayes' rule the odds change by the ratio of the release's probabilities under the two tables. Without δ that
    ratio is at most e^ε for every release (e^(kε) after k steps). With δ it may be anything in rare releases. Let B be
    the releases with a ratio P/Q above e^t, t > ε. Then P(B) ≤ e^ε Q(B) + δ ≤ e^(ε-t) P(B) + δ, so that P(B) is at most
    δ / (1 - e^(ε-t)), and Q(B) is less. So with t = ε - ln(1 - δ/failure) either bound fails with at most that
    probability, whatever is true. (Kasiviswanathan and Smith 2014 convert with t = 2ε.) A Gaussian guarantee has an
    (ε, δ) for every δ, so that any failure above 0 will do (`gaussian_tradeoff.log_odds`).

    Parameters
    ----------
    guarantee : Guarantee
    prior : float or float array
        Between 0 and 1.
    question : {"membership", "value"}
    rows : int
        Rows of the same person.
    failure : float
        How often each bound may fail. Not needed without δ.

    Returns
    -------
    lowest : float or float array
        Of the shape of the prior.
    highest : float or float array
        The same.

    Raises
    ------
    ValueError
        As for `steps`; if a prior is out of range; if there is a δ (see `grouped`) that failure is not above.

    Examples
    --------
    >>> [round(p, 3) for p in posterior(Guarantee(1.0), 0.5)]
    [0.269, 0.731]
    >>> [round(p, 3) for p in posterior(Guarantee(1.0), 0.5, "value")]
    [0.119, 0.881]
    >>> [round(p, 3) for p in posterior(Guarantee(1.0, 1e-6), 0.5, failure=1e-5)]
    [0.249, 0.751]
    """
    _check_prior(prior)
    both = grouped(guarantee, question, rows)
    factor = float(both.epsilon)
    if both.kind == "none":
        factor = math.inf
    elif both.gaussian is not None and 0 < failure <= 1:
        factor = gaussian_tradeoff.log_odds(both.gaussian, failure)
    elif both.delta:
        if not both.delta < failure <= 1:
            raise ValueError(
                f"with δ = {text_up(both.delta)} no bound on beliefs holds for every release: say how often it may "
                f"fail, failure={failure!r} is not above δ"
            )
        factor -= math.log1p(-both.delta / failure)
    shrink = math.exp(-factor)
    return prior * shrink / (prior * shrink + 1 - prior), prior / (prior + (1 - prior) * shrink)


def hundred_guesses(
    guarantee: Guarantee, prior: float = 0.5, question: str = MEMBERSHIP, rows: int = 1
) -> HundredGuesses:
    """How many of a hundred guesses are right, without and with the release.

    Parameters
    ----------
    guarantee : Guarantee
    prior : float
        As for `success`.
    question : {"membership", "value"}
    rows : int
        Rows of the same person.

    Returns
    -------
    HundredGuesses
        Rounded so that the risk never looks smaller than it is.

    Raises
    ------
    ValueError
        As for `steps`, or if the prior is out of range.

    Examples
    --------
    >>> hundred_guesses(Guarantee(1.0))
    HundredGuesses(without=50, more=24, wrong=26)
    """
    without = math.floor(100 * max(prior, 1 - prior) + 1e-9)
    right = math.ceil(100 * success(guarantee, prior, question, rows) - 1e-9)
    return HundredGuesses(without, right - without, 100 - right)


def percent_up(share: float) -> str:
    """An upper bound as people read it: rounded up, never below what it is.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str

    Examples
    --------
    >>> percent_up(0.73106), percent_up(0.5), percent_up(0.9), percent_up(0.02674)
    ('73.2 %', '50 %', '90 %', '2.7 %')
    >>> percent_up(0.99995), percent_up(0.9999999), percent_up(0.0000001)
    ('99.995 %', 'practically 100 %', '0.001 %')
    """
    if share > 0.99999:
        return "practically 100 %" if share < 1 else "100 %"
    digits = 1 if 0.001 < share < 0.998 else 3
    return f"{math.ceil(share * 10 ** (2 + digits) - 1e-7) / 10**digits:.{digits}f}".rstrip("0").rstrip(".") + " %"


def percent_down(share: float) -> str:
    """A lower bound as people read it: rounded down, never above what it is.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str

    Examples
    --------
    >>> percent_down(0.26894), percent_down(0.5), percent_down(0.0000454), percent_down(0.0)
    ('26.8 %', '50 %', '0.004 %', '0 %')
    """
    if share < 0.00001:
        return "practically 0 %" if share > 0 else "0 %"
    digits = 1 if 0.002 < share < 0.999 else 3
    return f"{math.floor(share * 10 ** (2 + digits) + 1e-7) / 10**digits:.{digits}f}".rstrip("0").rstrip(".") + " %"


def factor_up(epsilon: float | Fraction) -> str:
    """Write e^ε as people read it, rounded up: an upper bound of odds must never read lower than it is.

    Parameters
    ----------
    epsilon : float or Fraction
        From 0; infinity where there is no bound.

    Returns
    -------
    str

    Examples
    --------
    >>> factor_up(1.0), factor_up(0.03), factor_up(10.0), factor_up(14.0), factor_up(math.inf)
    ('2.72', '1.031', '22,027', '10⁷', '∞')
    """
    if math.isinf(epsilon):
        return "∞"
    if epsilon > 13.8:
        power = math.ceil(epsilon / math.log(10))
        return "10" + str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    value = math.exp(epsilon)
    digits = 3 if value < 1.1 else 2 if value < 100 else 0
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:,.{digits}f}"


def _check_prior(prior: Any) -> None:
    if not np.all((np.asarray(prior) > 0) & (np.asarray(prior) < 1)):
        raise ValueError(f"prior={prior!r} is not a probability between 0 and 1")
