"""Write data/without_privacy.json, the results of scikit-learn's classifiers on the bundled tables.

Run `.venv/bin/python scripts/without_privacy.py`; it takes half a minute.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpforest.evaluation.nonprivate import metrics_of
from dpforest.tables.datasets import list_datasets
from ui.jobs.baselines import PATH, key_of
from ui.shared import tables


def main() -> None:
    content = {}
    for name in list_datasets():
        data = tables.bundled(name)
        table = tables.bundled_table(data, data.label)
        content[name] = {"of": key_of(table), "metrics": metrics_of(table.domain, tables.split(table))}
        print(f"{name}: {content[name]['metrics']}", flush=True)
    PATH.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
