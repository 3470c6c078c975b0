"""Configuration of the documentation site. `scripts/site` builds it; neither the build nor a page uses the network."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils.nodes import Element, reference
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from documents import INCLUDE, SITE, with_documents  # noqa: E402
from figures import with_figures  # noqa: E402

from dpforest import __version__  # noqa: E402

project = "dpforest"
author = "the authors of dpforest"
release = version = __version__
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns = ["_build", "_templates", "gallery/_note.md"]
templates_path = ["_templates"]

myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 4

# A page of the API for each name. Names in backticks become links if the site has a page for them.
autosummary_generate = True
autosummary_imported_members = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
default_role = "py:obj"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "dpforest"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {page: [] for page in ("index", "tour", "faq", "changelog")}
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "dpforest"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["license"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def read_source(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put documents of the repository into the pages that include them, and draw figures."""
    page = SITE / f"{docname}.md"
    if page.exists():
        for name in INCLUDE.findall(source[0]):
            app.env.note_dependency(str((page.parent / name).resolve()))
        source[0] = with_figures(with_documents(source[0], page))


def skip_member(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out members that scikit-learn documents, and fields of named tuples ("Alias for field number ...")."""
    is_foreign = str(getattr(member, "__module__", "")).startswith("sklearn.")
    return True if is_foreign or str(getattr(member, "__doc__", "")).startswith("Alias for field number") else None


def link_short_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Element) -> reference | None:
    """Link a name in a docstring that lacks its module, such as `surface` or `Domain.unit`, if it is unique."""
    first = node["reftarget"].split(".")[0]
    objects = env.domains.python_domain.objects
    pages = [name for name, entry in objects.items() if entry.docname == f"api/generated/{name}"]
    named = [name for name in pages if name.rsplit(".", 1)[-1] == first]
    if node.get("refdomain") != "py" or len(named) != 1 or objects[named[0]].docname == node["refdoc"]:
        return None
    entry = objects[named[0]]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, [content], named[0])


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", link_short_name)
    app.connect("source-read", read_source)
    app.connect("autodoc-skip-member", skip_member)
