"""Replays of the random-tree booster on neighbors: it spends exactly its budget, and mistakes are detected."""

import pytest

from dpforest.audit.replay.variants import VARIANTS, most_of, replay_rare, replay_variant
from dpforest.privacy.ledger import NEIGHBORS
from tests.audit.mutants.mutation import mutated
from tests.audit.mutants.rounds import ROUNDS
from tests.conftest import every

OF_BOOSTERS = [name for name, (kind, _) in VARIANTS.items() if kind.__name__ == "RandomTreeBoosterClassifier"]
SIZES = (12, 3, 1)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_every_charge_is_used_up(delta, monkeypatch):
    """With tiny steps, all scores stay near 0, where a row costs most. So a row costs the whole budget over all rounds.

    If a row changes sums by Δ, it costs Σ |Δ|/b = ε under noise of scale b, or Σ ‖Δ‖²/σ² = μ² under Gaussian noise.
    """
    kind, settings = VARIANTS["booster"]
    monkeypatch.setitem(VARIANTS, "small steps", (kind, {**settings, "delta": delta, "total_step": 1e-6}))
    replays = [replay for replay in replay_variant("small steps", "add-remove", sizes=SIZES) if replay.n_questions]
    assert [str(f) for replay in replays for f in replay.findings] == []
    assert max(replay.loss for replay in replays) == pytest.approx(most_of(kind(delta=delta)), rel=1e-6)


@pytest.mark.parametrize("mutant", every(3, ROUNDS), ids=lambda mutant: mutant.name)
def test_a_mistake_is_detected(mutant):
    with mutated(mutant):
        assert any(
            replay.findings
            for name in OF_BOOSTERS
            for relation in NEIGHBORS
            for replays in (replay_variant(name, relation, sizes=SIZES), replay_rare(name, relation))
            for replay in replays
        )
