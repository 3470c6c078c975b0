"""Papers: what each claims, what comes out here, and what its privacy proof gets wrong. It computes nothing."""

import streamlit as st

from reproduce.protocol import Record, read
from ui.learn.paper_figures import curve, printed_figures
from ui.learn.papers import PAPERS, Paper
from ui.shared import figures
from ui.shared.controls import select
from ui.shared.page import open_page

open_page("Papers")
st.markdown("#### The papers, reproduced", anchors=False)
left, right = st.columns(2, gap="large")
with left:
    chosen = select(
        "Paper", [paper.name for paper in PAPERS], "paper", "One of the four papers that this project rests on."
    )
paper: Paper = next(paper for paper in PAPERS if paper.name == chosen)
measured: list[Record] = [record for record in read() if record.paper == paper.recorded]
items = list(dict.fromkeys(cell.item for cell in measured))
with right:
    item = select("Table or figure", items, "item", "Of the paper.") if items else None

st.markdown(f"[{paper.title}]({paper.link})")
claims, holds = st.columns(2, gap="large")
claims.markdown(f"**What it claims.** {paper.claim}")
holds.markdown(f"**What holds.** {paper.holds}")
st.markdown(f"**The smallest example.** {paper.example}")
st.page_link(
    "app.py", label="Open in Explore, as published", icon=":material/arrow_forward:", query_params=dict(paper.settings)
)

if item is not None:
    cells = [cell for cell in measured if cell.item == item]
    if cells[0].line:
        curve(item, cells)
    else:
        printed_figures(item, cells)
else:
    st.info("Nothing of this paper has been run against its figures yet.")
st.caption(
    "All of these are measured on public tables, once, by `python -m reproduce`; this page only reads the result. "
    "Where a certified figure is missing, the cell has no privacy, or the table has no public bounds to certify with."
)
with st.sidebar:
    figures.offer()
