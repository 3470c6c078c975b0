"""Explore, and what serves all pages: `streamlit run app.py`."""

import streamlit as st

if __name__ == "__main__":  # a page runs as the main program, whoever serves it
    from ui.explore import page

    page.show()
else:  # Streamlit imports the server from here
    from ui.shared.guards import GUARDS

    app = st.App(__file__, middleware=GUARDS)
