"""All code that changes Streamlit, or that relies on undocumented parts of Streamlit. No other file contains such code.

- `process`: changes in the server's process.
- `internals`: private attributes, routes and classes of Streamlit that the app reads.
- `scripts`: JavaScript that runs before Streamlit's front end, and names of files of the front end.
- `styles`: CSS that selects parts of the page by `data-testid`.

Each entry states its reason, its gain, and its test in `tests/ui/test_streamlit_patches.py`. The test fails if a new
version of Streamlit changes what the entry relies on, or makes the entry unnecessary. `bench/streamlit_patches.py`
measures the gains. `docs/CONTRIBUTING.md` explains how to upgrade Streamlit.
"""
