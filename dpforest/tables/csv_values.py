"""Several values as one line of text that can be edited, and read back without losing any."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

SEPARATOR = "; "
HELP = 'Separated by ;. A value that has a ; in it, or a quote at its start, stands in "quotes".'
_ITEM = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")\s*(?=;|$)|([^;]*))(?:;|$)', re.DOTALL)


def written(values: Iterable[object]) -> str:
    """The values in one line; those that would not come back as they are, as JSON strings.

    >>> written(["Bonn", "Köln; Deutz", "two\\nlines", 7])
    'Bonn; "Köln; Deutz"; "two\\\\nlines"; 7'
    """
    return SEPARATOR.join(_quoted(str(value)) for value in values)


def _quoted(value: str) -> str:
    if value and value == value.strip() and value.isprintable() and ";" not in value and value[0] != '"':
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())


def parsed(text: str) -> tuple[str, ...]:
    """The values of a line, as `written` or as somebody typed it; empty ones that are not quoted are left out.

    >>> parsed(' Bonn;Ulm ; "a;b";; "open')
    ('Bonn', 'Ulm', 'a;b', '"open')
    """
    values = []
    for quoted, plain in _ITEM.findall(text):
        if quoted:
            values.append(_unquoted(quoted))
        elif plain.strip():
            values.append(plain.strip())
    return tuple(values)


def _unquoted(quoted: str) -> str:
    """Return the text of a JSON string, or the argument itself if it is not one."""
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted
