"""Write several values as one line of text that users can edit, and parse the line without loss."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

SEPARATOR = "; "
HELP = 'Separated by ;. A value that has a ; in it, or a quote at its start, stands in "quotes".'
_ITEM = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")\s*(?=;|$)|([^;]*))(?:;|$)', re.DOTALL)


def written(values: Iterable[object]) -> str:
    """Return the values in one line. A value that `parsed` would change is written as a JSON string.

    >>> written(["Bonn", "Köln; Deutz", "two\\nlines", 7])
    'Bonn; "Köln; Deutz"; "two\\\\nlines"; 7'
    """
    return SEPARATOR.join(_quoted(str(value)) for value in values)


def _quoted(value: str) -> str:
    if value and value == value.strip() and value.isprintable() and ";" not in value and value[0] != '"':
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())


def parsed(text: str) -> tuple[str, ...]:
    """Return the values in a line from `written` or from a user. Empty values without quotes are omitted.

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
