"""Texts of bounds, rounded so that no risk appears smaller than it is."""

import math
from fractions import Fraction


def percent_up(share: float) -> str:
    """Return the text of an upper bound as a percentage, rounded up.

    Parameters
    ----------
    share : float
        Upper bound, from 0 to 1.

    Returns
    -------
    str
        A percentage that is at least the share.

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
    """Return the text of a lower bound as a percentage, rounded down.

    Parameters
    ----------
    share : float
        Lower bound, from 0 to 1.

    Returns
    -------
    str
        A percentage that is at most the share.

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
    """Return the text of e^ε, an upper bound on the change of odds, rounded up.

    Parameters
    ----------
    epsilon : float or Fraction
        ε, at least 0; infinity if there is no bound.

    Returns
    -------
    str
        A number that is at least e^ε.

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
