"""Papers: what each claims, what comes out here, and what its privacy proof gets wrong. It computes nothing."""

from collections import Counter

import pandas as pd
import streamlit as st

from dpforest.plotting.papers import published_and_ours
from reproduce.protocol import CONTRADICTS, MATCHES, NOT_COMPARABLE, Record, read
from ui.learn.papers import PAPERS, Paper
from ui.shared import figures
from ui.shared.controls import select
from ui.shared.page import chart, open_page, titled

open_page("Papers")
st.markdown("#### The papers, reproduced", anchors=False)
chosen = select(
    "Paper", [paper.name for paper in PAPERS], "paper", "One of the four papers that this project rests on."
)
paper: Paper = next(paper for paper in PAPERS if paper.name == chosen)
measured: list[Record] = [record for record in read() if record.paper == paper.recorded]

st.markdown(f"[{paper.title}]({paper.link})")
claims, holds = st.columns(2, gap="large")
claims.markdown(f"**What it claims.** {paper.claim}")
holds.markdown(f"**What holds.** {paper.holds}")
st.markdown(f"**The smallest example.** {paper.example}")
st.page_link(
    "app.py", label="Open in Explore, as published", icon=":material/arrow_forward:", query_params=dict(paper.settings)
)

if measured:
    items = list(dict.fromkeys(cell.item for cell in measured))
    item = select("Table or figure", items, "item", "Of the paper.")
    cells = [cell for cell in measured if cell.item == item]
    found = Counter(cell.verdict for cell in cells)
    titled(
        f"Printed and measured: {item}", None,
        help="A point on the dotted line comes out as printed. Triangles: the mechanism as published. Dots: one that "
        "keeps its ε. Bars: one standard deviation over folds.",
    )  # fmt: skip
    said = f"{found[MATCHES]} of {len(cells)} figures come out as printed, {found[CONTRADICTS]} do not"
    said += f", {found[NOT_COMPARABLE]} cannot be compared." if found[NOT_COMPARABLE] else "."
    numbers = [(c.published, c.ours, c.certified, c.sd) for c in cells if c.ours is not None]
    printed, ours, certified, spread = zip(*numbers, strict=True)
    names = [c.setting for c in cells if c.ours is not None]
    alt = " ".join(f"{c.setting}: printed {c.published:.1f} %, ours {c.ours:.1f} %." for c in cells)
    chart(published_and_ours(names, printed, ours, certified, spread), alt, title="Printed and measured", public=True)
    st.markdown(said)
    table = pd.DataFrame(
        {
            "figure": [c.setting for c in cells],
            "printed, %": [c.published for c in cells],
            "as published, %": [c.ours for c in cells],
            "±": [c.sd for c in cells],
            "certified, %": [c.certified for c in cells],
            "verdict": [c.verdict for c in cells],
            "why": [c.reason for c in cells],
        }
    )
    figures.table(
        table, "Cell by cell", hide_index=True, alt=f"Cell by cell: {said}",
        column_config={
            "why": st.column_config.TextColumn(width="large"),
            "figure": st.column_config.TextColumn(pinned=True),
        },
    )  # fmt: skip
else:
    st.info("Nothing of this paper has been run against its figures yet.")
st.caption(
    "All of these are measured on public tables, once, by `python -m reproduce`; this page only reads the result. "
    "Where a certified figure is missing, the cell has no privacy, or the table has no public bounds to certify with."
)
with st.sidebar:
    figures.offer()
