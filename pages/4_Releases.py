"""Releases: load the file of a released forest, read its certificate, and predict the rows of a new CSV."""

import streamlit as st

from ui.releases import history, predict, verify
from ui.shared import figures
from ui.shared.page import open_page

open_page("Releases")
st.markdown("#### Releases", anchors=False)
st.markdown(
    "A released forest is a JSON file, usually compressed (.json.gz). Anyone who has the file can load it, read what "
    "it says about its privacy, and predict with it."
)

with st.container():  # without this container, choosing a file would move the parts below and close an open check
    forest, from_file = predict.choose_forest()
    if forest is not None:
        predict.describe(forest, from_file=from_file)
        predict.explain(forest, from_file=from_file)
        predict.predict_csv(forest)
verify.show()
history.show()
with st.sidebar:
    figures.offer()
