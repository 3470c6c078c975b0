"""The app: all modules behind the pages. Besides the pages, only this package imports streamlit."""
