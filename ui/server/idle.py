"""The page that a browser opens when its user has been idle, and the script that leads to it."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse

from dpforest.tables.features import plural

IDLE_PAGE: Final = "/idle"
_STYLE: Final = (
    "body {font: 1.1rem/1.5 sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; color-scheme: light dark}"
)
# An address on this host. Browsers drop tabs and line breaks, so "/\t/host" would lead to another host.
_OF_THIS_HOST: Final = re.compile(r"/(?![/\\])[\x21-\x7e]*")
# A browser may run the timers of a hidden tab late, so the script compares times.
_SCRIPT: Final = """<script>
(() => {
  let last = Date.now();
  for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"])
    addEventListener(kind, () => { last = Date.now(); }, {capture: true, passive: true});
  setInterval(() => {
    if (Date.now() - last > $minutes * 60000)
      location.replace($page + "?to=" + encodeURIComponent(location.pathname + location.search));
  }, 5000);
})();
</script>"""


def idle_script(minutes: int, base_path: str) -> str:
    """Return a script that leaves a page whose user was idle for `minutes`. The script is empty if `minutes` is 0."""
    if not minutes:
        return ""
    base = base_path.strip("/")
    page = f"/{base}{IDLE_PAGE}" if base else IDLE_PAGE
    return _SCRIPT.replace("$minutes", json.dumps(minutes)).replace("$page", json.dumps(page))


def idle_page(minutes: int, query: str) -> HTMLResponse:
    """Return the page for an idle user. Its link leads back to the address `to` of the query, if it is on this host."""
    to = parse_qs(query).get("to", ["/"])[0]
    if not _OF_THIS_HOST.fullmatch(to):
        to = "/"
    sentence = (
        f"Nobody used this page for {plural(minutes, 'minute')}, so the server removed its rows and results from its "
        "memory. The link below has your settings, and stored projects stay. Attach your file again to go on."
    )
    return text_page(sentence, "Go on", to)


def text_page(sentence: str, link: str, to: str = "", status: int = 200) -> HTMLResponse:
    """Return a short page with a sentence, and a link to the address `to`. By default, the link reloads the page."""
    content = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>dpforest</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>dpforest</h1>\n<p>{escape(sentence)}</p>\n"
        f'<p><a href="{escape(to, quote=True)}">{escape(link)}</a></p>\n</body>\n</html>\n'
    )
    headers = {"Cache-Control": "no-store"} | ({"Retry-After": "60"} if status != 200 else {})
    return HTMLResponse(content, status, headers)
