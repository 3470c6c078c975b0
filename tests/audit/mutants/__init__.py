"""Mistakes put into certified code, by what they attack: `samplers`, `releases`, `growth`, `fits` and `preparation`,
which most of the auditors were written against, and those that wait for something `rare`, hide in what a fit leaves
behind (`hidden`), or bias a sampler by less than a million draws show (`exact_samplers`). Those in `blind_spots` and
`independent` are about domains, sizes and formats that no auditor had tried.
"""

from tests.audit.mutants.fits import FITS
from tests.audit.mutants.growth import GROWTH
from tests.audit.mutants.mutation import EVERY, Mutant, mutated
from tests.audit.mutants.preparation import PREPARATION
from tests.audit.mutants.releases import RELEASES
from tests.audit.mutants.samplers import SAMPLERS

MUTANTS = (*SAMPLERS, *RELEASES, *GROWTH, *FITS, *PREPARATION)

__all__ = ["EVERY", "MUTANTS", "Mutant", "mutated"]
