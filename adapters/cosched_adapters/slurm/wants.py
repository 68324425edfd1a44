"""What jobs of Slurm want: features, certain nodes, processors, memory, devices (GRES), licences. Nothing is run here.

What cannot be counted has a reason, which the job's user reads in `cosched explain`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cosched_adapters.profile import WHOLE, Amounts, Asks
from cosched_adapters.slurm.hostlists import expand
from cosched_adapters.slurm.parameters import Config, text

CPUS, MEMORY = "cpu", "mem"
_SHARING = ("OK", "YES", "NO-exclusive")  # what `machine.counts` shows of a job that may have a part of a node
_GRES = re.compile(r"(?:gres[:/])?(?P<name>[^:=]+)(?::(?P<type>[^:=]*[^:=0-9][^:=]*))?(?:[:=](?P<count>[0-9]+))?(K?)")
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_LICENCE = re.compile(r"(?P<name>[^:=]+)(?:[:=](?P<count>[0-9]+))?")
_MEMORY = re.compile(r"(?:^|,)mem=([0-9.]+)([KMGTP]?)")
_IN_MB = {"": 1 / 1024**2, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_ALTERNATIVES = re.compile(r"[][()*!]|[&,].*\||\|.*[&,]")  # a constraint that is more than features in one & or | list


@dataclass(frozen=True, slots=True)
class Node:
    """A node's active features, and what it has of each amount; memory in MB."""

    features: frozenset[str] = frozenset()
    room: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wants:
    """What a job wants beside a number of nodes of its partitions.

    `features`: a node has all of one set. `required`: these nodes and no others. `amounts`: of each node. `asks`: what
    it takes there, and licences. `uncounted`: why some of its wishes cannot be counted; empty: they can.
    """

    features: frozenset[frozenset[str]] = frozenset([frozenset()])
    required: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    amounts: frozenset[tuple[str, int]] = frozenset()
    asks: Asks = field(default=WHOLE, hash=False)
    uncounted: str = ""

    def suited(self, name: str, node: Node) -> bool:
        """Return whether the job may run on a node, once that has room."""
        return (
            (not self.required or name in self.required)
            and name not in self.excluded
            and any(features <= node.features for features in self.features)
            and all(node.room.get(kind, 0) >= amount for kind, amount in self.amounts)
        )


def shared(config: Config) -> frozenset[str]:
    """Return what the jobs of one node share, beside its devices; empty: each job has whole nodes."""
    parameters = text(config, "SelectTypeParameters").upper()
    if text(config, "SelectType") == "select/linear" or not re.search("CR_(CPU|CORE|SOCKET)", parameters):
        return frozenset()
    return frozenset([CPUS, MEMORY] if "MEMORY" in parameters else [CPUS])


def node_of(cpus: str, memory: str, features: str, gres: str) -> Node:
    """Return a node, from sinfo's fields. ValueError."""
    return Node(frozenset(features.split(",")), {CPUS: int(cpus), MEMORY: int(memory), **_devices(gres)})


def licences(words: str) -> Counter[str]:
    """Return the licences that a job or a reservation names, `matlab:2,fluent`."""
    named = [match for match in map(_LICENCE.fullmatch, words.split(",")) if match]
    return Counter({match["name"]: int(match["count"] or 1) for match in named})


def wants(fields: Mapping[str, str], nodes: int, share: frozenset[str], *, queued: bool) -> Wants:
    """Return what a job of so many nodes wants, from squeue's fields (`machine`); `share` as of `shared`.

    On which of its nodes a running job has what is not told: if it has several they count as taken as a whole.
    """
    amounts = _amounts(fields, max(nodes, 1))
    parts = {kind: amount for kind, amount in amounts.items() if kind in share or kind not in (CPUS, MEMORY)}
    whole = not share or fields["sharing"] not in _SHARING or not share <= parts.keys()
    asks = Asks(None if whole or (nodes > 1 and not queued) else parts, licences(fields["licenses"]))
    required = frozenset(expand(fields["required"]))
    excluded = frozenset(expand(fields["excluded"]))
    uncounted = next(_uncounted(fields, 0 < len(required) < nodes), "")
    return Wants(_features(fields["features"]), required, excluded, frozenset(amounts.items()), asks, uncounted)


def _uncounted(fields: Mapping[str, str], some_named: bool) -> Iterator[str]:
    if _ALTERNATIVES.search(fields["features"]):
        yield f"its constraint {fields['features'][:80]} is not one list of features with & or with |"
    if some_named:
        yield "it names some of its nodes, and leaves others open"
    if fields["per_socket"]:
        yield "it asks for devices by the socket"
    if re.search("[;|]", fields["licenses"]):
        yield f"its licences {fields['licenses'][:80]} are alternatives"


def _features(words: str) -> frozenset[frozenset[str]]:
    """Return the sets of features; a node must have all of one set."""
    if "|" in words:
        return frozenset(frozenset([word]) for word in words.split("|"))
    return frozenset([frozenset(word for word in re.split("[&,]", words) if word)])


def _amounts(fields: Mapping[str, str], nodes: int) -> dict[str, int]:
    """Return what the job wants of each node; no memory, if it wants all that there is."""
    total = Counter(_devices(fields["per_job"]))
    for kind, amount in _devices(fields["per_task"]).items():
        total[kind] += amount * int(fields["tasks"] or 1)
    memory = _MEMORY.search(fields["tres"])
    if memory is not None and fields["memory"] not in ("", "0"):
        total[MEMORY] = int(float(memory[1]) * _IN_MB[memory[2]])
    total[CPUS] = int(fields["cpus"] or 1)
    each = Counter({kind: -(-amount // nodes) for kind, amount in total.items()})
    return dict(each + _devices(fields["per_node"]))


def _devices(words: str) -> Counter[str]:
    """Return the devices of `gres:gpu:a100:2,gres:nic` or `gpu:a100:2(S:0-1)`, by kind and by kind and type."""
    found = Counter[str]()
    for match in map(_GRES.fullmatch, _IN_BRACKETS.sub("", words).split(",")):
        if match is not None:
            count = int(match["count"] or 1) * (1024 if match[4] else 1)
            for kind in {match["name"], f"{match['name']}:{match['type'] or ''}".rstrip(":")}:
                found[f"gres/{kind}"] += count
    return found
