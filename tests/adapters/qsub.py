"""A qsub and a qstat of given outputs, by which `cosched submit` submits. They note their arguments, one a line."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cosched_adapters.batch_system import Accepted, Submission, Submit


class Qsub:
    """Submits `script`; `shown` makes qstat's output of the name of the mate that the job names."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, submit: Submit, script: bytes, shown: Callable[[str], str]
    ) -> None:
        self._folder, self._monkeypatch, self._submit, self._shown = folder, monkeypatch, submit, shown
        self._text = script

    def __call__(
        self,
        qsub: str = "echo 17",
        named: str = "",
        arguments: tuple[str, ...] = (),
        peers: Sequence[str] = ("eureka",),
        **options: Any,
    ) -> Accepted:
        (self._folder / "shown").write_text(self._shown(named))
        does = {"qsub": f"cat > {self._folder}/script; {qsub}", "qstat": f"cat {self._folder}/shown"}
        for name, command in does.items():
            path = self._folder / name
            path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {self._folder}/{name}.arguments\n{command}\n')
            path.chmod(0o755)
        self._monkeypatch.setenv("PATH", f"{self._folder}:/usr/bin:/bin")
        return self._submit(Submission("mira", peers, "job.sh", self._text, arguments, options))

    def passed(self) -> list[str]:
        """The arguments that qsub got."""
        return (self._folder / "qsub.arguments").read_text().splitlines()

    def script(self) -> bytes:
        """The script that qsub got."""
        return (self._folder / "script").read_bytes()
