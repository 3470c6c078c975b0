"""The report for a privacy board is complete, shows names as plain text, and promises nothing without a guarantee."""

import dataclasses
import math
import re
import shutil
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from playwright.sync_api import sync_playwright

from dpforest.evaluation.headroom import Headroom
from dpforest.plotting.board_report import BoardReport, RatesByGroup, promise, render
from dpforest.plotting.compare import MeasureScale
from dpforest.privacy.certificate import REPLACE_ASSUMPTION, STANDING_ASSUMPTIONS, Certificate, certify
from dpforest.privacy.ledger import Ledger
from dpforest.risk.guarantee import Guarantee

HOSTILE = '<script>alert("x")</script>\'"><img src=http://evil.example/a onerror=alert(1)>&lt;b&gt;</title></style>'
VOID = {"meta", "circle", "line", "polygon", "polyline", "br"}


def certificate(epsilon=1, neighbors="add-remove", reasons=(), extra=(), loss=None) -> Certificate:
    standing = STANDING_ASSUMPTIONS + (() if neighbors == "add-remove" else (REPLACE_ASSUMPTION,))
    loss = (math.inf if reasons else float(epsilon)) if loss is None else loss
    return Certificate(
        not reasons, Fraction(epsilon), neighbors, "permute-and-flip on 100 trees", loss, (*standing, *extra), reasons
    )


ACCURACY = MeasureScale("accuracy", True, 0.751, None)


def report(**changes) -> BoardReport:
    basis = BoardReport(
        title="Adult", rows=30162, attributes=14, label="income", forest="Majority label",
        settings=(("depth", "9"), ("trees", "100")), date="1 May 2026", certificate=certificate(),
        needed=0.82, share=0.9, smallest=(("Majority label", 0.7, 0.8203), ("JPW", None, None)),
        curve=((0.01, 0.6, 0.55, 0.65), (0.1, 0.76, 0.75, 0.77), (1.0, 0.82, 0.815, 0.825), (10.0, 0.83, 0.82, 0.84)),
        ceiling=0.849, measure=ACCURACY, repeats=20, splits=3, band="10 % to 90 % of releases", prior=0.1,
        versions=(("dpforest", "0.2.0"),),
    )  # fmt: skip
    return dataclasses.replace(basis, **changes)


class Read(HTMLParser):
    """Collects texts, tags and attributes of a page. Fails on tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.texts.append(data)


def test_everything_that_the_certificate_rests_on_is_on_the_page():
    extra = ("The domain of 'age' is asserted by the curator: \"nobody is older\" <than 120>.", "At most 50,000 rows.")
    for neighbors in ("add-remove", "replace-one"):
        for reasons in ((), ("Bounds were read from the data.", "The noise is seeded.")):
            shown = certificate(neighbors=neighbors, reasons=reasons, extra=extra)
            text = Read(render(report(certificate=shown))).text
            for sentence in (*shown.assumptions, *shown.reasons, shown.mechanism):
                assert sentence in text
            assert "Choosing ε, or any setting, by looking at these figures is not covered by ε." in text
            assert "computed from the raw rows" in text and "Do not share." in text


def test_hostile_names_are_inert_and_nothing_is_loaded():
    sound = certificate(extra=(HOSTILE,))
    broken = certificate(reasons=(HOSTILE,))
    for shown in (sound, broken):
        page = render(
            report(
                title=HOSTILE,
                label=HOSTILE,
                forest=HOSTILE,
                settings=((HOSTILE, HOSTILE),),
                date=HOSTILE,
                band=HOSTILE,
                smallest=((HOSTILE, 1.0, 0.8),),
                versions=((HOSTILE, HOSTILE),),
                certificate=shown,
            )
        )
        read, plain = Read(page), Read(render(report(certificate=shown)))
        assert set(read.tags) == set(plain.tags)  # no name created a tag
        assert not {"script", "img", "link", "iframe", "object", "base", "form", "a", "image", "use"} & set(read.tags)
        names = {name for name, _ in read.attributes}
        assert not {n for n in names if n.startswith("on") or n in ("src", "href", "xlink:href", "srcset", "action")}
        assert not any("http" in (value or "") for _, value in read.attributes)
        assert "url(" not in page and "@import" not in page
        assert ("http-equiv", "Content-Security-Policy") in read.attributes
        assert " ".join(HOSTILE.split()) in read.text


def test_promise_of_each_kind_of_guarantee():
    text = Read(render(report())).text
    assert "Pure differential privacy, ε = 1, δ = 0" in text and "2.72 times as likely" in text
    for figure in ("73.2 %", "88.1 %", "23.2 %", "45.1 %", "81.7"):  # membership and value, at priors of 50 and 10 %
        assert figure in text
    assert "at most 24 more by the release (blue), 26 wrong" in text
    assert "smokers" in text and "ε counts twice" in text
    page = render(report())
    assert page.count('fill="#0072B2" stroke') == 24 and page.count('fill="none" stroke="#6B7480"') == 26


def test_under_replace_one_membership_is_not_called_protected():
    text = Read(render(report(certificate=certificate(neighbors="replace-one")))).text
    assert "whether a row is in the table" not in text.replace("Whether", "whether").replace(
        "whether a row is in the table is not at stake", ""
    )
    assert "88.1 %" not in text and "73.2 %" in text and "number of rows and all accuracies" not in text


def test_a_person_with_several_rows():
    text = Read(render(report(rows_per_person=3))).text
    assert "3 ε = 3" in text and "95.3 %" in text and "73.2 %" not in text


def test_a_certificate_that_spends_less_than_its_budget_promises_the_spent_part():
    text = Read(render(report(certificate=certificate(epsilon=1, loss=0.5)))).text
    assert "ε = 0.5, δ = 0" in text and "62.3 %" in text and "88.1 %" not in text


def test_an_uncertified_forest_is_marked_on_top_and_promises_nothing():
    read = Read(render(report(certificate=certificate(reasons=("The noise is seeded.",), loss=math.inf))))
    place = read.text.index("This forest is NOT certified: no limit is proved")
    for later in ("The noise is seeded.", "Do not share.", "What it costs", STANDING_ASSUMPTIONS[0]):
        assert read.text.index(later) > place
    for promised in ("promised", "Pure", "times as likely", "after, at most", "no attack", "without exception", "73.2"):
        assert promised not in read.text
    assert "Conditions that would remain without these reasons" in read.text and "ε as claimed" in read.text
    assert "circle" not in read.tags and "#0072B2" not in render(
        report(certificate=certificate(reasons=("a",), loss=math.inf))
    )


def test_a_table_declared_public_is_not_marked_for_the_curator():
    text = Read(render(report(declared_public=True))).text
    assert "Do not share" not in text and "declared public" in text and "not covered by ε" not in text


def test_costs_are_on_the_page():
    read = Read(render(report()))
    for text in (
        "82.0 %",
        "reached by at least 90 % of all releases",
        "0.7",
        "not shown",
        "84.9 %",
        "75.1 %",
        "20 simulated releases on 3 splits",
    ):
        assert text in read.text
    # The line of the mean is the one with four points.
    line = next(v for n, v in read.attributes if n == "points" and len(v.split()) == 4)
    x, y = zip(*(map(float, p.split(",")) for p in line.split()))
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2) == pytest.approx(x[3] - x[2], abs=0.2)  # a log scale
    assert list(y) == sorted(y, reverse=True)
    with pytest.raises(ValueError, match="two points"):
        render(report(curve=((1.0, 0.8, 0.7, 0.9),)))


def test_sentences_differ_by_the_kind_of_guarantee():
    pure, approximate = promise(Guarantee(1.0)), promise(Guarantee(1.0, 1e-6))
    assert pure.startswith("<b>Pure") and "without exception" in pure
    assert approximate.startswith("<b>Approximate") and "exception" not in approximate and "1e-06" in approximate
    assert "weaker than pure" in approximate and "revealed outright" in approximate
    assert promise(Guarantee(math.inf)) == "No limit is proved."
    assert re.search(r"2\.72 times", pure)


@pytest.mark.browser
@pytest.mark.parametrize("reasons", [(), ("One.", "Two.", "Three.")])
def test_the_report_prints_on_one_page_and_loads_nothing(reasons, tmp_path):
    where = "is documented: the width of the column in the record layout of a survey, and the notes that came with it."
    domain = tuple(f"The domain of 'attribute-{i}' {where}" for i in range(8))
    file = tmp_path / "report.html"
    file.write_text(render(report(certificate=certificate(extra=domain, reasons=reasons))), encoding="utf-8")
    asked: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium") or "/usr/bin/chromium")
        page = chromium.new_page(viewport={"width": 390, "height": 844})
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        width = page.evaluate("document.documentElement.scrollWidth")
        pdf = page.pdf(prefer_css_page_size=True, print_background=True)
        chromium.close()
    assert asked == [file.as_uri()]
    assert width <= 390
    assert re.search(rb"/Type /Pages\s+/Count 1\b", pdf)


@pytest.mark.parametrize(
    "needed, headroom, first, smallest",
    [
        (0.82, Headroom(0.751, 0.84, 0.83, 0.849, 0.01), "8.9 points more than guessing", True),
        (0.82, Headroom(0.751, 0.752, 0.75, 0.849, 0.01), "predicts no better than guessing", True),
        (0.75, Headroom(0.751, 0.84, 0.83, 0.849, 0.01), "No ε is needed for that", False),
        (0.82, Headroom(0.751, 0.751, 0.83, 0.849, 0.01), "Needed: an accuracy of", True),  # only noise helps
    ],
)
def test_the_cost_section_begins_with_the_headroom(needed, headroom, first, smallest):
    text = Read(render(report(needed=needed, headroom=headroom))).text
    cost = text[text.index("What it costs") : text.index("accuracy on held-out rows")]
    assert first in cost and ("smallest ε" in cost) is smallest
    assert ("no better than guessing" in cost) is headroom.has_none
    if not smallest:
        assert "95 % confidence" not in cost and "0.7" not in cost.split("Needed", 1)[1].split("No ε")[1]


def test_a_report_without_a_ceiling_draws_none():
    page = render(report(ceiling=None))
    assert "Dashed" not in page and "None" not in page and "#E69F00" not in page.split("</style>")[1]


@pytest.mark.parametrize(("budget", "shown"), [("0.1234564", "0.123457"), ("0.3", "0.3"), ("1/3", "0.333334")])
def test_the_epsilon_of_the_page_is_never_below_that_of_the_release(budget, shown):
    ledger = Ledger(budget)
    ledger.charge("labels", "m", 1, Fraction(budget), 1, "parallel")
    ledger.close()
    text = Read(render(report(certificate=certify(ledger, mechanism="m"), rows_per_person=3))).text
    assert f"differential privacy, ε = {shown}, δ = 0" in text
    thrice = re.search(r"3 ε = ([0-9.]*)", text)[1]
    assert 3 * ledger.spent <= Fraction(thrice) <= 3 * ledger.spent * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("text", [HOSTILE, "{{ 7 * 7 }}{% raw %}{# gone #}", "%s {0} &amp;"])
@pytest.mark.parametrize("reasons", [(), ("One.",)])
def test_no_text_is_taken_for_html_or_for_a_template(text, reasons):
    plain = report(certificate=certificate(reasons=reasons))
    hostile = dataclasses.replace(plain.certificate, mechanism=f"{text} mechanism")
    names = [field.name for field in dataclasses.fields(BoardReport) if isinstance(getattr(plain, field.name), str)]
    assert {"title", "ceiling_name"} <= set(names)
    read = Read(render(dataclasses.replace(plain, certificate=hostile, **{name: f"{text} {name}" for name in names})))
    assert read.tags == Read(render(plain)).tags
    for name in (*names, "mechanism"):
        assert " ".join(f"{text} {name}".split()) in read.text


def test_rates_by_group_are_marked_as_not_covered():
    rows = [
        {"group": f"{HOSTILE} a", "rows": 1_200, "accuracy": 81.25, "from": 78.0, "to": 84.0, "error of x": math.nan},
        {"group": "b", "rows": 60, "accuracy": 70.0, "from": math.nan, "to": math.nan, "error of x": 12.34},
    ]
    read = Read(render(report(groups=RatesByGroup(f"{HOSTILE} sex", 0.5, rows))))
    assert "script" not in read.tags
    for part in (f"{HOSTILE} a 1,200 81.2 % 78.0 % 84.0 % –", "b 60 70.0 % – – 12.3 %", f"{HOSTILE} sex"):
        assert " ".join(part.split()) in read.text
    assert "Not covered by ε" in read.text and "Rates at ε = 0.5" in read.text
    assert "Not covered by ε" not in Read(render(report())).text
    assert "Not covered by ε" not in Read(render(report(groups=RatesByGroup("sex", 0.5, [])))).text


def test_a_report_about_another_measure_names_it_and_its_guess():
    auc = MeasureScale("AUC", False, 0.5, None)
    text = Read(render(report(measure=auc, by_guessing="tossing a coin", needed=0.8))).text
    assert "Needed: an AUC of 0.8 , reached by at least 90 %" in text
    assert "the floor, 0.5 by tossing a coin" in text and "0.849" in text and "0.82" in text
    assert "accuracy" not in text[text.index("What it costs") : text.index("Conditions of this promise")]
