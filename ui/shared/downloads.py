"""Tables as CSV and LaTeX. Text stays text when a spreadsheet opens the file or LaTeX sets it."""

from __future__ import annotations

import math
import re

import pandas as pd

from dpforest.plotting.style import visible

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ENDS = re.compile(r"(?<=[;|\t\r\n])")  # matches the empty string after each separator


def as_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV. A text that a spreadsheet would take for a formula gets an apostrophe before it.

    Numbers stay as they are, also those that are written as text.

    >>> as_csv(pd.DataFrame({"=a": ["=1+1", "-5", "+x"], "b": [-1.5, 2, 3]})).split()
    ["'=a,b", "'=1+1,-1.5", '-5,2.0', "'+x,3.0"]
    >>> as_csv(pd.DataFrame({"a": ["x;=1+1", "1;-2"]})).split()
    ['a', "x;'=1+1", '1;-2']
    """
    harmless = table.copy()
    for place, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            harmless.isetitem(place, table.iloc[:, place].map(_harmless))
    harmless.columns = [_harmless(name) for name in table.columns]
    return harmless.to_csv(index=False)


def _harmless(cell: object) -> object:
    """Escape formulas at the start of a text and after each character that ends a cell in some spreadsheets."""
    if not isinstance(cell, str):
        return cell
    return "".join(_no_formula(part) for part in _ENDS.split(cell))


def _no_formula(part: str) -> str:
    if not part.startswith(_FORMULA):
        return part
    try:
        float(part)
    except ValueError:
        return f"'{part}"
    return part


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
    sides = "".join("r" if pd.api.types.is_numeric_dtype(kind) else "l" for kind in table.dtypes)
    texts = pd.DataFrame([[_in_latex(cell) for cell in row] for row in table.itertuples(index=False)], dtype=object)
    texts = texts if len(texts) else pd.DataFrame(columns=range(table.shape[1]), dtype=object)
    texts.columns = pd.RangeIndex(table.shape[1])  # two columns may have the same name
    styled = texts.style.hide(axis="index").format_index(lambda place: _in_latex(table.columns[place]), axis=1)
    return styled.to_latex(hrules=True, column_format=sides)


def _in_latex(cell: object) -> str:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return "--"
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return visible(" ".join(text.split())).translate(_LATEX)


# Brackets and stars are escaped too: at the start of a row LaTeX takes them for an argument of the row end before it.
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
        "ε": r"$\varepsilon$",
        "δ": r"$\delta$",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "μ": r"$\mu$",
        "∞": r"$\infty$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "±": r"$\pm$",
        "×": r"$\times$",
        "→": r"$\to$",
        "←": r"$\gets$",
        "−": "$-$",
        "⁻": "$^{-}$",
        "⁶": "$^{6}$",
        "⁵": "$^{5}$",
        "²": "$^{2}$",
        "ᵋ": r"$^{\varepsilon}$",
        "–": "--",
        "…": r"\dots{}",
        "\u00a0": "~",
        "“": "``",
        "”": "''",
        "’": "'",
    }
)
