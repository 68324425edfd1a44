"""Prometheus's node_exporter on each machine."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from prometheus_client.parser import text_string_to_metric_families
from pydantic import Field

from cosched.planning.facts import CPU, MEMORY, SPEED, Listed
from cosched.planning.grid import MB, MHZ
from cosched.planning.information.host import share_of_a_new_process
from cosched.planning.information.patience import answers
from cosched.planning.information.source import SOONER, Reading, SourceKind, SourceSettings

_MOST = 16 << 20  # bytes of an answer
_CLOCK = "node_cpu_frequency_max_hertz"
_WANTED = {"node_load1", "node_memory_MemAvailable_bytes", "node_cpu_seconds", _CLOCK}


class ExporterSettings(SourceSettings):
    """In `url`, {machine} stands for a machine's name."""

    url: Annotated[str, Field(pattern=r"^https?://")] = "http://{machine}:9100/metrics"
    machines: tuple[str, ...] = ()  # those that have one; empty: all


class NodeExporter:
    """Asks all machines at the same time."""

    def __init__(self, settings: ExporterSettings, folder: Path) -> None:  # noqa: ARG002
        self._settings = settings

    def read(self, machines: Sequence[Listed], tell: Callable[[str], None]) -> list[Reading]:
        listed = [each.name for each in machines]
        asked = [name for name in self._settings.machines or listed if name in listed]
        for name in set(self._settings.machines).difference(listed):
            tell(f"{name} is not listed")
        timeout = float(self._settings.timeout) * SOONER
        calls = [(partial(self._ask, name, timeout), timeout) for name in asked]
        found: list[Reading] = []
        for name, answer in zip(asked, answers(calls), strict=True):
            found += answer.value or []
            if answer.error is not None:
                tell(f"{name}: {getattr(answer.error, 'reason', answer.error)}")
            elif answer.value is None:
                tell(f"{name}: no answer within {timeout:g} s")
        return found

    def _ask(self, name: str, timeout: float) -> list[Reading]:
        url = self._settings.url.replace("{machine}", name)
        try:
            with urllib.request.urlopen(url, timeout=timeout) as answer:
                return list(readings(name, answer.read(_MOST).decode("utf-8")))
        except urllib.error.HTTPError as error:
            error.close()
            raise


def readings(machine: str, text: str) -> Iterator[Reading]:
    """Yield what the metrics of a machine say. ValueError: these are not metrics."""
    values: dict[str, float] = {}
    processors = set()
    for family in text_string_to_metric_families(text):
        if family.name not in _WANTED:
            continue
        for sample in family.samples:
            if family.name == "node_cpu_seconds":
                processors.add(sample.labels["cpu"])
            else:
                values[family.name] = max(sample.value, values.get(family.name, 0.0))
    if _CLOCK in values:
        yield Reading(SPEED, machine, values[_CLOCK] / MHZ)
    if processors and "node_load1" in values:
        yield Reading(CPU, machine, share_of_a_new_process(len(processors), values["node_load1"]))
    if "node_memory_MemAvailable_bytes" in values:
        yield Reading(MEMORY, machine, values["node_memory_MemAvailable_bytes"] / MB)


_PURPOSE = "Prometheus's node_exporter on each machine"
NODE_EXPORTER = SourceKind("node_exporter", _PURPOSE, ExporterSettings, NodeExporter)
