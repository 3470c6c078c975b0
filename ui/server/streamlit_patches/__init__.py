"""All code that changes Streamlit, or that relies on undocumented parts of Streamlit. No other file contains such code.

- `process`: changes in the server's process. `apply` makes them once, except one that waits for the kernels.
- `internals`: private attributes, routes and classes that the app reads.
- `scripts`: JavaScript that runs before Streamlit's front end, and the files of the front end that it names.
- `styles`: CSS that selects parts of the page by `data-testid`.

Each entry states its reason, its gain and how the gain was measured, and its test. The tests are in
`tests/ui/test_streamlit_patches.py`. A test fails when Streamlit changes what the entry relies on, and when Streamlit
no longer needs it. `bench/streamlit_patches.py` measures the gains again. How to upgrade Streamlit:
`docs/CONTRIBUTING.md`.
"""
