"""Tests that rounding keeps bounds valid."""

import numpy as np

from dpforest.risk.rounding import percent_down, percent_up


def test_rounding_goes_to_the_safe_side():
    for share in np.r_[np.linspace(0, 1, 4001), 1 - np.geomspace(1e-9, 0.01, 200), np.geomspace(1e-9, 0.01, 200)]:
        up, down = percent_up(share), percent_down(share)
        assert up == "practically 100 %" or float(up[:-2]) >= 100 * share - 1e-7
        assert down == "practically 0 %" or float(down[:-2]) <= 100 * share + 1e-7
        assert up != "100 %" or share == 1
        assert down != "0 %" or share == 0
