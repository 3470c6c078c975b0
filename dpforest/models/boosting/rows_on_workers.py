"""Encoded rows on the workers of a Dask cluster. Each worker sums the gradients of its rows, and sends only sums.

The rows of a worker are one actor: an object that stays on its worker and is never computed again. So if a worker is
lost, the scores of its rows are lost, and the fit stops. Noise is drawn by the client, once in each round.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dpforest.models.boosting.clip_bound import ClipBound
from dpforest.models.boosting.gradient_sums import GradientSums
from dpforest.models.boosting.gradients import TABLES, GradientTables
from dpforest.models.data_dependent import EncodedRows
from dpforest.privacy.ledger import Ledger
from dpforest.tables.domain import Domain
from dpforest.tables.out_of_domain import OutOfDomain, OutOfDomainCells
from dpforest.tables.rows import read_rows
from dpforest.trees.layout import Trees
from dpforest.trees.released_scale import scale_histograms

_WAIT = 2.0  # number of seconds after which a waiting client checks that its workers still exist


class FitStoppedError(RuntimeError):
    """Raised if a worker is lost during a fit. Nothing is released.

    Parameters
    ----------
    message : str
        What happened, and what to do.
    ledger : Ledger
        The questions that were charged before the fit stopped. Their answers were not published.
    """

    def __init__(self, message: str, ledger: Ledger):
        super().__init__(message)
        self.ledger = ledger


class _WorkerLostError(Exception):
    """Raised if a call to a worker fails for any reason; the message names the error."""


class _Part(NamedTuple):
    """Encoded rows of a partition, and the exact numbers that the client needs before the first round."""

    rows: EncodedRows
    n_rows: int
    n_given: int
    out_of_domain: dict[tuple[str, OutOfDomain], int]

    def without_rows(self) -> "_Part":
        """Return a copy without the rows, so that only the numbers go to the client."""
        return self._replace(rows=None)  # type: ignore[arg-type]


class WorkerRows:
    """The rows of one worker, as a Dask actor: its methods run on the worker.

    The actor holds raw rows, so the cluster must belong to the curator (the data holder).
    """

    def __init__(self, parts: list[_Part]):
        self._parts = parts
        self._sums = list[GradientSums]()

    def start(self, domain: Domain, trees: Trees, clip: ClipBound, tables: GradientTables) -> int:
        """Set all scores to 0. Return the number of parts."""
        self._sums = [GradientSums(domain, trees, clip, part.rows, tables=tables) for part in self._parts]
        return len(self._sums)

    def sums_of_round(self, t: int, moves: np.ndarray) -> np.ndarray:
        """Return the gradient sums of all rows of this worker (`GradientSums.of_round`)."""
        total: np.ndarray = np.sum([sums.of_round(t, moves) for sums in self._sums], axis=0)
        return total


class RowsOnWorkers:
    """The client's side of a fit on a Dask cluster.

    Parameters
    ----------
    model : RandomTreeBoosterClassifier
        Estimator whose domain encodes the rows.
    partitions : list of delayed (X, y)
        Partitions of the table.
    out_of_domain : OutOfDomainCells
        Object that counts the cells outside of the domain.

    Raises
    ------
    RuntimeError
        If there is no cluster, or if a worker does not have this version of this library.
    """

    def __init__(self, model: Any, partitions: list[Any], out_of_domain: OutOfDomainCells):
        from dask import delayed
        from distributed import get_client

        try:
            self._client = get_client()
        except ValueError:
            raise RuntimeError(
                "There is no Dask cluster: start one with distributed.Client(...), because the rows stay on its "
                "workers from round to round."
            ) from None
        _check_library(self._client)
        self._domain = model._given_domain()
        self._part_futures = self._client.compute([delayed(_encode)(model, pair) for pair in partitions])
        self._facts: list[_Part] = self._client.gather(
            self._client.map(_Part.without_rows, self._part_futures, pure=False)
        )
        self._actors = list[Any]()
        for facts in self._facts:
            for (name, kind), n in facts.out_of_domain.items():
                out_of_domain.add(name, kind, n)

    @property
    def n_rows(self) -> int:
        """Number of rows with a listed label or, with a unit of privacy, number of persons."""
        return sum(facts.n_rows for facts in self._facts)

    @property
    def n_given(self) -> int:
        """Number of all rows or, with a unit of privacy, number of persons."""
        return sum(facts.n_given for facts in self._facts)

    def cells(self) -> np.ndarray:
        """Return the exact counts of all rows in the cells of the scale: `scale_histograms`, summed over all parts."""
        with _calling_workers():
            domain = self._domain
            parts = self._client.map(lambda part: _cells_of(domain, part), self._part_futures, pure=False)
            return np.sum(self._client.gather(parts), axis=0)

    def start(self, domain: Domain, trees: Trees, clip: ClipBound) -> None:
        """Make one actor on each worker, from the parts that this worker holds, and set the scores of all rows to 0."""
        with _calling_workers():
            holders = self._client.who_has(self._part_futures)
            by_worker = dict[str, list[Any]]()
            for part in self._part_futures:
                by_worker.setdefault(min(holders[part.key]), []).append(part)
            futures = [
                self._client.submit(WorkerRows, parts, workers=[worker], actor=True, pure=False)
                for worker, parts in by_worker.items()
            ]
            self._wait_for(futures, set(by_worker))
            self._actors = [future.result() for future in futures]
            self._part_futures = []  # from now on, only the actors hold the rows
            for answer in [actor.start(domain, trees, clip, TABLES) for actor in self._actors]:
                answer.result()

    def sums_of_round(self, t: int, moves: np.ndarray) -> np.ndarray:
        """Return the gradient sums of round t over all workers."""
        with _calling_workers():
            answers = [actor.sums_of_round(t, moves) for actor in self._actors]
            total: np.ndarray = np.sum([answer.result() for answer in answers], axis=0)
            return total

    def _wait_for(self, futures: list[Any], workers: set[str]) -> None:
        """Wait for futures that need these workers. Raise OSError if one of the workers is gone."""
        from distributed import TimeoutError, wait

        while True:
            try:
                wait(futures, timeout=_WAIT)
                return
            except TimeoutError:
                if not workers <= set(self._client.scheduler_info(n_workers=-1)["workers"]):
                    raise OSError("the scheduler does not list it") from None

    @contextmanager
    def stopping_fit(self, ledger: Ledger) -> Iterator[None]:
        """Turn the loss of a worker in this block into a `FitStoppedError`. Drop all references to rows at its end."""
        try:
            yield
        except _WorkerLostError as error:
            raise FitStoppedError(
                "The fit stopped and released nothing, because a worker was lost, and the scores of its rows with it "
                f"({error}). The attribute `ledger` of this error lists what was charged. Give the workers enough "
                "memory, and fit again; this will be a new release.",
                ledger,
            ) from error
        finally:
            self._actors, self._part_futures = [], []


@contextmanager
def _calling_workers() -> Iterator[None]:
    """Turn every error of a call into a `_WorkerLostError`, because a fit cannot go on without the answer."""
    try:
        yield
    except Exception as error:
        raise _WorkerLostError(f"{type(error).__name__}: {error}") from error


def _check_library(client: Any) -> None:
    """Raise RuntimeError unless all workers have this version of this library.

    Without this check, a worker without the library could not read its tasks, and the client would wait forever.
    """
    name = __name__.partition(".")[0]
    client_version = sys.modules[name].__version__
    # A lambda is sent as code, so that a worker without the library can run it.
    versions = client.run(lambda: __import__(name).__version__, on_error="return")
    other_versions = {worker: version for worker, version in versions.items() if version != client_version}
    if other_versions:
        worker, version = min(other_versions.items())
        raise RuntimeError(
            f"{len(other_versions)} of {len(versions)} workers do not have {name} {client_version}, as this machine "
            f"has. The worker {worker} answers: {version}. Install the same version on all workers."
        )


def _encode(model: Any, pair: tuple[Any, Any]) -> _Part:
    """Return the encoded rows of a partition (X, y). This function runs on a worker."""
    domain, out_of_domain = model._given_domain(), OutOfDomainCells()
    X, y = model._checked_part(*pair)
    table = read_rows(domain, X, y, out_of_domain=out_of_domain)
    rows = model.encode(domain, table.codes, table.y, table.ids, n_given=table.n_given, units=table.units)
    return _Part(rows, rows.n_counted, rows.n_given, out_of_domain.counts())


def _cells_of(domain: Domain, part: _Part) -> np.ndarray:
    """Return the exact counts of a part in the cells of the scale."""
    return scale_histograms(domain, part.rows.codes, part.rows.weight)
