"""Charts of printed figures against ours: each verdict has its marker shape, and each point is drawn once."""

from dpforest.plotting.papers import VERDICTS, published_and_ours


def drawn():
    verdicts = ["equal", "compatible", "contradicts", "not comparable", "equal"]
    return published_and_ours(
        list("abcde"), [90, 80, 70, 60, 50], [90, 81, 60, 75, 50], [89, None, 65, None, 50], [1] * 5, verdicts
    )


def test_each_verdict_is_a_trace_with_its_mark():
    traces = {trace.name: trace for trace in drawn().data}
    for verdict in ("equal", "compatible", "contradicts", "not comparable"):
        assert traces[f"as published: {verdict}"].marker.symbol == VERDICTS[verdict].marker
    equal = traces["as published: equal"]
    assert (list(equal.x), list(equal.y), list(equal.text)) == ([90, 50], [90, 50], ["a", "e"])
    assert list(traces["certified"].x) == [90, 70, 50]


def test_verdicts_differ_without_color():
    four = [VERDICTS[verdict] for verdict in ("equal", "compatible", "contradicts", "not comparable")]
    assert len({look.marker for look in four}) == len({look.text for look in four}) == 4
    assert "circle" not in {look.marker for look in four}  # the full dot is for certified figures


def test_a_verdict_that_no_cell_has_is_not_in_the_legend():
    names = {
        trace.name for trace in published_and_ours(["a"], [9.0], [9.0], [None], [0.1], ["compatible"], "rows").data
    }
    assert names == {"as printed", "as published: compatible"}
