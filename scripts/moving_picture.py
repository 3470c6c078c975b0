"""Draw docs/explore.gif, the README's moving picture: `.venv/bin/python scripts/moving_picture.py [--url ADDRESS]`."""

import argparse
from io import BytesIO
from pathlib import Path

from browser import ROOT, idle, open_browser, serve
from PIL import Image
from playwright.sync_api import Page

SIZE = {"width": 1280, "height": 720}
WIDTH = 960  # width of the picture in pixels
PATH = ROOT / "docs" / "explore.gif"
EPSILONS = ("0.01", "0.1", "1", "10")
LINKS = ("/Lesson?step=6", "/Lesson?step=6&shown=1", "/Audit", "/Choose_epsilon?data=breast_wisconsin")
MILLISECONDS = 1600


def frames(page: Page, address: str) -> list[Image.Image]:
    """Return pictures of the first screen at each of `EPSILONS`, and of the pages in `LINKS`."""
    return [_frame(page, address + link) for link in (*(f"/?eps={eps}" for eps in EPSILONS), *LINKS)]


def _frame(page: Page, url: str) -> Image.Image:
    page.goto(url)
    page.wait_for_selector(".js-plotly-plot:visible", timeout=120_000)
    idle(page)
    page.wait_for_timeout(800)
    screenshot = Image.open(BytesIO(page.screenshot())).convert("RGB")
    return screenshot.resize((WIDTH, WIDTH * SIZE["height"] // SIZE["width"]), Image.Resampling.LANCZOS)


def write(images: list[Image.Image], path: Path) -> None:
    """Write the frames with a common palette, so that colors do not flicker."""
    stacked = Image.new("RGB", (images[0].width, images[0].height * len(images)))
    for i, image in enumerate(images):
        stacked.paste(image, (0, i * image.height))
    palette = stacked.quantize(200, method=Image.Quantize.MAXCOVERAGE)
    reduced = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    reduced[0].save(path, save_all=True, append_images=reduced[1:], duration=MILLISECONDS, loop=0, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="address of an app that is already running")
    with serve(parser.parse_args().url) as address, open_browser() as browser:
        write(frames(browser.new_page(viewport=SIZE), address), PATH)
