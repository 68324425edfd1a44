"""Runs the hook as pbs_server does, with a double of its module `pbs` that behaves as was recorded of OpenPBS 23.06.06.

There, an attribute that is not set is None. `Resource_List` has None for a resource that is not set, raises
AttributeError for one that the site has not created, and has `keys()` of those in the request alone; an empty text
removes a resource. `reject` and `accept` end the hook at once.
"""

import json
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HOOK = Path(__file__).resolve().parents[3] / "deploy" / "pbs" / "hooks" / "cosched_hook.py"
EVENTS = ("QUEUEJOB", "MODIFYJOB", "MOVEJOB", "RUNJOB", "JOBOBIT")


class EndedError(BaseException):
    """The hook has accepted (None) or rejected the event."""

    def __init__(self, why: str | None) -> None:
        self.why = why


class Resources(dict[str, str]):
    """A job's Resource_List, or that of a request."""

    created = True  # the custom resources by which jobs name their mates

    def __missing__(self, name: str) -> None:
        if not self.created:
            raise AttributeError(f"'pbs_resource' object has no attribute '{name}'")


class Job:
    """`event.job`, or `event.job_o`."""

    def __init__(self, resources: Mapping[str, str] | None = None, **attributes: Any) -> None:
        self.Resource_List = Resources(resources or {})
        self.Variable_List: dict[str, str] = {}
        self.__dict__.update(attributes)

    def __getattr__(self, _: str) -> None:
        return None


class Event:
    """`pbs.event()`."""

    def __init__(self, kind: str, job: Job, job_o: Job | None, requestor: str) -> None:
        self.type, self.job, self.requestor = EVENTS.index(kind), job, requestor
        if job_o is not None:
            self.job_o = job_o

    def reject(self, why: str) -> None:
        raise EndedError(why)

    def accept(self) -> None:
        raise EndedError(None)


class Server:
    """`pbs.server()`, with one reservation."""

    name = "mira"

    def resv(self, name: str) -> object:
        return name if name == "R9" else None


class Hook:
    """The hook with this configuration. `logged` is what it has written to the server's log.

    It waits for its service as long as on a site; if `patient`, as long as a busy host needs.
    """

    patient = False

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> None:
        self.configuration = folder / "cosched.json"
        self.configuration.write_text(json.dumps(settings))
        self.logged: list[str] = []
        self._pbs: Any = ModuleType("pbs")
        for number, name in enumerate(EVENTS):
            setattr(self._pbs, name, number)
        self._pbs.LOG_WARNING = 4
        self._pbs.logmsg = lambda _, text: self.logged.append(text)
        self._pbs.server = Server
        self._pbs.hook_config_filename = str(self.configuration)
        monkeypatch.setitem(sys.modules, "pbs", self._pbs)

    def run(self, kind: str, job: Job, job_o: Job | None = None, requestor: str = "Scheduler") -> str | None:
        """Return why an event was rejected, or None."""
        self._pbs.event = lambda: Event(kind, job, job_o, requestor)
        with pytest.raises(EndedError) as ended:
            runpy.run_path(str(self._patient() if self.patient else HOOK))
        return ended.value.why

    def _patient(self) -> Path:
        text, hook = HOOK.read_text(), self.configuration.with_name("patient_hook.py")
        assert text.count("PATIENCE = 0.2 ") == 1
        hook.write_text(text.replace("PATIENCE = 0.2 ", "PATIENCE = 30 "))
        return hook
