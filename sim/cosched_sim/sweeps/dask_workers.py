"""Runs cases on a Dask cluster (distributed), such as one that dask-jobqueue has started.

Its workers must have the same version of cosched, and must find trace files under the same names, as on a shared file
system. The results come back to the calling process, the only one that writes files.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from cosched.installation.extras import DASK, need
from cosched.words.errors import InputError
from cosched_sim.sweeps.case import Case, reason, run_chunk
from cosched_sim.sweeps.workers import Outcome

T = TypeVar("T")
PATIENCE_S = 10  # to wait for the scheduler's answer
CHUNKS_PER_THREAD = 2  # one that runs, one that waits at the worker


@contextmanager
def dask_workers(address: str) -> Iterator[DaskWorkers]:
    """Yield the workers of the Dask scheduler at `address`, such as "tcp://host:8786"; InputError, OSError."""
    with _connected(address) as client:
        yield DaskWorkers(client, address)


@contextmanager
def dask_tasks(address: str) -> Iterator[Callable[[Callable[..., T], Iterable[tuple[Any, ...]]], list[T]]]:
    """Yield what carries out a function for each of several sets of arguments there, and returns the outcomes.

    InputError and OSError as in `dask_workers`; ValueError as the function raises it.
    """

    def carry_out(task: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> list[T]:
        futures = [client.submit(task, *each, pure=False) for each in arguments]
        try:
            return [future.result() for future in futures]
        except ValueError:
            raise
        except Exception as error:
            raise OSError(f"the workers of {address} cannot carry it out: {reason(error)}") from None

    with _connected(address) as client:
        yield carry_out


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # the calling process reports what matters
    try:
        client = distributed.Client(address, timeout=PATIENCE_S, set_as_default=False)
    except ValueError as error:
        raise InputError("--dask", None, str(error)) from None
    except OSError:
        raise OSError(f"no Dask scheduler answers at {address} within {PATIENCE_S} s") from None
    try:
        yield client
    finally:
        client.close(timeout=PATIENCE_S)


class DaskWorkers:
    """The workers that the cluster has at any time; they may come and go."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._chunks: dict[object, Sequence[Case]] = {}
        self._completed = _distributed().as_completed(loop=client.loop)

    @property
    def at_once(self) -> int:
        threads: int = sum(self._client.nthreads().values())
        return CHUNKS_PER_THREAD * max(1, threads)

    def submit(self, cases: Sequence[Case]) -> None:
        future = self._client.submit(run_chunk, cases, pure=False)
        self._chunks[future.key] = cases
        self._completed.add(future)

    def next_outcome(self) -> Outcome:
        """See the protocol. If the worker of a chunk dies, Dask repeats it a few times, then it has no rows."""
        future = next(self._completed)
        cases = self._chunks.pop(future.key)
        try:
            # If the worker dies before its rows are fetched, this waits until another worker has computed them.
            return Outcome(cases, *future.result())
        except _distributed().KilledWorker:
            return Outcome(cases, None, 0.0)
        except CancelledError:
            raise OSError(f"the Dask scheduler at {self._address} is gone") from None
        except Exception as error:
            raise OSError(f"the workers of {self._address} cannot carry out cases: {reason(error)}") from None


def _distributed() -> Any:
    """Import the package, which has no useful types."""
    need(DASK)
    return import_module("distributed")
