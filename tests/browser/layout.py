"""Layout of a page in Chromium: how far its parts move while it loads, and the sizes of its type."""

from typing import Any, Final

from playwright.sync_api import Page

# A script that records each layout shift with its time and the parts that moved. Shifts within 500 ms after an input of
# the user do not count.
OBSERVE: Final = """
window.shifts = [];
const described = (node) => {
  const element = node?.nodeType === 1 ? node : node?.parentElement;
  if (!element) return "removed part";
  const named = element.closest("[class*=st-key-], [data-testid]") ?? element;
  const key = [...named.classList].find((name) => name.startsWith("st-key-"));
  return key ?? named.dataset.testid ?? named.tagName;
};
const corner = ({x, y, width, height}) => [x, y, width, height].map(Math.round).join(" ");
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if (!entry.hadRecentInput)
      window.shifts.push({value: entry.value, time: entry.startTime, sources: entry.sources.map((source) =>
        `${described(source.node)} ${corner(source.previousRect)} → ${corner(source.currentRect)}`)});
}).observe({type: "layout-shift", buffered: true});
"""
_SIZES: Final = """() => {
  const sizes = {};
  const walk = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) walk(element.shadowRoot);
      const text = [...element.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
      if (!text || ["STYLE", "SCRIPT", "TITLE", "DESC"].includes(element.tagName)) continue;
      if (!element.checkVisibility({visibilityProperty: true}) || element.getBoundingClientRect().width < 2) continue;
      if (element.closest("[data-testid=stIconMaterial], .katex")) continue;
      const size = parseFloat(getComputedStyle(element).fontSize);
      sizes[size] = (sizes[size] ?? 0) + text.length;
    }
  };
  walk(document);
  return sizes;
}"""


def largest_window(shifts: list[dict[str, Any]]) -> float:
    """Return the largest sum of shifts in a session window: shifts less than 1 s apart, within at most 5 s."""
    largest = total = 0.0
    start = before = -1e9
    for shift in shifts:
        if shift["time"] - before > 1000 or shift["time"] - start > 5000:
            start, total = shift["time"], 0.0
        total += shift["value"]
        before = shift["time"]
        largest = max(largest, total)
    return largest


def layout_shift(page: Page) -> float:
    """Return the cumulative layout shift of a page that ran `OBSERVE` before its own scripts."""
    return largest_window(page.evaluate("window.shifts"))


def type_sizes(page: Page) -> dict[float, int]:
    """Return the font sizes of the visible text in pixels, with the number of characters of each size.

    Icons and formulas do not count.
    """
    return {float(size): count for size, count in page.evaluate(_SIZES).items()}
