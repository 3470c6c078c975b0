"""The page Papers: it shows the stored numbers, a paper without numbers has a note, and the report is up to date."""

from collections import Counter

import pytest
from streamlit.testing.v1 import AppTest

from dpforest.plotting.papers import VERDICTS
from reproduce import __main__ as program
from reproduce import protocol
from reproduce.cells import measured
from reproduce.left_out import LEFT_OUT, SUMMARY
from reproduce.report import REPORT, report
from tests.ui.app_words import words
from ui.learn.papers import PAPERS


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_paper_has_its_claim_and_its_cells(paper):
    page = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/7_Papers.py")
    page.query_params["paper"] = paper.name
    page.run()
    assert not page.exception and paper.claim in words(page) and paper.example in words(page)
    measured = [record for record in protocol.read() if record.paper == paper.recorded]
    if not measured:
        assert "No figure of this paper has been compared" in words(page)
        return
    items = list(dict.fromkeys(cell.item for cell in measured))
    assert page.selectbox(key=f"item_{1 + PAPERS.index(paper)}").options == items
    curves = {cell.item for cell in measured if cell.line}
    for item in (next(item for item in items if item not in curves), *sorted(curves)[:1]):
        page.selectbox(key=f"item_{1 + PAPERS.index(paper)}").select(item).run()
        assert not page.exception
        cells = [cell for cell in measured if cell.item == item]
        shown = page.dataframe[0].value
        if item in curves:
            assert shown["as published, %"].tolist() == [cell.ours for cell in cells]
            assert shown[cells[0].axis].tolist() == [cell.at for cell in cells]
            assert {cell.reason for cell in cells} <= {protocol.DRAWN, protocol.NOT_THERE}
            assert "as printed" not in words(page)
            continue
        assert shown["printed, %"].tolist() == [cell.published for cell in cells]
        assert shown["verdict"].tolist() == [f"{VERDICTS[cell.verdict].text} {cell.verdict}" for cell in cells]
        for verdict, n in Counter(cell.verdict for cell in cells).items():
            assert f"{VERDICTS[verdict].text} {verdict}: {n}" in words(page)
        lists = [element.value for element in page.markdown if element.value.startswith("- **")]
        assert all(
            any(cell.setting in text and f"{cell.reason}." in text for text in lists) for cell in cells if cell.reason
        )
        assert "why" not in shown


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_paper_lists_what_is_not_run_with_its_reason(paper):
    page = AppTest.from_file("../../app.py", default_timeout=600).switch_page("pages/7_Papers.py")
    page.query_params["paper"] = paper.name
    page.run()
    assert SUMMARY[paper.recorded] in words(page)
    reasons = LEFT_OUT[paper.recorded]
    (listed,) = [e for e in page.expander if e.label == f"What we did not run, and why ({len(reasons)})"]
    for item, why in reasons.items():
        assert item[1:] in listed.markdown[0].value and why in listed.markdown[0].value


def test_each_mismatch_has_a_reason_and_each_verdict_follows_from_its_figures():
    for cell in protocol.read():
        if cell.verdict == protocol.NOT_COMPARABLE:
            assert cell.reason
        else:
            assert bool(cell.reason) == (cell.verdict == protocol.CONTRADICTS), cell
    assert {cell.paper for cell in protocol.read()} == {paper.recorded for paper in PAPERS} - {""}


def test_the_report_is_made_of_the_file():
    assert REPORT.read_text(encoding="utf-8") == report(protocol.read())


OFTEN = ("bojarski", "fletcher_islam_real", "multinomial_trees")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in program.PARTS]
)
def test_a_cell_of_each_part_is_reproduced(name):
    """A new measurement of one fold, or one draw of noise, is within four standard deviations of the stored result."""
    kept = {(cell.paper, cell.item, cell.setting): cell for cell in protocol.read()}
    part = program.PARTS[name]
    cells = list(part.cells(quick=True, folder=None))
    if cells[0].work is None:
        return
    rows = [row for each in cells[: None if part.is_of_all else 1] for row in measured(each)]
    cell = next(iter(part.records(rows)))
    of_all = kept[cell.paper, cell.item, cell.setting]
    assert abs(cell.ours - of_all.ours) <= 4 * max(cell.sd, of_all.sd)
