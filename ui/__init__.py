"""What the pages share. The only code beside the pages that imports streamlit."""
