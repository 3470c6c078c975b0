"""Results of a run of the benchmark: all samples, and the figures computed from the samples, with their goals."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

# How a goal compares a figure with its limit.
AT_LEAST, AT_MOST = ">=", "<="
CPU = "processor time, "  # prefix of the names of processor times; other programs hardly affect such times


@dataclass(frozen=True)
class Effort:
    """Numbers of rows and rounds. The goals are for `FULL`."""

    routing_rows: int
    small: int
    large: int
    rounds: int
    slow_rounds: int  # for fits on the large table, where ExtraTrees takes half a minute


FULL = Effort(routing_rows=100_000, small=30_000, large=1_000_000, rounds=9, slow_rounds=5)
QUICK = Effort(routing_rows=100_000, small=30_000, large=200_000, rounds=3, slow_rounds=2)


@dataclass
class Results:
    """The samples of each name, in the order of measurement, and the figures."""

    samples: dict[str, list[float]] = field(default_factory=dict)
    figures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, value: float) -> None:
        """Add a sample."""
        self.samples.setdefault(name, []).append(value)

    def median(self, name: str) -> float:
        """Return the median of the samples of a name."""
        return median(self.samples[name])

    def figure(
        self, item: str, title: str, value: float, unit: str, goal: tuple[str, float] | None, detail: str
    ) -> None:
        """Add a number with its goal. A number without a goal is for information."""
        met = None if goal is None else value >= goal[1] if goal[0] == AT_LEAST else value <= goal[1]
        goal_text = "" if goal is None else f"{goal[0]} {goal[1]:g} {unit}"
        self.figures.append(
            {"item": item, "what": title, "value": value, "unit": unit, "goal": goal_text, "met": met, "detail": detail}
        )
        mark = {None: " ", True: "+", False: "-"}[met]
        print(f"  {mark} {title}: {value:.3g} {unit}  ({detail})", flush=True)

    def ratio(
        self, item: str, title: str, slow: str, fast: str, least: float | None, *, one_thread: bool = True
    ) -> None:
        """Add the ratio of two medians, with the ratios of single rounds as its range."""
        value = self.median(slow) / self.median(fast)
        rounds = sorted(a / b for a, b in zip(self.samples[slow], self.samples[fast], strict=True))
        detail = f"{seconds(self.median(slow))} against {seconds(self.median(fast))}"
        detail += f", rounds {rounds[0]:.1f}–{rounds[-1]:.1f}"
        if one_thread:
            detail += f", in processor time {self.median(CPU + slow) / self.median(CPU + fast):.1f}"
        self.figure(item, title, value, "x", None if least is None else (AT_LEAST, least), detail)

    def as_dict(self) -> dict[str, Any]:
        """Return samples, figures and medians, for JSON."""
        medians = {name: median(values) for name, values in self.samples.items()}
        return {**asdict(self), "medians": medians}


def interleave(results: Results, runs: dict[str, Callable[[], float]], rounds: int) -> None:
    """Call all functions of `runs` in turn, `rounds` times. So a slow minute of the machine affects all of them."""
    for _ in range(rounds):
        for name, run in runs.items():
            results.add(name, run())


def seconds(value: float) -> str:
    """Return a time in seconds as text, in milliseconds if it is below one second."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.1f} ms"
