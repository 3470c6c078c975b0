"""Take the README's picture, or pictures of all pages.

Usage: python scripts/screenshots.py                 docs/explore.png, docs/class/take_home_*.png
       python scripts/screenshots.py --all DIRECTORY  every tab, wide and narrow, light and dark
"""

import argparse
from pathlib import Path

from browser import ROOT, idle, open_browser, serve
from playwright.sync_api import Browser

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SHEET = {"width": 1120, "height": 700}
README = "/"
# The links of docs/class/take_home.md
TAKE_HOME = (
    "/?data=nursery&forest=majority+labels&eps=1",
    "/Theory?theorem=Floor+of+a+leaf",
    "/Audit?rule=smooth+sensitivity&eps=1",
)
PAGES = {
    "tree": "/?data=pendigits&forest=noisy+counts",
    "boosted": "/?data=adult&forest=boosted&alphas=follows+the+error%2C+with+noise",
    "boosted_classes": "/?data=nursery&forest=boosted&tab=Leaves",
    "boosted_budget": "/?data=adult&forest=boosted&tab=Budget&alphas=follows+the+error%2C+with+noise",
    "boosted_published": "/?data=adult&forest=boosted&mode=as+published",
    "multinomial": "/?data=adult&forest=multinomial",
    "multinomial_budget": "/?data=adult&forest=multinomial&tab=Budget",
    "multinomial_published": "/?data=nursery&forest=multinomial&mode=as+published",
    "booster": "/?data=adult&delta=true",
    "booster_leaves": "/?data=zoo&tab=Leaves",
    "booster_budget": "/?data=adult&delta=true&tab=Budget",
    "leaves": "/?forest=majority+labels&data=adult&tab=Leaves",
    "leaves_published": "/?forest=majority+labels&data=nursery&mode=as+published&tab=Leaves&trees=30&depth=5",
    "budget": "/?data=adult&forest=noisy+counts&tab=Budget",
    "data": "/?data=magic&tab=Data",
    "groups": "/?data=adult&forest=majority+labels&tab=Groups&groups_by=education",
    "as_published": "/?data=adult&forest=majority+labels&mode=as+published&depth=5",
    "upload": "/?data=upload+a+CSV",
    "compare": "/Compare?data=adult",
    "compare_delta": "/Compare?data=adult&also_delta=true",
    "compare_published": "/Compare?data=adult&also_published=true",
    "compare_depth": "/Compare?data=adult&compare_tab=Depth",
    "compare_trees": "/Compare?data=nursery&compare_tab=Trees",
    "compare_map": "/Compare?data=adult&compare_tab=%CE%B5+%C3%97+depth",
    "compare_alpha": "/Compare?data=adult&compare_tab=%CE%B1+and+voting",
    "compare_voting": "/Compare?data=mushroom&compare_tab=%CE%B1+and+voting&varied=voting+rule",
    "choose": "/Choose_epsilon?data=adult",
    "choose_more_data": "/Choose_epsilon?data=adult&choose_tab=More+data",
    "choose_attack": "/Choose_epsilon?data=adult&choose_tab=Attack+it",
    "choose_published": "/Choose_epsilon?data=nursery&mode=as+published",
    "choose_leaks": "/Choose_epsilon?data=magic",
    "theory": "/Theory?theorem=Votes+on+other+rows",
    "theory_labels": "/Theory?theorem=Rows+or+%CE%B5+divided",
    "papers": "/Papers?paper=Smooth+sensitivity",
    "use": "/Releases",
    "lesson": "/Lesson",
    "lesson_shown": "/Lesson?step=3&shown=1",
    "audit": "/Audit",
    "audit_certified": "/Audit?rule=permute-and-flip&eps=0.1&classes=3",
}


def picture(browser: Browser, url: str, path: Path, *, size: dict, dark: bool = False, whole_page: bool = True) -> None:
    """Take a picture of one page after its script has ended."""
    page = browser.new_page(viewport=size, color_scheme="dark" if dark else "light")
    page.goto(url)
    page.wait_for_selector("[data-testid=stSidebar]", state="attached", timeout=120_000)
    if "Releases" not in url and "upload" not in url:
        page.wait_for_selector(".js-plotly-plot, .instrument .dot", state="attached", timeout=120_000)
    idle(page)
    if whole_page:
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({**size, "height": min(int(height) + 20, 6000)})
        page.wait_for_timeout(1500)
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)
    page.close()
    print(path)


def everything(browser: Browser, address: str, directory: Path, only: list[str]) -> None:
    """Take pictures of every page in both sizes and both themes."""
    for name, link in ((n, link) for n, link in PAGES.items() if not only or n in only):
        for size, width in ((WIDE, "wide"), (NARROW, "narrow")):
            for dark in (False, True):
                path = directory / f"{name}_{width}_{'dark' if dark else 'light'}.png"
                picture(browser, address + link, path, size=size, dark=dark)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="DIRECTORY")
    parser.add_argument("--only", nargs="+", default=[], choices=PAGES, help="with --all: some of the pages")
    parser.add_argument("--url", help="address of an app that is already running")
    arguments = parser.parse_args()
    with serve(arguments.url) as address, open_browser() as browser:
        if arguments.all:
            everything(browser, address, arguments.all, arguments.only)
        else:
            picture(browser, address + README, ROOT / "docs" / "explore.png", size=WIDE, whole_page=False)
            for number, link in enumerate(TAKE_HOME, 1):
                path = ROOT / "docs" / "class" / f"take_home_{number}.png"
                picture(browser, address + link, path, size=SHEET, whole_page=False)
