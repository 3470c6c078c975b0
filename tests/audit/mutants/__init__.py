"""Mutants of the certified code, grouped by the code that they change.

A mutant is a deliberate mistake that the auditors should detect. Most auditors were written for the mutants in
`samplers`, `releases`, `growth`, `fits` and `preparation`. The mutants in `rare` act only in rare events. Those in
`hidden` leak rows through parts of a fitted estimator. Those in `exact_samplers` bias a sampler so little that a
million draws do not show it. Those in `blind_spots` and `independent` act only on domains, sizes and formats that no
auditor had tried before. Those in `rounds` act in the random-tree booster, and those in `units` on persons with several
rows.
"""

from tests.audit.mutants.fits import FITS
from tests.audit.mutants.growth import GROWTH
from tests.audit.mutants.mutation import EVERY, Mutant, mutated
from tests.audit.mutants.preparation import PREPARATION
from tests.audit.mutants.releases import RELEASES
from tests.audit.mutants.samplers import SAMPLERS

MUTANTS = (*SAMPLERS, *RELEASES, *GROWTH, *FITS, *PREPARATION)

__all__ = ["EVERY", "MUTANTS", "Mutant", "mutated"]
