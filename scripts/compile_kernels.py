"""Compile all numba kernels of the app. Numba stores them next to the modules, or in NUMBA_CACHE_DIR."""

import sys
from pathlib import Path

import dpforest

sys.path.insert(0, str(Path(dpforest.__file__).parent / "_app"))  # in a wheel, the app's modules are there

from ui.jobs.warm_up import steps  # noqa: E402

for step in steps().values():
    step()
