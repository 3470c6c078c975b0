"""Mutants of the certified code, grouped by the code that they change.

Most auditors were written to detect the mutants of `samplers`, `releases`, `growth`, `fits` and `preparation`. Mutants
of `rare` act only in rare events. Mutants of `hidden` leak rows through parts of a fitted estimator. Mutants of
`exact_samplers` bias a sampler so little that a million draws do not show it. Mutants of `blind_spots` and
`independent` act only on domains, sizes and formats that no auditor had tried before.
"""

from tests.audit.mutants.fits import FITS
from tests.audit.mutants.growth import GROWTH
from tests.audit.mutants.mutation import EVERY, Mutant, mutated
from tests.audit.mutants.preparation import PREPARATION
from tests.audit.mutants.releases import RELEASES
from tests.audit.mutants.samplers import SAMPLERS

MUTANTS = (*SAMPLERS, *RELEASES, *GROWTH, *FITS, *PREPARATION)

__all__ = ["EVERY", "MUTANTS", "Mutant", "mutated"]
