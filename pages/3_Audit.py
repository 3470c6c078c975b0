"""Audit: is a rule for the label of a leaf as private as it claims?"""

import streamlit as st

from ui.audit import attack, audit_controls, table, verdict
from ui.audit.rule_words import RULES, promise, story
from ui.shared import figures
from ui.shared.epsilon import choose_epsilon
from ui.shared.link import copy_link
from ui.shared.page import badge, open_page

open_page("Audit")

top = st.container()
audit = audit_controls.choose(
    choose_epsilon(
        label="Privacy promised: ε",
        others=False,
        help="When one row is added or removed (or exchanged), no output may become more than eᵋ times as likely, "
        "or as unlikely.",
    )
)
name, rule = next((name, rule) for name, rule in RULES.items() if rule.mechanism == audit.mechanism)
result = verdict.verdict_of(audit)
curves = verdict.curves_of(audit.epsilon, audit.n_classes, audit.neighbors)

with top, st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"):
    st.markdown("#### Does a rule keep its promise?", anchors=False, width="content")
    if not result.holds:
        badge("Not certified")
st.markdown(
    f"{promise(audit.epsilon, audit.neighbors)} "
    "A tree sorts rows into leaves, and each leaf publishes a label: its most frequent class, but now and then "
    "another one, to hide whether any one row was there. "
    f"**{name.capitalize()}** {rule.does}."
)

verdict.headline(audit, result)
left, right = st.columns(2, gap="large")
with left:
    verdict.flips(audit, curves)
with right:
    verdict.losses(audit, curves, result)

with st.container(border=True):
    st.markdown(story(audit.mechanism, result, curves, audit.neighbors))

with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
    with st.container(width="content"):
        verdict.pair_title(audit)
    pair_name = audit_controls.choose_pair(audit)
with st.sidebar, st.container(horizontal=True, gap="small"):
    copy_link()
    figures_button = st.container(width="content")
pair = verdict.pair_of(audit, pair_name)
verdict.pair_tables(audit, pair)
attack.show(audit, pair_name, pair)
st.divider()
table.show(audit.neighbors)
with figures_button:
    figures.offer()
