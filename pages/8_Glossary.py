"""Glossary: each term of the field, explained in plain words and defined exactly."""

import streamlit as st

from ui import state
from ui.shared.controls import LINKED
from ui.shared.glossary import GLOSSARY
from ui.shared.page import open_page

open_page("Glossary")
st.markdown("#### Glossary", anchors=False)
query = st.text_input("Find a word", key=state.WORD, bind=LINKED, placeholder="sensitivity").strip().lower()
matches = {term: entry for term, entry in GLOSSARY.items() if query in " ".join((term, *entry)).lower()}
if not matches:
    st.markdown("No entry contains this text. Clear the field to see all entries.")
for term, entry in matches.items():
    with st.container(key=f"term_{list(GLOSSARY).index(term)}", gap=None):
        st.markdown(f"**{term}** · {entry.plain}")
        st.caption(entry.exact)
