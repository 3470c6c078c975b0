"""δ of a Gaussian loss against dp_accounting, which other people wrote: accountants for the Gaussian mechanism.

Noise of standard deviation σ on a sum of sensitivity Δ is μ-GDP with μ = Δ/σ, and k such releases are √k μ. The
accountant of privacy loss distributions rounds up on a grid, so it may say a little more than is true, never less.
"""

from fractions import Fraction

import pytest

dp_accounting = pytest.importorskip("dp_accounting")
from dp_accounting.pld import PLDAccountant  # noqa: E402
from dp_accounting.rdp import RdpAccountant  # noqa: E402

from dpforest.privacy.loss import PrivacyLoss  # noqa: E402


def event(sigma: float, times: int) -> "dp_accounting.DpEvent":
    return dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(sigma), times)


@pytest.mark.parametrize("sigma, times", [(0.7, 1), (4.0, 1), (20.0, 1), (40.0, 100), (9.5, 7)])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_delta_equals_that_of_other_accountants(sigma, times, epsilon):
    loss = PrivacyLoss.gaussian(Fraction(1) / Fraction(sigma) ** 2) * times
    ours = float(loss.delta(Fraction(epsilon)))
    grid = PLDAccountant(value_discretization_interval=1e-4).compose(event(sigma, times)).get_delta(epsilon)
    assert ours <= grid * (1 + 1e-6) + 1e-14 and grid == pytest.approx(ours, rel=2e-2, abs=1e-12)
    assert ours <= RdpAccountant().compose(event(sigma, times)).get_delta(epsilon) * (1 + 1e-9) + 1e-300
