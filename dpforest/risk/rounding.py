"""Bounds as people read them, rounded so that no risk reads smaller than it is."""

import math
from fractions import Fraction


def percent_up(share: float) -> str:
    """An upper bound as people read it: rounded up, never below what it is.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str
        Never less than the share.

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
        Never more than the share.

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
        Never less than the factor.

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
