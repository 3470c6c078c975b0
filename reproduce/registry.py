"""The parts of the reproductions by name, in the order in which they run."""

from __future__ import annotations

from typing import Final

from reproduce import (
    bojarski,
    bojarski_chosen,
    bojarski_curves,
    epsilon_curves,
    fletcher_islam,
    fletcher_islam_choices,
    fletcher_islam_curves,
    fletcher_islam_formulas,
    fletcher_islam_occupied,
    fletcher_islam_rana,
    fletcher_islam_real,
    fletcher_islam_sensitivity,
    fletcher_islam_synthetic,
    multinomial,
    multinomial_budget,
    multinomial_comparators,
    multinomial_temperatures,
    multinomial_trees,
    nock_henecka,
    nock_henecka_runs,
    nock_henecka_settings,
)
from reproduce.cells import Part

PARTS: Final = {
    "bojarski": Part(bojarski.cells),
    "bojarski_chosen": Part(bojarski_chosen.cells),
    "bojarski_curves": Part(bojarski_curves.cells),
    "epsilon_curves": Part(epsilon_curves.cells),
    "fletcher_islam": Part(fletcher_islam.cells),
    "fletcher_islam_choices": Part(fletcher_islam_choices.cells),
    "fletcher_islam_curves": Part(fletcher_islam_curves.cells),
    "fletcher_islam_formulas": Part(fletcher_islam_formulas.cells),
    "fletcher_islam_occupied": Part(fletcher_islam_occupied.cells),
    "fletcher_islam_rana": Part(fletcher_islam_rana.cells),
    "fletcher_islam_real": Part(fletcher_islam_real.cells),
    "fletcher_islam_sensitivity": Part(fletcher_islam_sensitivity.cells),
    "fletcher_islam_synthetic": Part(fletcher_islam_synthetic.cells),
    "multinomial": Part(multinomial.cells),
    "multinomial_budget": Part(multinomial_budget.cells),
    "multinomial_comparators": Part(multinomial_comparators.cells),
    "multinomial_temperatures": Part(multinomial_temperatures.cells),
    "multinomial_trees": Part(multinomial_trees.cells),
    "nock_henecka": Part(nock_henecka.cells, nock_henecka.records),
    "nock_henecka_runs": Part(nock_henecka_runs.cells, nock_henecka_runs.records),
    "nock_henecka_settings": Part(nock_henecka_settings.cells, nock_henecka_settings.records),
}
