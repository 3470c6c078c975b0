"""Explore, and what serves all pages: `streamlit run app.py`."""

import streamlit as st

if __name__ == "__main__":  # a page runs as the main program, whoever serves it
    from ui.explore import page

    page.show()
else:  # Streamlit imports the server from here
    from starlette.middleware import Middleware

    from ui.shared.first_script import FirstScript
    from ui.shared.guards import Guard

    app = st.App(__file__, middleware=(Middleware(Guard), Middleware(FirstScript)))
