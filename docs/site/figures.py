"""Figures of the site, drawn from the output that a page prints, so that a figure always shows the tested numbers.

A block with the language {curve} or {bars} and a title becomes an inline SVG of the table that the code block before it
prints. Colors are those of the app. Texts have the color of the page, so a figure fits the light and the dark theme.
"""

from __future__ import annotations

import math
import re
from html import escape
from typing import Final

FIGURE: Final = re.compile(r"^```\{(curve|bars)\} (.+)\n```$", re.MULTILINE)
PRINTED: Final = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 52, 90, 14, 44
COLORS: Final = ("var(--figure-1)", "var(--figure-2)")


def with_figures(text: str) -> str:
    """Replace each figure block of a page by an SVG of the table that is printed above it."""

    def figure(match: re.Match[str]) -> str:
        printed = PRINTED.findall(text[: match.start()])[-1]
        rows = [line for line in printed.splitlines() if not line.startswith((">>>", "..."))]
        drawing = curve(rows) if match[1] == "curve" else bars(rows)
        title = escape(match[2], quote=True)
        return (
            f'<figure class="drawn"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">{drawing}</svg>'
            f"<figcaption>{title}</figcaption></figure>"
        )

    return FIGURE.sub(figure, text)


def words(x: float, y: float, content: str, anchor: str = "middle", color: str = "currentColor") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def axis_of_accuracy(low: float, high: float) -> tuple[list[str], float]:
    """Return lines and labels at each tenth from `low` to `high`, and the height of a unit."""
    scale = (HEIGHT - TOP - BOTTOM) / (high - low)
    marks = []
    for tenth in range(round(low * 10), round(high * 10) + 1):
        y = HEIGHT - BOTTOM - (tenth / 10 - low) * scale
        marks += [line(LEFT, y, WIDTH - RIGHT, y, "grid"), words(LEFT - 8, y + 4, f"{tenth * 10} %", "end")]
    return marks, scale


def curve(rows: list[str]) -> str:
    """Draw a table whose rows are ε and whose columns are forests; a row "inf" becomes dashed lines.

    Parameters
    ----------
    rows : list of str
        Lines of the printed table. The first has the names of the forests after the name of the columns.

    Returns
    -------
    str
        Content of an SVG.
    """
    names = rows[0].split()[1:]
    table = [[float(cell) for cell in row.split()] for row in rows[1:] if re.match(r"[\d.]+|inf", row)]
    private = [row for row in table if row[0] < math.inf]
    limit = next((row for row in table if row[0] == math.inf), None)
    values = [value for row in table for value in row[1:]]
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10) / 10
    drawing, scale = axis_of_accuracy(low, high)
    first, last = math.log(private[0][0]), math.log(private[-1][0])

    def x(epsilon: float) -> float:
        return LEFT + (math.log(epsilon) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) * scale

    for row in private[::2]:
        drawing.append(words(x(row[0]), HEIGHT - BOTTOM + 18, f"{row[0]:g}"))
    drawing.append(words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "ε (logarithmic)"))
    for column, name in enumerate(names, 1):
        color = COLORS[column - 1]
        points = " ".join(f"{x(row[0]):.1f},{y(row[column]):.1f}" for row in private)
        drawing.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        drawing += [
            f'<circle cx="{x(row[0]):.1f}" cy="{y(row[column]):.1f}" r="3.5" fill="{color}"/>' for row in private
        ]
        drawing.append(words(WIDTH - RIGHT + 10, y(private[-1][column]) + 4, name, "start", color))
        if limit is not None:
            height = y(limit[column])
            drawing.append(
                f'<line x1="{LEFT}" y1="{height:.1f}" x2="{WIDTH - RIGHT}" y2="{height:.1f}" stroke="{color}" '
                'stroke-dasharray="5 4"/>'
            )
            drawing.append(words(LEFT + 6, height - 5, f"{name}, no privacy", "start", color))
    return "".join(drawing)


def bars(rows: list[str]) -> str:
    """Draw a table with the columns group, persons, loss, low and high as bars with intervals.

    Parameters
    ----------
    rows : list of str
        Lines of the printed table, the names of the columns first.

    Returns
    -------
    str
        Content of an SVG.
    """
    table = []
    for row in rows[1:]:
        cells = row.rsplit(maxsplit=4)
        if len(cells) == 5:
            table.append((cells[0].strip(), *map(float, cells[2:])))
    left, right = 130, 20
    low = min(0.0, math.floor(min(row[2] for row in table) * 10) / 10)
    high = math.ceil(max(row[3] for row in table) * 10) / 10
    scale = (WIDTH - left - right) / (high - low)

    def x(value: float) -> float:
        return left + (value - low) * scale

    step = (HEIGHT - TOP - BOTTOM) / len(table)
    drawing = []
    for tenth in range(round(low * 10), round(high * 10) + 1):
        drawing += [
            line(x(tenth / 10), TOP, x(tenth / 10), HEIGHT - BOTTOM, "grid"),
            words(x(tenth / 10), HEIGHT - BOTTOM + 18, f"{tenth * 10} %"),
        ]
    for i, (name, loss, least, most) in enumerate(table):
        y = TOP + (i + 0.5) * step
        start, end = sorted((x(0), x(loss)))
        drawing += [
            words(left - 10, y + 4, name, "end"),
            f'<rect x="{start:.1f}" y="{y - step / 4:.1f}" width="{end - start:.1f}" height="{step / 2:.1f}" '
            f'fill="{COLORS[0]}"/>',
            line(x(least), y, x(most), y, "interval"),
            line(x(least), y - 5, x(least), y + 5, "interval"),
            line(x(most), y - 5, x(most), y + 5, "interval"),
        ]
    drawing.append(words((left + WIDTH - right) / 2, HEIGHT - 6, "accuracy that the group loses"))
    return "".join(drawing)
