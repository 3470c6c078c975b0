"""Program that draws one figure for `paper.py`.

It reads the figure as JSON from standard input, and writes SVG or PDF to standard output. Its arguments are the format
and the path of the browser.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Final

# A figure contains texts from users' files, so this policy lets the page load nothing from other machines.
_POLICY: Final = (
    "default-src 'none'; script-src file: blob: 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
_HEAD: Final = f"""<!DOCTYPE html><html><head><title>dpforest</title><style id="head-style"></style>
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">"""
_NOWHERE: Final = "127.0.0.1:9"  # the browser's proxy. It does not exist, so no request leaves this machine.


async def _draw(figure: dict[str, Any], kind: str, browser: str) -> bytes:
    from kaleido import Kaleido, PageGenerator

    page = PageGenerator(mathjax=False)
    page.header = _HEAD
    size = {"format": kind, "width": figure["layout"]["width"], "height": figure["layout"]["height"]}
    async with Kaleido(page_generator=page, path=browser, enable_extensions=False, proxy_server=_NOWHERE) as artist:
        return bytes(await artist.calc_fig(figure, size))


if __name__ == "__main__":
    sys.stdout.buffer.write(asyncio.run(_draw(json.load(sys.stdin), sys.argv[1], sys.argv[2])))
