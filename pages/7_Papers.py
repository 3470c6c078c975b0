"""Papers: their claims, our measurements, and errors in their privacy proofs. The page only reads stored results."""

import streamlit as st

from reproduce.left_out import LEFT_OUT, SUMMARY
from reproduce.protocol import Record, read
from ui import state
from ui.learn.paper_figures import curve, left_out, printed_figures
from ui.learn.papers import PAPERS, Paper
from ui.shared import figures
from ui.shared.controls import LINKED, select
from ui.shared.page import open_page

open_page("Papers")
st.markdown("#### The papers, reproduced", anchors=False)
names = [each.name for each in PAPERS]
tabs = dict(zip(names, st.tabs(names, key=state.PAPER, bind=LINKED), strict=True))
open_paper = next((name for name, tab in tabs.items() if tab.open), names[0])
paper: Paper = next(each for each in PAPERS if each.name == open_paper)
records: list[Record] = [record for record in read() if record.paper == paper.recorded]
with tabs[open_paper]:
    st.markdown(f"[{paper.title}]({paper.link})")
    st.markdown(f"**In short.** {SUMMARY[paper.recorded]}")
    st.markdown(f"**What it claims.** {paper.claim}")
    st.markdown(f"**What holds, and what does not.** {paper.holds}")
    st.markdown(f"**The smallest example.** {paper.example}")
    st.page_link(
        "app.py",
        label="Open in Explore, as published",
        icon=":material/arrow_forward:",
        query_params=dict(paper.settings),
    )
    if records:
        items = list(dict.fromkeys(cell.item for cell in records))
        item = select("Table or figure", items, state.PAPER_ITEM(1 + names.index(open_paper)), "Of the paper.")
        cells = [cell for cell in records if cell.item == item]
        if cells[0].line:
            curve(item, cells)
        else:
            printed_figures(item, cells)
    else:
        st.info("No figure of this paper has been compared with a measurement yet.")
    left_out(LEFT_OUT.get(paper.recorded, {}))
st.caption(
    "`python -m reproduce` measured these figures once, on public and synthetic tables. This page only reads them. "
    "The figure of a certified forest is missing if the paper's forest has no privacy, or if the table has no public "
    "bounds."
)
with st.sidebar:
    figures.offer()
