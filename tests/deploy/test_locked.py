"""What of the lock is installed by `make demo` and `make test-service`: all that they need, and no more."""

import re
import tomllib

import pytest

from deploy.locked import locked
from tests.deploy.conftest import TOP

MAKEFILE = (TOP / "Makefile").read_text()
(OF_DEMO,) = re.findall(r"^OF_DEMO := (.*)$", MAKEFILE, re.MULTILINE)


def names(*wanted: str) -> set[str]:
    return {entry.partition("==")[0] for entry in locked([*wanted], TOP)}


def test_the_demo_brings_compiled_scheduling_and_services_and_nothing_that_draws_or_tabulates() -> None:
    demo = names(OF_DEMO)
    assert demo >= {"apscheduler", "click", "grpcio", "llvmlite", "numba", "numpy", "pydantic", "setuptools"}
    simulator = tomllib.loads((TOP / "sim/pyproject.toml").read_text())["project"]["dependencies"]
    others = {re.split(r"[<>=\[]", each)[0] for each in simulator} - {"coscheduling"}
    assert {"matplotlib", "polars", "scipy"} <= others
    assert not demo & (others | {"dask", "mypy", "pandas", "pytest", "sphinx"})


def test_all_that_developers_need_is_the_whole_lock() -> None:
    lock = (TOP / "requirements.lock").read_text()
    assert "\n".join(locked(["coscheduling[dev]"], TOP)) == lock.strip()
    assert names("coscheduling") < names(OF_DEMO) < names("coscheduling[test]") < names("coscheduling[dev]")


def test_a_package_that_is_not_locked_is_named(tmp_path) -> None:
    for folder in (".", "sim", "papers"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "pyproject.toml").write_text('[project]\ndependencies = ["Wanted.One>=1"]\n')
    (tmp_path / "requirements.lock").write_text("setuptools==1 \\\n    --hash=sha256:1\n")
    with pytest.raises(KeyError, match="wanted-one is not in"):
        locked(["coscheduling"], tmp_path)
