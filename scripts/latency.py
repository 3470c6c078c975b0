"""Measure how fast the Explore page answers, in a real browser.

Usage: python scripts/latency.py [--url http://127.0.0.1:8501] [--times 7]

Without --url it starts a server of its own. It opens Adult with 100 trees, lets everything warm up, then moves one
slider at a time by keyboard and waits until the chart shows it. Prints medians as JSON.
"""

import argparse
import json
import statistics
import time

from browser import idle, open_browser, serve

# What the chart shows: where "you are here" stands, and the curve.
STATE = """() => {
  const plot = document.querySelector('.js-plotly-plot');
  if (!plot || !plot._fullData || !plot.layout.annotations) return '';
  const here = plot.layout.annotations.find(a => a.text.includes('you are here'));
  const curve = plot._fullData.find(t => t.mode === 'lines+markers');
  return JSON.stringify([here.x, Array.from(curve.y).map(y => y.toFixed(9))]);
}"""


def moves(page, slider: int, key: str) -> float:
    """Seconds from a key on a slider to the new chart."""
    before = page.evaluate(STATE)
    page.get_by_role("slider").nth(slider).focus()
    start = time.perf_counter()
    page.keyboard.press(key)
    page.wait_for_function(f"(before) => ({STATE})() !== before", arg=before, timeout=60_000, polling="raf")
    return time.perf_counter() - start


def measure(url: str, times: int) -> dict[str, float]:
    """Medians in seconds."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{url}/?data=adult&depth=5")  # deeper, the cap on leaves ends all trees alike
        page.wait_for_selector(".js-plotly-plot", timeout=120_000)
        idle(page)
        found = {"ε to new chart": [], "depth to first curve": [], "trees to first curve": []}
        for i in range(times):
            found["ε to new chart"].append(moves(page, 0, "ArrowRight" if i % 2 else "ArrowLeft"))
            idle(page)
        for name, slider in (("depth to first curve", 1), ("trees to first curve", 2)):
            for _ in range(min(times, 3)):  # every move is a setting that was not seen before
                found[name].append(moves(page, slider, "ArrowLeft"))
                page.wait_for_timeout(300)
            idle(page)
    return {name: round(statistics.median(values), 3) for name, values in found.items()} | {
        f"{name}, slowest": round(max(values), 3) for name, values in found.items()
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url")
    parser.add_argument("--times", type=int, default=7)
    arguments = parser.parse_args()
    with serve(arguments.url) as at:
        print(json.dumps(measure(at, arguments.times), indent=2, ensure_ascii=False))
