"""Middleware between Streamlit and a browser: guards, limits on uploads, scripts in pages, and patches of Streamlit."""
