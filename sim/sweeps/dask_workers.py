"""Cases carried out by a Dask cluster (distributed), such as one that dask-jobqueue has started.

Its workers must be able to import cosched of the same version, and trace files must be where they find them by the
same names: on a shared file system. The results come back to the process that asked for them, which alone writes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from cosched.errors import InputError
from cosched.extras import DASK, need
from cosched.sim.sweeps.case import Case, reason, run_chunk
from cosched.sim.sweeps.workers import Outcome

PATIENCE_S = 10  # for the scheduler to answer
CHUNKS_PER_THREAD = 2  # one to do, one that waits at the worker


@contextmanager
def dask_workers(address: str) -> Iterator[DaskWorkers]:
    """The workers of the Dask scheduler at `address`, such as "tcp://host:8786".

    InputError without the package distributed; OSError if no scheduler answers.
    """
    distributed = _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said by who asks for the cases
    try:
        client = distributed.Client(address, timeout=PATIENCE_S, set_as_default=False)
    except ValueError as error:
        raise InputError("--dask", None, str(error)) from None
    except OSError:
        raise OSError(f"no Dask scheduler answers at {address} within {PATIENCE_S} s") from None
    try:
        yield DaskWorkers(client, address)
    finally:
        client.close(timeout=PATIENCE_S)


class DaskWorkers:
    """Whatever workers the cluster has at the time; they may come and go."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address
        self._chunks: dict[object, Sequence[Case]] = {}
        self._completed = _distributed().as_completed(loop=client.loop)

    @property
    def at_once(self) -> int:
        """Some more than are carried out at the same time."""
        threads: int = sum(self._client.nthreads().values())
        return CHUNKS_PER_THREAD * max(1, threads)

    def submit(self, cases: Sequence[Case]) -> None:
        """Hand over a chunk."""
        future = self._client.submit(run_chunk, cases, pure=False)
        self._chunks[future.key] = cases
        self._completed.add(future)

    def next_outcome(self) -> Outcome:
        """Wait for a chunk. If workers die, Dask begins it again a few times before it has no rows. OSError."""
        future = next(self._completed)
        cases = self._chunks.pop(future.key)
        try:
            # If its worker dies with the rows before they are fetched, this waits until another one has them.
            return Outcome(cases, *future.result())
        except _distributed().KilledWorker:
            return Outcome(cases, None, 0.0)
        except CancelledError:
            raise OSError(f"the Dask scheduler at {self._address} is gone") from None
        except Exception as error:
            raise OSError(f"the workers of {self._address} cannot carry out cases: {reason(error)}") from None


def _distributed() -> Any:
    """The package, which has no types worth the name."""
    need(DASK)
    return import_module("distributed")
