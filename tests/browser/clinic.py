"""An invented table in the format of European spreadsheets. Its words are rare, so a test can search links for them."""

from __future__ import annotations

import random

NAME = "Klinik Größe 2021.csv"
LABEL = "fähig"
COLUMNS = ("Kennung", "Größe", "Gewicht", "Stadt", "Datum", LABEL)
CITIES = ("Köln", "München", "Zürich")
CLASSES = ("ja", "nein")
SECRETS = (*COLUMNS, *CITIES, "Klinik", "P00017", "Nullserie")  # no link may contain any of these
SOURCE = "der Fragebogen, Seite 2"


def rows(n: int = 400, seed: int = 1) -> list[list[str]]:
    """Return the cells of n rows. Tall people have the class "ja"; one row in ten has the wrong class."""
    draw, out = random.Random(seed), []
    for i in range(n):
        size, weight, city = draw.gauss(1.7, 0.1), draw.gauss(70, 10), draw.choice(CITIES)
        able = CLASSES[0] if (size > 1.7) ^ (draw.random() < 0.1) else CLASSES[1]
        out.append(
            [
                f"P{i:05d}",
                "" if draw.random() < 0.05 else f"{size:.2f}".replace(".", ","),
                f"{weight:.1f}".replace(".", ","),
                "" if draw.random() < 0.05 else city,
                f"2021-{1 + i % 12:02d}-{1 + i % 28:02d}",
                able,
            ]
        )
    return out


def csv(n: int = 400, seed: int = 1) -> bytes:
    """Return a file with semicolons, decimal commas, umlauts, empty cells, a byte order mark, an id and a date."""
    return "\r\n".join(";".join(line) for line in [list(COLUMNS), *rows(n, seed)]).encode("utf-8-sig")
