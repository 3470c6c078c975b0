"""Figures for papers: every page lists its figures, files use print colors, and LaTeX sets names as text."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dpforest import plotting
from dpforest.plotting import paper
from dpforest.plotting.curve import mark_epsilons
from ui.choose import wish_controls
from ui.shared.downloads import as_latex

SETTINGS = {
    "pages/1_Compare.py": {"data": "zoo", "forests": ["RF-E"], "releases_each": "2"},
    "pages/2_Choose_epsilon.py": {"data": "zoo", "sure": "8 in 10 releases"},
    "pages/3_Audit.py": {},
}
EXPECTED = {
    "pages/1_Compare.py": {"Accuracy against ε", "All forests"},
    "pages/2_Choose_epsilon.py": {"Smallest ε of each forest", "100 guesses", "Errors of an attacker"},
    "pages/3_Audit.py": {"How often a label flips", "What one row costs", "Every forest, attacked as a whole"},
}
WITH_A_BROWSER = pytest.mark.skipif(bool(paper.missing()), reason=paper.missing())


def listed(page: AppTest) -> list[str]:
    return page.selectbox(key="figure").options


def files(page: AppTest) -> dict[str, str]:
    """Return the id of each download button, which contains the file name, by the label of the button."""
    return {b.proto.label: b.proto.id for b in page.get("download_button") if "figure_" in b.proto.id}


@pytest.mark.parametrize("path", SETTINGS)
def test_every_page_lists_what_it_has_drawn(path, monkeypatch):
    monkeypatch.setattr(wish_controls, "kinds", lambda: ["RF-E"])
    page = AppTest.from_file("../../app.py", default_timeout=600)
    page.switch_page(path)
    page.query_params.update(SETTINGS[path])
    page.run()
    assert not page.exception
    assert set(listed(page)) >= EXPECTED[path]
    assert len(listed(page)) == len(page.get("plotly_chart")) + len(page.dataframe)


LONG_TABLE = """
import pandas as pd
import streamlit as st
from ui.shared import figures

figures.start()
place = st.empty()
for n in (11, 12):  # a sweep draws its table again whenever more results are there
    figures.table(pd.DataFrame({"n": range(n)}), "All forests", place, key=f"table_{n}")
"""


def test_a_long_table_may_be_drawn_several_times_in_a_run():
    page = AppTest.from_string(LONG_TABLE).run()
    assert not page.exception
    assert len(page.dataframe) == len(page.table) == 1 and len(page.table[0].value) == 12


def test_explore_lists_its_charts_and_those_of_the_open_tab(app):
    app.run()
    assert {"Accuracy against ε", "Overview of a tree", "Questions of a tree"} <= set(listed(app))
    app.query_params["tab"] = "Leaves"
    app.run()
    assert "Overview of a tree" not in listed(app)
    app.selectbox(key="figure").set_value("Leaf by leaf").run()
    assert not app.exception and list(files(app)) == ["CSV", "LaTeX"]
    assert any("not private" in caption.value for caption in app.sidebar.caption)


@pytest.mark.parametrize(
    "name", ["a_b 50 % & $x$ #1", r"\input{x}", r"[1cm] *", "~^{}|<>", "a\n\n\\end{tabular}", "\u202ea\x00"]
)
def test_latex_sets_any_name_as_text(name):
    text = as_latex(pd.DataFrame({name: [name, "b"], "n": [1.5, 2]}))
    commands = set(re.findall(r"\\([a-zA-Z]+)", text))
    assert commands <= {
        "begin",
        "end",
        "toprule",
        "midrule",
        "bottomrule",
        "textbackslash",
        "textasciitilde",
        "textasciicircum",
        "textless",
        "textgreater",
        "textbar",
    }
    assert text.count(r"\begin") == text.count(r"\end{") == 1
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [1, 1, 1]
    assert not any(line.lstrip().startswith(("[", "*")) for line in text.splitlines())
    assert not re.search(r"(?<!\\)[%#$_^~]", text) and "\u202e" not in text


def test_an_empty_table_and_one_with_two_columns_of_one_name_are_latex():
    assert r"a & a \\" in as_latex(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    assert r"a \\" in as_latex(pd.DataFrame({"a": []}))


def test_print_colors_leave_the_figure_on_the_page_as_it_is():
    figure = go.Figure(go.Scatter(y=[1, 2]), layout={"font": {"color": "#E7ECF0"}, "paper_bgcolor": "rgba(0,0,0,0)"})
    before = figure.to_json()
    layout = paper.for_print(figure)["layout"]
    assert layout["font"]["color"] == paper.INK and layout["paper_bgcolor"] == layout["plot_bgcolor"] == "white"
    assert figure.to_json() == before


def test_a_figure_for_a_paper_has_no_marks_of_the_page():
    values = np.array([[0.7, 0.8]])
    curve = plotting.accuracy_curve(
        np.array([0.1, 1.0]), values, np.array([0.9]), 0.5, 1.0, floor_label="no", best=None
    )
    mark_epsilons(curve, [(0.5, "a known release")])
    printed = json.dumps(paper.for_print(curve, "Accuracy against ε"), default=list)
    assert "you are here" in curve.to_json() and "you are here" not in printed and "▼" not in printed
    assert len(curve.data) == len(paper.for_print(curve)["data"]) + 1
    assert "this forest, with noise" in printed and '"Accuracy"' in printed


@pytest.mark.slow
@WITH_A_BROWSER
def test_a_figure_becomes_svg_and_pdf_and_leaves_no_files(monkeypatch):
    # Other tests draw as well, so this test uses a separate folder. Its name is short, as Chromium's sockets require.
    folder = Path(tempfile.mkdtemp())
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    figure = go.Figure(go.Scatter(x=[1, 2], y=[2, 1], name="a"), layout={"title": {"text": "cut <b>here</b>"}})
    svg = paper.rendered(figure, "svg").decode()
    assert svg.startswith("<svg") and "here" in svg and f'width="{paper.WIDTH}"' in svg
    assert not re.search(r"(?:href|src)=\"https?:", svg)
    assert paper.rendered(figure.to_dict(), "pdf").startswith(b"%PDF")
    assert not list(folder.iterdir())
    folder.rmdir()


@WITH_A_BROWSER
@pytest.mark.slow
def test_a_browser_that_does_not_start_or_takes_too_long_is_a_sentence(monkeypatch):
    figure = go.Figure(go.Scatter(y=[1, 2]))
    monkeypatch.setattr(paper, "SECONDS", 0.05)
    with pytest.raises(paper.PaperError, match="not drawn within"):
        paper.rendered(figure, "svg")
    monkeypatch.setattr(paper, "SECONDS", 30)
    monkeypatch.setenv("BROWSER_PATH", sys.executable)
    with pytest.raises(paper.PaperError, match="could not draw"):
        paper.rendered(figure, "svg")


@pytest.mark.slow
def test_without_a_browser_a_sentence_says_what_to_install(tmp_path):
    code = "from dpforest.plotting import paper; import json; print(json.dumps(paper.missing()))"
    environment = {**os.environ, "PATH": str(tmp_path), "BROWSER_PATH": str(tmp_path / "none")}
    messages = json.loads(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True).stdout)
    assert "computer that runs this app" in messages and ("install" in messages)
