"""Layout of the pages in headless Chromium: `python bench/layout.py [--sources]`.

For each page and each of three screens, the program prints:

- *shift*: the cumulative layout shift until the page rests, by the definition of the Web Vital CLS (goal: at most
  0.05). With `--sources`, the program also prints which parts of the page moved;
- *sizes*: the font sizes of the visible text, in pixels, with the number of characters of each (goal: at most four).

This program is not part of the tests.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from app_latency import CHROMIUM, IDLE, URL, app
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.layout import OBSERVE, layout_shift, type_sizes  # noqa: E402

PAGES = ("", "Compare", "Choose_epsilon", "Audit", "Releases", "Lesson", "Theory", "Papers", "Glossary")
SCREENS = ((1440, 900), (1280, 720), (390, 844))


def open_page(page: Page, name: str) -> None:
    """Open a page of the app, and wait until it rests."""
    page.goto(f"{URL}/{name}")
    page.wait_for_selector("[data-testid=stMain] [data-testid=stMarkdown]", timeout=300_000)
    page.wait_for_timeout(1500)
    page.wait_for_selector(IDLE, timeout=300_000)
    page.wait_for_timeout(1000)


def report_lines(wanted: list[str]) -> Iterator[str]:
    """Open the pages on each screen, and yield the lines of the report."""
    with app(), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        for width, height in SCREENS:
            for name in wanted:
                context = browser.new_context(viewport={"width": width, "height": height}, has_touch=width < 500)
                page = context.new_page()
                page.add_init_script(OBSERVE)
                open_page(page, name)
                sizes = type_sizes(page)
                sizes_text = " ".join(f"{size:g}:{sizes[size]}" for size in sorted(sizes))
                yield f"{width:4} {name or 'Explore':15} {layout_shift(page):6.3f}  {len(sizes)} sizes  {sizes_text}"
                if "--sources" in sys.argv:
                    for shift in page.evaluate("window.shifts"):
                        if shift["value"] > 0.005:
                            yield f"      {shift['time']:6.0f} ms {shift['value']:.3f}"
                            yield from (f"            {source}" for source in shift["sources"])
                context.close()
        browser.close()


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    for line in report_lines(["" if name == "Explore" else name for name in names] or list(PAGES)):
        print(line, flush=True)
