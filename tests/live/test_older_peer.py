"""A peer of the release before slots, as the repository's history has it: its own processes, beside those of today."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grpc
import pytest

from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from tests.live import workloads
from tests.live.services import PATIENCE, Service

BEFORE_SLOTS = "6cff1b4e6ec663cb861bc2ee4925c1e914f9b505"
FILES = ("pyproject.toml", "cosched", "adapters", "sim")
ROOT = Path(__file__).parents[2]
PAIRS, ALONE, SLOTS = 20, 10, 6
RUN = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from cosched.cli.main import main
sys.argv[0] = "cosched"
main()
"""


@pytest.fixture(scope="module")
def older(tmp_path_factory) -> Path:
    """A folder with its packages."""
    folder = tmp_path_factory.mktemp("older")
    command = ["git", "archive", BEFORE_SLOTS, *FILES]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=False) if shutil.which("git") else None
    if archive is None or archive.returncode:
        pytest.skip("the history of this repository is not here")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    _declare(folder)
    return folder


def _declare(folder: Path) -> None:
    """Have its adapters found there, as if it were installed."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    declared = folder / f"{project['name']}-0.dist-info"
    declared.mkdir()
    (declared / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {of}\n" for name, of in points.items()) for group, points in groups]
    (declared / "entry_points.txt").write_text("\n".join(lines))


def knows_slots(service: Service) -> bool:
    with grpc.insecure_channel(service.address) as channel, pytest.raises(grpc.RpcError) as caught:
        CoschedulingServiceStub(channel).ProposeStart(wire.ProposeStartRequest(), timeout=PATIENCE)
    return caught.value.code() is not grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["hold", "yield"])
def test_pairs_start_together_though_one_domain_meets_and_the_other_knows_of_no_slots(make_pair, older, scheme):
    pair = workloads.set_up(make_pair(release_interval="2s", max_held_fraction=0.7), SLOTS, ("meet", scheme))
    pair.b.wrapper = (sys.executable, "-c", RUN, str(older))
    pair.start()
    assert not knows_slots(pair.b)
    found = workloads.run(pair, workloads.contended(1, PAIRS, ALONE))
    assert found.states == {"completed": 2 * (PAIRS + ALONE)}
    assert set(found.runs.values()) == {1}
    assert found.alone() == {}
    assert [service.faults() for service in pair.both] == [[], []]
