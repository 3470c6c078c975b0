"""Sections of docs/ACCURACY.md on others: our booster, other people's classifiers, published protocols."""

import numpy as np
import pandas as pd
from accuracy import BOOSTERS, summary
from accuracy_peers import NOT_PRIVATE, PEERS, RIVALS

TITLES = {"accuracy": "Accuracy", "auc": "AUC", "log_loss": "Log-loss", "calibration": "Calibration error"}
TABLE_EPSILONS = (0.1, 1.0, 10.0)  # ε in the table of single data sets
# Bundled tables on which the rule for the booster's default settings was chosen.
_FITTED_ON = ("adult", "breast_wisconsin", "car", "cmc", "mushroom", "pendigits")
_RIVALS = [name for name in PEERS if name not in NOT_PRIVATE]
_WEAK, _PURE = "booster, δ = 1e-6", "booster, δ = 0"
_EVEN = 0.002  # two means count as equal if they differ by at most this much

# AUC of S-BDT by ε, from a table of its paper (arXiv 2309.12041). The authors chose the settings by test AUC.
S_BDT = {0.01: 0.787, 0.02: 0.831, 0.03: 0.849, 0.1: 0.876, 0.5: 0.893}
# Accuracy of trees of depth 4: mean and standard error over five folds. The figures are from tables VI and VII of the
# appendix in github.com/tudelft-cda-lab/PrivaTree at c3d33ae. Only the paper has a table for ε = 0.1; it is left out.
PRIVATREE = {
    "breast_wisconsin": {
        "PrivaTree": {0.01: (0.673, 0.086), 1.0: (0.939, 0.007)},
        "PrivaTree*": {0.01: (0.757, 0.048), 1.0: (0.927, 0.011)},
        "diffprivlib, one tree": {0.01: (0.846, 0.032), 1.0: (0.950, 0.008)},
        "BDPT": {0.01: (0.517, 0.066), 1.0: (0.641, 0.009)},
    },
    "congressional_voting": {
        "PrivaTree": {0.01: (0.689, 0.082), 1.0: (0.867, 0.057)},
        "PrivaTree*": {0.01: (0.624, 0.068), 1.0: (0.871, 0.032)},
        "diffprivlib, one tree": {0.01: (0.612, 0.035), 1.0: (0.875, 0.030)},
        "BDPT": {0.01: (0.721, 0.065), 1.0: (0.862, 0.032)},
        "DPGDF": {0.01: (0.496, 0.119), 1.0: (0.875, 0.016)},
    },
}
# Accuracy of Lumberjack (arXiv 2605.22756) by table and ε. It was measured elsewhere, with the code of its authors.
LUMBERJACK: dict[str, dict[float, float]] = {
    "congressional_voting": {0.3: 0.724, 1.0: 0.824, 3.0: 0.885},
    "wdbc": {0.3: 0.751, 1.0: 0.883, 3.0: 0.933},
    "breast_wisconsin": {0.3: 0.867, 1.0: 0.938, 3.0: 0.964},
    "car": {0.3: 0.699, 1.0: 0.706, 3.0: 0.706},
    "cmc": {0.3: 0.449, 1.0: 0.446, 3.0: 0.468},
    "mushroom": {0.3: 0.937, 1.0: 0.976, 3.0: 0.994},
    "nursery": {0.3: 0.744, 1.0: 0.811, 3.0: 0.851},
    "pendigits": {0.3: 0.689, 1.0: 0.842, 3.0: 0.912},
    "magic": {0.3: 0.8, 1.0: 0.815, 3.0: 0.826},
    "adult": {0.3: 0.817, 1.0: 0.83, 3.0: 0.835},
}
_RIVALS_TEXT = """
Accuracy, documented bounds, the same splits for all; mean over seeds.
Numbers of seeds: {seeds}; the booster has all of these seeds.
Settings: {settings}.

- **AIM** and **MST** are from dpmm 0.1.9. They draw (ε, 10⁻⁶)-private synthetic rows, as many as training rows, and
  scikit-learn's HistGradientBoosting is fitted on these. Numbers become 8 or 16 bins of equal widths between the public
  bounds, which cost no ε. A table without numbers has only one setting. The program also has 32 bins, and PrivTree
  bins, which a tenth of ε pays for; these two were not measured. With dpmm's defaults, MST takes 34 s of processor
  time on car (7 columns), and AIM "can take many hours", as its code states. So AIM has 4 rounds for each column
  instead of 16 and a model of at most 1 MB instead of 80 MB, and its model is adapted in 100 steps instead of 1,000;
  MST's in 300 steps instead of 2,500 and 5,000. With more time, both may be better. Some settings have several seeds,
  and most have one: then a difference on a small table says little. Fits of AIM on
  mushroom (23 columns), and on wdbc (31 columns) at ε = 3, took too long and were stopped.
- **Logistic regression** (categories one-hot) and **naive Bayes** (categories one-hot or as codes) are from
  diffprivlib 0.6.6. Public bounds scale the numbers to [0, 1]. Both have δ = 0, a stronger guarantee than that of the
  other columns. With K > 2 classes, diffprivlib fits K logistic regressions, each with ε/K.
- **Lumberjack** (Lebeda et al. 2026, arXiv 2605.22756) is the class `DPSparseExtraTreesClassifier` of its authors, at
  commit b613fe7, with a total privacy of (ε, 10⁻⁶), on three seeds. Six settings have 1 to 50 trees of depth 30 or 90;
  a seventh, with 25 trees of depth 100, was measured on some tables only. The class gets the public bounds and
  categories. Categories become indicator columns, as in the authors' loader. The class reads the list of classes from
  the training labels. It was run outside of this repository, which has none of its code.

For each table and ε, the page shows the best setting of a rival. It was chosen on the test rows, which favors rivals
with several settings; the booster has its default settings. A missing number becomes the middle of its bounds. dpmm and
diffprivlib take the number of rows as public, unlike the booster, and diffprivlib reads from the rows which classes
occur. (dpmm's `TableBinner` would also read which columns are constant, so it is not used here.) An audit of six
programs that draw private synthetic rows found violations in four (arXiv 2405.10994); dpmm was not one of the six.
Issues 104 and 106 of diffprivlib's repository report mistakes. The figures here measure accuracy only.

"Won / level / lost" counts the tables of a booster against a rival, on the same seeds. A difference counts if it is
above .01. The second column of these rows has the booster's mean. The best figure of a table is bold. A mean over some
of the tables comes with the booster's mean over these.
""".strip()
_CLEAR = 0.01  # a difference to a rival counts if it is larger; most rivals have too few seeds for standard errors
MAJORITY = {"breast_wisconsin": 0.650, "congressional_voting": 0.534}


def section(peers: pd.DataFrame, protocols: pd.DataFrame) -> list[str]:
    """Return lines of markdown; the list is empty if nothing was measured."""
    lines = ["## Compared with others", ""] if len(peers) or len(protocols) else []
    return [*lines, *(_peers(_complete_seeds(peers)) if len(peers) else []), *_s_bdt(protocols), *_privatree(protocols)]


def rivals_section(rivals: pd.DataFrame, peers: pd.DataFrame) -> list[str]:
    """Return lines that compare the booster with the best setting of each rival; no line if no rival was measured."""
    if rivals.empty:
        return []
    scores = rivals.assign(rival=rivals["forest"].str.split(",").str[0])
    for booster in (_WEAK, _PURE):
        booster_scores = peers.loc[peers["forest"] == booster, ["table", "epsilon", "seed", "accuracy"]]
        scores = scores.merge(booster_scores.rename(columns={"accuracy": booster}), on=["table", "epsilon", "seed"])
    n_seeds = scores.groupby("rival")["seed"].nunique()
    names = [*dict.fromkeys(name for forest in RIVALS if (name := forest.split(",")[0]) in n_seeds), "Lumberjack"]
    seeds = "; ".join(f"{name}: {n_seeds[name]}" for name in names[:-1])
    settings = "; ".join(dict.fromkeys(rivals["forest"]))
    text = _RIVALS_TEXT.format(seeds=seeds, settings=settings)
    lines = ["## Beside other private models", "", *text.splitlines(), ""]
    lost = []
    for epsilon, at_epsilon in scores.groupby("epsilon"):
        seeds_of_tables = at_epsilon.drop_duplicates(["table", "seed"])
        ours = seeds_of_tables.groupby("table", sort=False)[[_WEAK, _PURE]].mean()
        best = _best_settings(at_epsilon)
        for table, by_epsilon in LUMBERJACK.items():
            if table in ours.index and epsilon in by_epsilon:
                best.loc[(table, "Lumberjack"), :] = [by_epsilon[epsilon], *ours.loc[table, [_WEAK, _PURE]]]
        theirs = best["accuracy"].unstack().reindex(index=ours.index, columns=names)
        lines += _head([f"Accuracy at ε = {epsilon:g}", _WEAK, *names])
        for table in ours.index:
            row = [ours.loc[table, _WEAK], *theirs.loc[table]]
            lines.append(_row([table, *("–" if np.isnan(v) else _bold(v, v == np.nanmax(row)) for v in row)]))
        lines.append(_row(["mean", _short(ours[_WEAK].mean()), *(_mean_of(theirs[n], ours[_WEAK]) for n in names)]))
        for booster in (_WEAK, _PURE):
            gains = (best[booster] - best["accuracy"]).unstack().reindex(index=ours.index, columns=names)
            cells = [_counts(gains[name].dropna()) for name in names]
            lines.append(_row([f"won / level / lost by the {booster}", _short(ours[booster].mean()), *cells]))
            for name, by_table in gains.items() if booster == _WEAK else ():
                lost += [f"{t} at ε = {epsilon:g} to {name} ({g:+.3f})" for t, g in by_table.items() if g < -_CLEAR]
        lines.append("")
    return [*lines, f"Accuracy that the booster with δ = 10⁻⁶ loses: {'; '.join(lost) or 'none'}.", ""]


def _best_settings(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy of the best setting by table and rival, and the boosters' means on the same seeds."""
    means = scores.groupby(["table", "rival", "forest"])[["accuracy", _WEAK, _PURE]].mean()
    return means.loc[means.groupby(["table", "rival"])["accuracy"].idxmax()].droplevel("forest")


def _counts(gains: pd.Series) -> str:
    if gains.empty:
        return "–"
    return f"{(gains > _CLEAR).sum()} / {(gains.abs() <= _CLEAR).sum()} / {(gains < -_CLEAR).sum()}"


def _mean_of(accuracy: pd.Series, ours: pd.Series) -> str:
    """Return the mean over tables; if some are missing, with their number and the booster's mean on the same tables."""
    known = accuracy.dropna()
    if known.empty:
        return "–"
    missing = len(known) < len(ours)
    return _short(known.mean()) + (
        f" (booster {_short(ours[known.index].mean())}; {len(known)} of {len(ours)} tables)" if missing else ""
    )


def _bold(value: float, is_best: bool) -> str:
    return f"**{_short(value)}**" if is_best else _short(value)


def _complete_seeds(peers: pd.DataFrame) -> pd.DataFrame:
    """Drop each seed for which some table was not measured, because the run was stopped.

    Then drop each forest with only one seed left, because its standard error is unknown.
    """
    tables = peers.groupby(["forest", "epsilon", "seed"])["table"].transform("nunique")
    complete = peers[tables == peers["table"].nunique()]
    return complete[complete.groupby(["forest", "epsilon"])["seed"].transform("nunique") > 1]


def _peers(peers: pd.DataFrame) -> list[str]:
    epsilons = sorted(e for e in peers["epsilon"].unique() if np.isfinite(e))
    seeds = peers.groupby("forest")["seed"].nunique()
    seeds_text = " ".join(
        f"{n} seeds: {'; '.join(forests.index)}." for n, forests in seeds[[*BOOSTERS, *PEERS]].groupby(seeds)
    )
    lines = [
        f"The {peers['table'].nunique()} bundled tables, documented bounds, the same splits for all. {seeds_text} "
        "**DP-EBM** is interpret-core 0.7.8, composition gdp, δ = 10⁻⁶, with its defaults and with learning rate .05. "
        "It gets the public bounds and categories. Unlike our forests, it takes the number of rows as public. It fits "
        "only two classes, so with K classes there are K models, one class against the rest, each with 1/√K of the μ. "
        "**HistGradientBoosting** is scikit-learn's with its defaults, without privacy. Calibration error: mean gap "
        "between the predicted probability and the accuracy, over ten bins, weighted by rows. The booster's rule was "
        f"fitted on six of these tables ({', '.join(_FITTED_ON)}).",
        "",
    ]
    for metric, title in TITLES.items():
        means = summary(peers, metric).droplevel([0, 1])
        lines += _head([title, *(f"ε = {e:g}" for e in epsilons), "no privacy"])
        for forest in [*BOOSTERS, *PEERS]:
            lines.append(_row([forest, *(_cell(means, (forest, e)) for e in [*epsilons, np.inf])]))
        lines.append("")
    return [*lines, *_win_counts(peers, epsilons), *_single_tables(peers)]


def _gains(peers: pd.DataFrame, forest: str, rival: str, epsilon: float, metric: str) -> pd.Series:
    """Return by how much a forest beats a rival on each table.

    A difference counts as 0 if it is at most `_EVEN` or at most two standard errors.
    """
    scores = peers[peers["epsilon"] == epsilon].groupby(["forest", "table"])[metric].agg(["mean", "sem"])
    mine, other = scores.loc[forest], scores.loc[rival]
    gain = (mine["mean"] - other["mean"]) * (-1 if metric in ("log_loss", "calibration") else 1)
    differs = gain.abs() > np.maximum(2 * np.hypot(mine["sem"], other["sem"]), _EVEN)
    return gain.where(differs, 0)


def _win_counts(peers: pd.DataFrame, epsilons: list[float]) -> list[str]:
    seeds = peers[peers["forest"].isin(_RIVALS)].groupby(["forest", "epsilon"])["seed"].nunique().min()
    lines = [
        "Tables won / level / lost. A difference counts if it is above .002 and above two standard errors; the "
        f"{seeds} seeds of DP-EBM give rough standard errors only:",
        "",
        *_head(["booster against", *(f"ε = {e:g}" for e in epsilons)]),
    ]
    others = peers[~peers["table"].isin(_FITTED_ON)]
    lost = []
    for rival in _RIVALS:
        comparisons = [
            (f"{_WEAK}: {title.lower().replace('auc', 'AUC')}", peers, _WEAK, m) for m, title in TITLES.items()
        ]
        comparisons.insert(1, (f"{_WEAK}: accuracy, tables that its rule was not fitted on", others, _WEAK, "accuracy"))
        comparisons.append((f"{_PURE}: accuracy", peers, _PURE, "accuracy"))
        for title, subset, forest, metric in comparisons:
            cells = []
            for e in epsilons:
                gain = _gains(subset, forest, rival, e, metric)
                cells.append(f"{(gain > 0).sum()} / {(gain == 0).sum()} / {(gain < 0).sum()}")
                if subset is peers and forest == _WEAK and metric == "accuracy":
                    lost += [f"{t} at ε = {e:g} to {rival} ({g:+.3f})" for t, g in gain[gain < 0].items()]
            lines.append(_row([f"{rival}; {title}", *cells]))
    return [*lines, "", f"Accuracy that the booster with δ = 10⁻⁶ loses: {'; '.join(lost) or 'none'}.", ""]


def _single_tables(peers: pd.DataFrame) -> list[str]:
    epsilons_text = ", ".join(f"{e:g}" for e in TABLE_EPSILONS)
    means = peers.groupby(["forest", "epsilon", "table"])["accuracy"].mean()
    lines = [f"Accuracy on single tables at ε = {epsilons_text}:", "", *_head(["table", *BOOSTERS, *PEERS])]
    for table in peers["table"].unique():
        cells = []
        for forest in [*BOOSTERS, *PEERS]:
            known = [
                means.get((forest, e, table), np.nan) for e in ((np.inf,) if forest in NOT_PRIVATE else TABLE_EPSILONS)
            ]
            cells.append(" ".join("–" if np.isnan(m) else f"{m:.3f}".removeprefix("0") for m in known))
        lines.append(_row([table, *cells]))
    return [*lines, ""]


def _over_repetitions(scores: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the mean over repetitions of the mean over folds, and its standard error."""
    by_repetition = scores.groupby(["forest", "epsilon", "repetition"])[metric].mean().groupby(["forest", "epsilon"])
    return pd.DataFrame({"mean": by_repetition.mean(), "se": by_repetition.sem()})


def _s_bdt(protocols: pd.DataFrame) -> list[str]:
    scores = protocols[protocols["protocol"] == "S-BDT"]
    if scores.empty:
        return []
    forest = scores["forest"].iloc[0]
    lines = [
        "### Adult by S-BDT's protocol",
        "",
        f"{scores['rows'].iloc[0]:,} complete rows, stratified 5-fold, δ = 5·10⁻⁸, {scores['repetition'].nunique()} "
        "repetitions with other folds, ± standard error over repetitions (which share their rows). The figures of "
        "S-BDT are the published ones, with settings chosen on test AUC; S-BDT was not run here, and its folds are "
        "unknown. "
        "Our booster has its defaults, but Adult is one of the tables that its constants were fitted on.",
        "",
        *_head(["Adult", *(f"ε = {e:g}" for e in S_BDT)]),
        _row(["S-BDT, AUC as published", *(_short(v) for v in S_BDT.values())]),
    ]
    for metric, title in TITLES.items():
        means = _over_repetitions(scores, metric)
        lines.append(_row([f"{forest}: {title}", *(_cell(means, (forest, e)) for e in S_BDT)]))
    return [*lines, ""]


def _privatree(protocols: pd.DataFrame) -> list[str]:
    scores = protocols[protocols["protocol"] == "PrivaTree"]
    if scores.empty:
        return []
    epsilons = sorted(scores["epsilon"].unique())
    lines = [
        "### breast-w and vote by PrivaTree's protocol",
        "",
        f"Complete rows, stratified 5-fold, δ = 0, accuracy. Our figures have {scores['repetition'].nunique()} "
        "repetitions with other folds, ± standard error over repetitions. The other figures are the published ones, "
        "with trees of depth 4, ± standard error over five folds, so at small ε they are means of five draws of noise. "
        "Their bounds are read from the rows. PrivaTree* and BDPT leak numeric splits (vote has no numeric attribute). "
        "DPGDF takes categories only. Published figures for ε = 0.1 are not copied here. breast_wisconsin is one of "
        "the tables that our rules were fitted on.",
        "",
    ]
    for table, published in PRIVATREE.items():
        means = _over_repetitions(scores[scores["table"] == table], "accuracy")
        rows = scores.loc[scores["table"] == table, "rows"].iloc[0]
        majority = _short(MAJORITY[table])
        lines += _head([f"{table}, {rows} rows, majority {majority}", *(f"ε = {e:g}" for e in epsilons)])
        for forest in scores["forest"].unique():
            lines.append(_row([f"**{forest}**", *(_cell(means, (forest, e)) for e in epsilons)]))
        for method, cells_of_method in published.items():
            cells = (
                f"{_short(cells_of_method[e][0])} ± {_short(cells_of_method[e][1])}" if e in cells_of_method else "–"
                for e in epsilons
            )
            lines.append(_row([f"{method}, published", *cells]))
        lines.append("")
    return lines


def _cell(means: pd.DataFrame, key: tuple) -> str:
    if key not in means.index:
        return "–"
    mean, se = means.loc[key]
    return _short(mean) + ("" if np.isnan(se) else f" ± {_short(se)}")


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _head(cells: list[str]) -> list[str]:
    return [_row(cells), "| --- " * len(cells) + "|"]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
