"""Modules that the pages share. Besides the pages, only this package imports streamlit."""
