"""Measure dpforest and its peers in one run: `python bench/run.py [--quick]`.

The program writes bench/results.json (every sample) and bench/RESULTS.md (a table). A full run takes about half an hour
on two cores of an otherwise idle machine; a quick run takes eight minutes. This program is not part of the tests.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from app_latency import app_latency
from booster_suite import BOOSTER_SUITES
from cold_start import cold_start
from greedy_suite import GREEDY_SUITES
from measure import FULL, QUICK, Effort, Results
from memory_suite import MEMORY_SUITES
from page_waits import page_waits
from processes import HERE, ONE_THREAD, PEER_PYTHON, ROOT, ask, make_peer, python_of
from suites import SUITES
from surface_suite import SURFACE_SUITES

ALL = {
    **SUITES,
    "app": app_latency,
    "start": cold_start,
    "waits": page_waits,
    **GREEDY_SUITES,
    **SURFACE_SUITES,
    **MEMORY_SUITES,
    **BOOSTER_SUITES,
}
LIBRARIES = ("numpy", "numba", "scipy", "sklearn", "pandas", "diffprivlib", "interpret")


def main() -> None:
    arguments = _arguments()
    os.environ.update(ONE_THREAD)
    sys.path.insert(0, str(ROOT))
    if not make_peer("diffprivlib"):
        sys.exit("diffprivlib could not be installed")
    effort = QUICK if arguments.quick else FULL
    results, start, load = Results(), time.perf_counter(), os.getloadavg()[0]
    output = arguments.out or HERE
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only or ALL:
            print(name, flush=True)
            ALL[name](results, Path(folder), effort)
            about = {**_about(arguments.quick, effort), "minutes": (time.perf_counter() - start) / 60}
            content = {**about, "load_before": load, **results.as_dict()}
            content["figures"] = [{**figure, "day": about["date"][:10]} for figure in content["figures"]]
            # Write after every suite, so that a stopped run loses only the suite that it was measuring.
            _write(output, _merged(content, output) if arguments.only else content)


def _merged(content: dict, output: Path) -> dict:
    """Return the figures of the suites of this run, and the stored figures of all other suites."""
    if not (output / "results.json").exists():
        return content
    before = json.loads((output / "results.json").read_text())
    measured = {figure["item"] for figure in content["figures"]}
    earlier_figures = [
        {"day": before["date"][:10], **earlier} for earlier in before["figures"] if earlier["item"] not in measured
    ]
    figures = sorted([*earlier_figures, *content["figures"]], key=lambda figure: int(figure["item"].split()[0]))
    all_samples = {key: {**before[key], **content[key]} for key in ("samples", "medians")}
    return {**content, **all_samples, "figures": figures}


def _write(output: Path, content: dict) -> None:
    (output / "results.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    (output / "RESULTS.md").write_text(markdown(content))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds than the goals are stated for")
    parser.add_argument("--only", nargs="+", choices=ALL, help="some of the suites; the others keep their figures")
    parser.add_argument("--out", type=Path, help="folder for results.json and RESULTS.md; bench/ if all suites run")
    return parser.parse_args()


def _about(quick: bool, effort: Effort) -> dict:
    versions = (
        "import json, importlib, platform\n"
        "found = {'python': platform.python_version()}\n"
        f"for name in {LIBRARIES}:\n"
        "    try: found[name] = importlib.import_module(name).__version__\n"
        "    except ImportError: pass\n"
        "print(json.dumps(found))"
    )
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "effort": vars(effort),
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.platform()},
        "versions": {
            contender: ask(python_of(contender), versions)
            for contender in ("dpforest", *PEER_PYTHON)
            if contender not in PEER_PYTHON or PEER_PYTHON[contender].exists()
        },
    }


def _cpu() -> str:
    with open("/proc/cpuinfo") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())


def markdown(content: dict) -> str:
    """Return the figures with their goals as a table."""
    lines, item = [_HEAD.format(command=_command(content["quick"]), about=_machine(content))], None
    for figure in content["figures"]:
        if figure["item"] != item:
            item = figure["item"]
            earlier = f", measured {figure['day']}" if figure["day"] != content["date"][:10] else ""
            lines += ["", f"## {item}{earlier}", "", "| what | median | goal | | from |", "|---|--:|--:|---|---|"]
        met = {None: "", True: "met", False: "**missed**"}[figure["met"]]
        value = f"{figure['value']:,.3g}" if figure["value"] < 1000 else f"{figure['value']:,.0f}"
        lines.append(f"| {figure['what']} | {value} {figure['unit']} | {figure['goal']} | {met} | {figure['detail']} |")
    return "\n".join(lines) + "\n"


_HEAD = """\
# How fast it is

Made by {command}; every sample is in `results.json`.

{about}

100 trees of depth 10, 14 numeric features in float64, integer labels, ε = 1, and one thread unless another number is
stated. All contenders get bounds and classes. Figures are medians; the runs of all contenders interleave. A fit is
complete: trees, counts, exact noise, certificate. Code is already compiled; compile time and exact noise have separate
figures below. "demo" takes its noise from a seed. Goals are for wall time. Ratios of processor time, which other
programs affect less, are next to them.

- *labels*: `MajorityLabelForestClassifier`, each row in one tree, as in diffprivlib's `RandomForestClassifier`
- *labels shared*: the same, every row in every tree
- *counts*: `RandomDecisionForestClassifier`, every row in every tree, as in `ExtraTreesClassifier(max_features=1)`

Items 10 to 14: the data-dependent forests, on the bundled table "magic" (19,020 rows, 10 features), or on
uniform rows with 10 features.

- *boosted*: `BoostedForestClassifier`, 20 trees of depth 6, 50 bins; *calibrated* with `alpha="noisy"`, a seed's noise
- *HistGradientBoosting*: scikit-learn's with as many trees, depth and bins, not private
- *DPExplainableBoosting*: interpret's with its defaults, (1, 10⁻⁵)-private
- *multinomial*: `MultinomialForestClassifier`, 100 trees of depth 4, or *as published*, without privacy or limit
- *RandomForest*: scikit-learn's with 100 trees

Item 18 is on the rows of the items before 10, on two threads: *booster* is `RandomTreeBoosterClassifier` by its rule,
at ε = 1, and *HistGradientBoosting as it comes* is scikit-learn's with its defaults, not private.

Items 9, 16 and 17 are the app in headless Chromium on the same two cores: moved sliders; the first chart after a start;
waiting times on other pages, and with a large uploaded table."""


def _command(quick: bool) -> str:
    return (
        "`python bench/run.py --quick` (**fewer rows and rounds than the goals are stated for**)"
        if quick
        else ("`python bench/run.py`")
    )


def _machine(content: dict) -> str:
    machine, ours, peer = content["machine"], content["versions"]["dpforest"], content["versions"]["diffprivlib"]
    dpebm_version = content["versions"].get("DPExplainableBoosting")
    interpret = f", interpret-core {dpebm_version['interpret']} in another" if dpebm_version else ""
    return (
        f"{content['date'][:10]}, {machine['cores']} cores of {machine['cpu']}, load before the run "
        f"{content['load_before']:.1f}. Python {ours['python']}, numpy {ours['numpy']}, numba {ours['numba']}, "
        f"scikit-learn {ours['sklearn']}; diffprivlib {peer['diffprivlib']} with scikit-learn {peer['sklearn']} in a "
        f"separate environment{interpret}."
    )


if __name__ == "__main__":
    main()
