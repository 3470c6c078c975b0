"""The layer between Streamlit and a browser: guards, limits on uploads, scripts in the page, and all patches."""
