"""Texts about the four papers: the claim, which part of it holds, and the smallest example.

This module does not use Streamlit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Paper:
    """Texts of the page about one paper.

    Attributes
    ----------
    name : str
        Name of the paper on the page and in links.
    recorded : str
        Name of the paper in `reproduce/results.json`; empty if nothing of the paper is reproduced yet.
    title, link : str
        Authors with the title of the paper, and its address.
    claim, holds, example : str
        The claim of the paper, the part of the claim that holds, and the smallest example in which the claim fails.
    settings : tuple of (str, str)
        Settings in the link to Explore.
    """

    name: str
    recorded: str
    title: str
    link: str
    claim: str
    holds: str
    example: str
    settings: tuple[tuple[str, str], ...]


PAPERS: Final = (
    Paper(
        "Random decision trees",
        "Bojarski et al. 2014",
        "M. Bojarski, A. Choromanska, K. Choromanski, Y. LeCun: Differentially- and non-differentially-"
        "private random decision trees",
        "https://arxiv.org/abs/1410.6973",
        "Trees whose questions are drawn at random, with Laplace noise on the counts in their leaves, are "
        "private and still accurate.",
        "The proof is right for noise of scale k/η in real numbers (η is ε here, k the number of trees, h their "
        "depth). For noise in floating-point numbers (the rounded numbers of ordinary programs) it is not: their "
        "last digits can reveal the count, so as published the claim is false. The certified forest draws whole "
        "numbers.",
        "In floating-point numbers, some noisy counts are possible with 10 rows but never with 11, at any ε. The "
        "claim about accuracy has an error, too. In half of all releases, a leaf with 10,000 rows of one class has a "
        "negative noisy count for the other class, which has no rows. The paper discards such leaves, although they "
        "are the surest. Setting negative counts to 0 costs no ε.",
        (("data", "mushroom"), ("forest", "noisy counts"), ("mode", "as published"), ("depth", "13"), ("trees", "3")),
    ),
    Paper(
        "Smooth sensitivity",
        "Fletcher and Islam 2017",
        "S. Fletcher, M. Z. Islam: Differentially private random decision forests using smooth sensitivity",
        "https://arxiv.org/abs/1606.03572",
        "Leaves publish one label each, and where one class has a large lead, hardly any noise is needed. So forests "
        "become far more accurate at the same ε.",
        "The leaf mechanism does not keep ε, for any ε: the amount of noise reveals the lead. The first author "
        "withdrew it in 2021. Permute-and-flip on the counts keeps ε, and with two classes and one row added or "
        "removed, no mechanism that keeps ε and treats classes alike flips a label less often.",
        "At ε = 1, a leaf with one row publishes the wrong label in 20.4 % of releases, and with a second row of "
        "the same class in 2.43 %. The first happens 8.4 times as often as the second, where at most e = 2.72 times "
        "is allowed.",
        (("data", "mushroom"), ("forest", "majority labels"), ("mode", "as published"), ("depth", "11")),
    ),
    Paper(
        "Multinomial forest",
        "Bai et al. 2020",
        "J. Bai, Y. Li, J. Li, X. Yang, Y. Jiang, S. Xia: Multinomial random forest: toward consistency and "
        "privacy-preservation",
        "https://arxiv.org/abs/1903.04003",
        "Features, values and labels are drawn, and better ones are more likely. B1, B2 and B3 set how much more "
        "likely; at ∞ the best is always drawn. This gives a forest that is private and consistent: with ever more "
        "rows, its error falls to the lowest possible.",
        "As published it does not keep ε, for any ε: each split lies halfway between two values of its rows, and "
        "exact counts of rows decide where a branch ends. Its table of accuracy against ε was made with labels that "
        "are not private (B3 = ∞).",
        "Two rows with the values 1 and 3: a tree can split between them only at 2. With one row more, of value 2, "
        "it splits at 1.5 or 2.5, which could not happen before. Whoever sees that split knows of the row, at any ε.",
        (("data", "wdbc"), ("forest", "multinomial"), ("mode", "as published")),
    ),
    Paper(
        "Boosted trees",
        "Nock and Henecka 2020",
        "R. Nock, W. Henecka: Boosted and differentially private ensembles of decision trees",
        "https://arxiv.org/abs/2001.09384",
        "α sets a loss between two known ones, the 0/1 loss and Matsushita's. It trades noise against speed of "
        "boosting. With α calibrated during the fit, these trees beat random forests.",
        "As published it does not keep ε: the weights of the trees are exact functions of the rows, and are "
        "published. The certified forest takes them from its noisy leaves, which costs nothing.",
        "On Breast Cancer Wisconsin the published forest has an accuracy of 80 % at ε = 10⁻⁴, as it has at ε = 1. At "
        "ε = 10⁻⁴ the certified one does no better than a coin: its accuracy is 48 %, where always naming the larger "
        "class gets 66 % (means of 30 simulated releases). At such an ε, a forest can learn only from what no noise "
        "protects: the exact weights.",
        (("data", "breast_wisconsin"), ("forest", "boosted"), ("mode", "as published"), ("eps", "0.01")),
    ),
)
