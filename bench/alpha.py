"""Accuracy of the booster by α: `python bench/alpha.py` prints the figures that the app shows next to its control of α.

Each figure is a mean over bundled tables with two classes and over five seeds. All other settings are defaults.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from dpforest import BoostedForestClassifier, load_dataset  # noqa: E402

TABLES = ("adult", "ionosphere", "mushroom", "chess_kr_vs_kp", "breast_wisconsin", "congressional_voting")
ALPHAS = (0.0, 0.1, 0.3, 1.0, "schedule", "noisy", "carried")
EPSILONS = (0.1, 1.0, 10.0)
SEEDS = 5
BOUND = 50_000  # public bound on the number of rows; for large α, the noise grows with the square root of this bound


def main() -> None:
    """Fit the booster, and print a row for each α."""
    rows = []
    for name in TABLES:
        data = load_dataset(name)
        y = np.asarray(data.y).astype(str)
        for seed in range(SEEDS):
            train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)
            for alpha in ALPHAS:
                for epsilon in EPSILONS:
                    model = BoostedForestClassifier(
                        epsilon=epsilon, alpha=alpha, n_bound=BOUND, domain=data.domain, random_state=seed
                    )
                    model.fit(data.X.iloc[train], data.y.iloc[train])
                    accuracy = np.mean(model.predict(data.X.iloc[test]).astype(str) == y[test])
                    rows.append({"alpha": str(alpha), "epsilon": epsilon, "accuracy": accuracy})
    order = [str(alpha) for alpha in ALPHAS]
    print(pd.DataFrame(rows).pivot_table(index="alpha", columns="epsilon", values="accuracy").loc[order].round(3))


if __name__ == "__main__":
    main()
