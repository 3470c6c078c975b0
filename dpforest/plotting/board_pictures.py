"""SVG pictures for the printed page that a privacy board reads (`board_report`)."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape

import numpy as np

from dpforest.plotting.compare import MeasureScale
from dpforest.privacy.rationals import text_up
from dpforest.risk.tradeoff import DistinguishingGame, HundredGuesses

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#6B7480"


def measure_picture(
    curve: Sequence[tuple[float, float, float, float]],
    *,
    needed: float,
    scale: MeasureScale,
    ceiling: float | None,
    chosen: Fraction | float | None,
    certified: bool,
) -> str:
    """Draw a measure against ε with the band of its spread, and lines at its floor and ceiling.

    Parameters
    ----------
    curve : sequence of (ε, mean, low, high)
        At least two points, in rising order of ε. The band reaches from low to high.
    needed : float
        The required value of the measure, which gets a line.
    scale : MeasureScale
        Name, format and floor of the measure.
    ceiling : float or None
        Value of the best model without privacy; None omits its line.
    chosen : Fraction, float or None
        The selected ε; None omits its line.
    certified : bool
        Whether the ε of the curve are certified. If True, the curve is blue; otherwise it is gray.
    """
    points = np.asarray(curve, float)
    if len(points) < 2:
        raise ValueError("a curve has at least two points")
    floor = scale.floor or 0.0
    x0, x1, y0, y1 = 26.0, 292.0, 6.0, 84.0
    log = np.log(points[:, 0])
    values = [*points[:, 1:].ravel(), floor, needed]
    values += [] if ceiling is None else [ceiling]
    low, high = min(values), max(values)
    pad = 0.06 * max(high - low, 0.02)

    def x(epsilon: float) -> float:
        return x0 + (x1 - x0) * (math.log(epsilon) - log[0]) / (log[-1] - log[0])

    def y(share: float) -> float:
        return y1 - (y1 - y0) * (share - low + pad) / (high - low + 2 * pad)

    mean, bottom, top = ([(x(p[0]), y(p[i])) for p in points] for i in (1, 2, 3))
    marks = [e for e in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) if points[0, 0] <= e <= points[-1, 0]]
    color = BLUE if certified else GREY  # blue is only for certified ε
    return _svg(
        300,
        98,
        f"{scale.name[0].upper()}{scale.name[1:]} against epsilon",
        [
            f'<polygon points="{_points(top + bottom[::-1])}" fill="{color}" fill-opacity="0.18"/>',
            "" if ceiling is None else _line((x0, y(ceiling)), (x1, y(ceiling)), ORANGE, "5 3"),
            _line((x0, y(floor)), (x1, y(floor)), GREY, "1.5 2.5"),
            _line((x0, y(needed)), (x1, y(needed)), "#1B2229", "", 0.6),
            _text(x0 + 2, y(needed) - 2, "needed", "start"),
            *(
                [_line((x(float(chosen)), y0), (x(float(chosen)), y1), GREY, "1 2")]
                if chosen is not None and points[0, 0] <= chosen <= points[-1, 0]
                else []
            ),
            f'<polyline points="{_points(mean)}" fill="none" stroke="{color}" stroke-width="1.8"/>',
            *(
                _text(x0 - 3, y(share) + 3, f"{100 * share:.0f} %" if scale.is_share else f"{share:.2f}", "end")
                for share in (low, high)
            ),
            *(_text(min(max(x(e), x0 + 12), x1 - 10), 95, f"ε = {text_up(e)}", "middle") for e in marks),
        ],
    )


def errors_picture(game: DistinguishingGame) -> str:
    """Draw the least miss rate that an attack can have at each false alarm rate."""
    rate = np.union1d(np.linspace(0, 1, 201), game.kinks())  # without the kinks, the drawn line would cut off corners
    least = game.misses(rate)
    x, y = 14 + 116 * rate, 84 - 80 * least
    curve = list(zip(x, y, strict=True))
    return _svg(
        140,
        100,
        "Misses against false alarms: the least that is possible",
        [
            f'<polygon points="{_points([*curve, (14, 84)])}" fill="#DDE1E5"/>',
            _line((14, 4), (130, 84), GREY, "1.5 2.5"),
            f'<polyline points="{_points(curve)}" fill="none" stroke="{BLUE}" stroke-width="1.8"/>',
            _text(72, 96, "false alarms, 0 to 100 %", "middle"),
            '<text transform="translate(9 44) rotate(-90)" text-anchor="middle">misses, 0 to 100 %</text>',
        ],
    )


def icons_picture(guesses: HundredGuesses) -> str:
    """Draw an attacker's hundred guesses: gray if right anyway, blue if right thanks to the release, empty if wrong."""
    fills = [GREY] * guesses.without + [BLUE] * guesses.additional_right + ["none"] * guesses.wrong
    return _svg(
        100,
        100,
        f"{guesses.without} right by a coin, {guesses.additional_right} more at most, {guesses.wrong} wrong",
        [
            f'<circle cx="{5 + 10 * (i % 10)}" cy="{5 + 10 * (i // 10)}" r="3.7" fill="{fill}" '
            f'stroke="{GREY if fill == "none" else fill}"/>'
            for i, fill in enumerate(fills)
        ],
    )


def _svg(width: int, height: int, alt: str, parts: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(alt)}">{"".join(parts)}</svg>'


def _line(a: tuple[float, float], b: tuple[float, float], color: str, dash: str, width: float = 1.2) -> str:
    return (
        f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" stroke="{color}" '
        f'stroke-width="{width}" stroke-dasharray="{dash}"/>'
    )


def _points(pairs: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
