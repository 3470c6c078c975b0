"""Tables as CSV and LaTeX. Text is escaped, so that a spreadsheet or LaTeX does not read it as a formula or command."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from dpforest.plotting.style import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ENDS = re.compile(r"(?<=[;|\t\r\n])")  # matches the place after each character that ends a cell


def as_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it.

    Numbers stay unchanged, even if they are written as text.

    >>> as_csv(pd.DataFrame({"=a": ["=1+1", "-5", "+x"], "b": [-1.5, 2, 3]})).split()
    ["'=a,b", "'=1+1,-1.5", '-5,2.0', "'+x,3.0"]
    >>> as_csv(pd.DataFrame({"a": ["x;=1+1", "1;-2"]})).split()
    ['a', "x;'=1+1", '1;-2']
    """
    escaped = table.copy()
    for index, dtype in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(dtype):
            escaped.isetitem(index, table.iloc[:, index].map(_escape_formulas))
    escaped.columns = [_escape_formulas(name) for name in table.columns]
    return escaped.to_csv(index=False)


def _escape_formulas(cell: object) -> object:
    """Escape formulas at the start of a text, and after each character that ends a cell in some spreadsheets."""
    if not isinstance(cell, str):
        return cell
    return "".join(_escape_formula(part) for part in _ENDS.split(cell))


def _escape_formula(part: str) -> str:
    if not part.startswith(_FORMULA):
        return part
    try:
        float(part)
    except ValueError:
        return f"'{part}"
    return part


def offer_csv(label: str, table: Callable[[], pd.DataFrame], file_name: str, **settings: Any) -> None:
    """Draw a button that downloads a table. `table` is called when the user presses the button."""
    st.download_button(label, lambda: as_csv(table()), file_name, "text/csv", on_click="ignore", **settings)


def as_latex(table: pd.DataFrame) -> str:
    r"""Return a table as LaTeX's `tabular` with the rules of booktabs. LaTeX sets every cell as text.

    >>> print(as_latex(pd.DataFrame({"a_b": [r"\input{x}", "[1]"], "50 %": [0.5, float("nan")]})))
    \begin{tabular}{lr}
    \toprule
    a\_b & 50 \% \\
    \midrule
    \textbackslash{}input\{x\} & 0.5 \\
    {[}1{]} & -- \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    alignment = "".join("r" if pd.api.types.is_numeric_dtype(dtype) else "l" for dtype in table.dtypes)
    texts = pd.DataFrame([[_in_latex(cell) for cell in row] for row in table.itertuples(index=False)], dtype=object)
    texts = texts if len(texts) else pd.DataFrame(columns=range(table.shape[1]), dtype=object)
    texts.columns = pd.RangeIndex(table.shape[1])  # two columns may have the same name
    styled = texts.style.hide(axis="index").format_index(lambda index: _in_latex(table.columns[index]), axis=1)
    return styled.to_latex(hrules=True, column_format=alignment)


def _in_latex(cell: object) -> str:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return "--"
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return visible(" ".join(text.split())).translate(_LATEX)


_COMMANDS = (
    r"\varepsilon \delta \alpha \beta \mu \infty \leq \geq \pm \times \to \gets - ^{-} ^{6} ^{5} ^{2} ^{\varepsilon}"
)
# Brackets and stars are escaped, too. At the start of a row, LaTeX would take them for an argument of the command `\\`,
# which ends the previous row.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        "`": "{`}",
        '"': "{''}",
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        **{mark: f"${command}$" for mark, command in zip("εδαβμ∞≤≥±×→←−⁻⁶⁵²ᵋ", _COMMANDS.split(), strict=True)},
        "–": "--",
        "…": r"\dots{}",
        "\u00a0": "~",
        "“": "``",
        "”": "''",
        "’": "'",
    }
)
