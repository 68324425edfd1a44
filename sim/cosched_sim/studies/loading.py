"""The studies that are installed: ours, and the entry points of the group `cosched.studies`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter

from cosched.words.errors import InputError
from cosched_sim.studies.barsanti2006 import BARSANTI
from cosched_sim.studies.collins2001 import COLLINS
from cosched_sim.studies.dail2002 import DAIL
from cosched_sim.studies.fluid import FLUID
from cosched_sim.studies.groups import GROUPS
from cosched_sim.studies.meet import MEET
from cosched_sim.studies.study import Study
from cosched_sim.studies.tang2011 import TANG
from cosched_sim.studies.weissman2004 import WEISSMAN

GROUP = "cosched.studies"
OWN = {study.name: study for study in (TANG, MEET, GROUPS, FLUID, WEISSMAN, BARSANTI, DAIL, COLLINS)}


@cache
def studies() -> Mapping[str, Study]:
    """Return all studies by name, ours first; InputError if one of another package cannot be loaded."""
    found = dict(OWN)
    for entry in sorted(entry_points(group=GROUP), key=attrgetter("name")):
        found[entry.name] = _loaded(entry, found)
    return found


def _loaded(entry: EntryPoint, found: Mapping[str, Study]) -> Study:
    try:
        study = entry.load()
    except Exception as error:  # whatever others have written there
        raise InputError(f"study {entry.name}", None, f"cannot be loaded: {error}") from error
    if not isinstance(study, Study) or study.name != entry.name or study.name in found:
        reason = "is no Study with this name, or ours has it, or that of another package"
        raise InputError(f"study {entry.name}", None, f"{entry.value} {reason}")
    return study
