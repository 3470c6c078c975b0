"""Figures of the audit: flip rates and privacy losses of leaf rules, and the loss that an attack has proved.

A leaf rule publishes one class for a leaf. The lead of a leaf is the row count of its most frequent class minus the
count of the next class. The flip rate is the probability that the rule publishes another class than the most frequent
one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpforest.audit.leaf_attack import LeafPair, LossEstimate
from dpforest.audit.leaf_curves import LeafCurves
from dpforest.plotting.style import NOT_HELD, PRIVATE, QUIET, figure, number
from dpforest.privacy.laws import PUBLISHED
from dpforest.privacy.rationals import text_up

DASHES = {
    "permute-and-flip": "solid",
    "exponential": "14px,5px",
    "global-01": "2px,3px",
    "discrete-laplace": "8px,3px,2px,3px,2px,3px",
    "smooth-sensitivity": "solid",
    "smooth-sensitivity-clamped": "dash",
}
_LEGEND = {
    "orientation": "h",
    "traceorder": "normal",
    "xref": "container",
    "x": 0,
    "xanchor": "left",
    "yref": "container",
    "y": 0,
    "yanchor": "bottom",
    "itemwidth": 36,
    "itemclick": False,
    "itemdoubleclick": False,
}
_FRAME = {"hovermode": "closest", "showlegend": True, "legend": _LEGEND, "margin": {"l": 8, "r": 12, "t": 12, "b": 140}}


def flip_curves(curves: LeafCurves, chosen: str, names: dict[str, str]) -> go.Figure:
    """Draw the flip rate of all rules by lead, and the floor: the lowest flip rate of any rule with privacy loss ε.

    Parameters
    ----------
    curves : LeafCurves
        Flip rates of all rules by lead.
    chosen : str
        Rule with the thick line.
    names : dict of str
        Legend names by rule.
    """
    crossing = curves.crossing
    right = max(crossing + 1, 8 / curves.epsilon)
    bottom = float(np.exp(-curves.epsilon * right)) * curves.floor[0] / 2
    fig = figure(440, **_FRAME)
    floor = np.maximum(curves.floor, bottom / 1e3)
    fig.add_scatter(
        x=curves.lead,
        y=np.full(len(curves.lead), bottom / 1e3),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    fig.add_scatter(
        x=curves.lead,
        y=floor,
        mode="lines",
        name="the floor",
        line={"color": QUIET, "width": 2},
        fill="tonexty",
        fillcolor="rgba(138,146,156,0.28)",
        hoverinfo="skip",
    )
    for rule in _chosen_last(curves.flip, chosen):
        flip = curves.flip[rule]
        text = [
            f"<b>{names[rule]}</b><br>lead {g:,}: flips in {chance(f)}<br>the floor: {chance(e)}"
            for g, f, e in zip(curves.lead, flip, curves.floor, strict=True)
        ]
        _line(fig, curves.lead, np.maximum(flip, bottom / 1e3), rule, rule == chosen, names[rule], text)
    published = float(curves.flip["smooth-sensitivity"][curves.lead == crossing][0])
    mark_height = max(published, bottom * 1.6)
    _mark(
        fig,
        crossing,
        mark_height,
        "diamond" if mark_height == published else "triangle-down",
        f"at a lead of {crossing:,} the published rule flips less than any rule with ε = {text_up(curves.epsilon)} can",
    )
    high = 0.18 * (1 - np.log10(bottom))  # height of the space above 100 %, in powers of ten
    is_late = crossing > 0.5 * right
    fig.add_annotation(
        x=crossing,
        y=np.log10(mark_height),
        showarrow=True,
        arrowhead=0,
        arrowcolor=QUIET,
        ax=crossing,
        axref="x",
        text=f"<b>lead {crossing:,}</b>: {names['smooth-sensitivity']}<br>falls below the floor",
        ay=0.55 * high,
        ayref="y",
        xanchor="right" if is_late else "left",
        align="right" if is_late else "left",
    )
    fig.add_annotation(
        x=0,
        y=np.log10(bottom * 2.2),
        text=f"no rule<br>with ε = {text_up(curves.epsilon)}<br>gets in here",
        showarrow=False,
        xanchor="left",
        yanchor="bottom",
        align="left",
        xshift=6,
    )
    _lead_axis(fig, right)
    ticks = [e for e in range(-1, int(np.floor(np.log10(bottom))) - 1, -1) if e >= -4 or e % 3 == 0]
    fig.update_yaxes(
        type="log",
        range=[np.log10(bottom), high],
        zeroline=False,
        title="how often the label flips",
        tickvals=[0.5, *(10.0**e for e in ticks)],
        ticktext=["50 %", *(_share(e) for e in ticks)],
    )
    return fig


def loss_curves(curves: LeafCurves, chosen: str, names: dict[str, str], true_loss: float) -> go.Figure:
    """Draw the privacy loss of all rules by lead, and a line at the promised ε.

    Parameters
    ----------
    curves, chosen, names
        As for `flip_curves`.
    true_loss : float
        Largest loss of the chosen rule at any lead; infinite if its loss has no limit.
    """
    eps = curves.epsilon
    top = max(40 * eps, 1.8 * true_loss if np.isfinite(true_loss) else 0)
    low = 0.12 * eps
    right = max(curves.crossing + 1, 8 / eps, 2)
    fig = figure(440, **_FRAME)
    for rule in _chosen_last(curves.loss, chosen):
        loss = curves.loss[rule]
        text = [f"<b>{names[rule]}</b><br>lead {g:,}: loss {size(v)}" for g, v in zip(curves.lead, loss, strict=True)]
        _line(fig, curves.lead, np.clip(loss, low / 10, top * 10), rule, rule == chosen, names[rule], text)
    first = curves.first_over[chosen]
    is_late = first is not None and first > 0.6 * right
    fig.add_hline(y=eps, line={"color": QUIET, "width": 2.5, "dash": "longdash"})
    # The label of the ε line is at its left end if the mark of the first lead with a loss above ε is farther right.
    is_far_right = first is not None and first > 0.25 * right
    fig.add_annotation(
        x=0 if is_far_right else 1,
        xref="paper",
        y=np.log10(eps),
        text=f"<b>promised: ε = {text_up(eps)}</b>",
        showarrow=False,
        xanchor="left" if is_far_right else "right",
        yanchor="bottom",
        xshift=4 if is_far_right else 0,
    )
    if first is not None:
        loss = curves.loss[chosen]
        first_loss = float(loss[curves.lead == first][0])
        mark_height, is_above = min(first_loss, top / 1.3), first_loss > top / 1.3
        _mark(fig, first, mark_height, "triangle-up" if is_above else "x")
        # If the mark has a middle height, there is space for its text at its right.
        has_room = 1.8 * eps < mark_height <= top / 4
        words = f"{size(first_loss)} at lead {first:,}, far above" if is_above else "more than promised"
        fig.add_annotation(
            x=first,
            y=np.log10(mark_height),
            text=f"<b>from lead {first:,} on</b><br>{words}",
            showarrow=True,
            arrowhead=0,
            arrowcolor=QUIET,
            ax=-56 if is_late else 24 if has_room else 84,
            ay=-56 if is_late else 34 if mark_height > top / 4 else 6 if has_room else -24,
            xanchor="right" if is_late else "left",
            align="right" if is_late else "left",
        )
        if np.isfinite(true_loss):
            peak, worst = int(curves.lead[np.argmax(loss)]), float(loss.max())
            _mark(fig, peak, worst)
            fig.add_annotation(
                x=peak,
                y=np.log10(worst),
                text=f"<b>{size(worst)}</b> at lead {peak:,}",
                showarrow=False,
                xanchor="left" if peak < 0.6 * right else "right",
                xshift=12 if peak < 0.6 * right else -12,
                yanchor="bottom",
            )
    _lead_axis(fig, right)
    ticks = [m * 10.0**e for e in range(-4, 5) for m in (1, 3) if low <= m * 10.0**e <= top]
    fig.update_yaxes(
        type="log",
        range=[np.log10(low), np.log10(top)],
        zeroline=False,
        title="privacy loss",
        tickvals=ticks,
        ticktext=[f"{t:g}" for t in ticks],
    )
    return fig


def bound_chart(estimates: Sequence[LossEstimate], pair: LeafPair) -> go.Figure:
    """Draw the privacy loss that an attacker has proved (a lower bound) against the number of observed releases.

    Parameters
    ----------
    estimates : sequence of LossEstimate
        Lower bounds after rising numbers of releases.
    pair : LeafPair
        The two neighboring tables whose releases the attacker tells apart.
    """
    broken = pair.mechanism in PUBLISHED
    color = NOT_HELD if broken else PRIVATE
    proved = [estimate.bound for estimate in estimates]
    top = 1.25 * max(pair.epsilon, *proved, min(pair.loss, 1.6 * max(pair.epsilon, *proved)))
    fig = figure(340, hovermode="closest", margin={"l": 8, "r": 12, "t": 12, "b": 8})
    fig.add_hline(y=pair.epsilon, line={"color": QUIET, "width": 2.5, "dash": "longdash"})
    lines = [
        (
            pair.epsilon,
            f"<b>promised: ε = {text_up(pair.epsilon)}</b>",
            "top" if 0.2 * top < pair.epsilon < pair.loss else "bottom",
        )
    ]
    if abs(pair.loss / pair.epsilon - 1) < 1e-6:
        lines = [(pair.epsilon, f"<b>promised and true for this pair: {text_up(pair.epsilon)}</b>", "bottom")]
    elif pair.loss < top:
        fig.add_hline(y=pair.loss, line={"color": color, "width": 2, "dash": "dot"})
        above = "bottom" if pair.loss > pair.epsilon else "top"
        lines.append((pair.loss, f"<b>true for this pair: {distinct_text(pair.loss, pair.epsilon)}</b>", above))
    else:
        lines.append((top, f"true for this pair: {size(pair.loss)}, far above", "top"))
    for y, text, anchor in lines:
        fig.add_annotation(
            x=0,
            xref="paper",
            y=y,
            text=text,
            showarrow=False,
            xanchor="left",
            yanchor=anchor,
            xshift=4,
        )
    fig.add_scatter(
        x=[estimate.trials for estimate in estimates],
        y=proved,
        mode="lines+markers",
        line={"color": color, "width": 3},
        marker={"size": 8, "color": color},
        name="proved",
        text=[
            f"{estimate.trials:,} releases of either table:<br>a loss of at least {size(estimate.bound)}"
            for estimate in estimates
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    fig.update_xaxes(
        type="log",
        title="releases of either table",
        range=[1.85, 7.45],
        showgrid=False,
        zeroline=False,
        tickvals=[1e2, 1e3, 1e4, 1e5, 1e6, 1e7],
        ticktext=["100", "", "10,000", "", "1 million", ""],
    )
    fig.update_yaxes(title="proved so far", range=[0, top], zeroline=False)
    return fig


def chance(p: float) -> str:
    """Return a probability as text: a percentage, or "n in 10ᵏ" if it is below 0.01 %.

    >>> chance(0.204), chance(0.99973), chance(0.00012), chance(2e-22), chance(0.0)
    ('20.4 %', '99.97 %', '0.012 %', '2 in 10²²', 'less than 1 in 10³⁰⁰')
    """
    if p > 0.995:
        return "100 %" if p == 1 else f"{100 * p:.4g} %" if p < 0.9999 else "over 99.99 %"
    if p >= 1e-4:
        return f"{100 * p:.3g} %"
    if p < 1e-300:
        return f"less than 1 in 10{raised(300)}"
    power = int(np.ceil(-np.log10(p)))
    return f"{p * 10.0**power:.2g} in 10{raised(power)}"


def size(loss: float) -> str:
    """Return a privacy loss of any size as text, with a power of ten from 1 million on.

    >>> size(22.7009), size(110131.6), size(1.6e8), size(float("inf"))
    ('22.7', '110,132', '1.6 × 10⁸', '∞')
    """
    if not np.isfinite(loss):
        return "∞"
    if loss >= 1e6:
        power = int(np.floor(np.log10(loss)))
        return f"{loss / 10.0**power:.2g} × 10{raised(power)}"
    return f"{loss:.3g}" if loss < 1000 else number(round(loss))


def distinct_text(loss: float, epsilon: float) -> str:
    """Return the text of a loss, with enough digits to differ from the text of ε.

    >>> distinct_text(0.010012, 0.01), distinct_text(2.131, 1.0), distinct_text(0.5, 0.5)
    ('0.01001', '2.13', '0.5')
    """
    texts = [size(loss), *(f"{loss:.{digits}g}" for digits in range(4, 10))]
    return next((text for text in texts if text != text_up(epsilon)), texts[0])


def raised(exponent: int) -> str:
    """Return an exponent in superscript digits.

    >>> "10" + raised(21), "10" + raised(-3)
    ('10²¹', '10⁻³')
    """
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _chosen_last(rules: dict[str, np.ndarray], chosen: str) -> list[str]:
    return sorted(rules, key=lambda rule: rule == chosen)


def _line(fig: go.Figure, x: np.ndarray, y: np.ndarray, rule: str, is_chosen: bool, name: str, text: list[str]) -> None:
    has_dots = len(x) <= 20
    fig.add_scatter(
        x=x,
        y=y,
        mode="lines+markers" if has_dots else "lines",
        name=f"<b>{name}</b>" if is_chosen else name,
        line={
            "color": NOT_HELD if rule in PUBLISHED else PRIVATE,
            "width": 4 if is_chosen else 1.5,
            "dash": DASHES[rule],
        },
        marker={"size": 8 if is_chosen else 4},
        opacity=1 if is_chosen else 0.85,
        text=text,
        meta=rule,
        hovertemplate="%{text}<extra></extra>",
        legendrank=1 if is_chosen else 1000 + list(DASHES).index(rule),
    )


def _mark(fig: go.Figure, x: float, y: float, symbol: str = "x", text: str = "") -> None:
    fig.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        showlegend=False,
        text=[text],
        marker={"size": 14, "symbol": symbol, "color": NOT_HELD, "line": {"color": "white", "width": 1}},
        **({"hovertemplate": "%{text}<extra></extra>"} if text else {"hoverinfo": "skip"}),
    )


def _lead_axis(fig: go.Figure, right: float) -> None:
    fig.update_xaxes(
        title="lead of the top class, in rows",
        range=[-0.02 * right, right],
        showgrid=False,
        zeroline=False,
        tickformat=",d",
        dtick=1 if right <= 9 else None,
    )


def _share(exponent: int) -> str:
    return f"{100 * 10.0**exponent:g} %" if exponent >= -4 else f"1 in 10<sup>{-exponent}</sup>"
