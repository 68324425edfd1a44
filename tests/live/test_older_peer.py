"""A peer of an earlier version, as the repository's history has it: its own processes, beside those of today."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grpc
import pytest

from tests.live import workloads
from tests.live.services import PATIENCE, Service

VERSIONS = {
    "6cff1b4e6ec663cb861bc2ee4925c1e914f9b505": False,  # it has no slots
    "31e0653996a8b522c443d38104dcc6f64f0b7166": True,  # it has, and calls for those of pairs alone
}
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


@pytest.fixture(scope="module", params=VERSIONS)
def older(request, tmp_path_factory) -> Path:
    """A folder with its packages."""
    folder = tmp_path_factory.mktemp("older")
    command = ["git", "archive", request.param, *FILES]
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


def agrees_by_older_calls(service: Service) -> bool:
    with grpc.insecure_channel(service.address) as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/cosched.v1.CoschedulingService/ProposeStart", bytes, bytes)(b"", timeout=PATIENCE)
    return caught.value.code() is not grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.soak
@pytest.mark.parametrize("scheme", ["hold", "yield", "meet"])
def test_pairs_start_together_though_one_domain_meets_and_the_other_cannot_agree_with_it(
    make_pair, older, request, scheme
):
    has_slots = VERSIONS[request.node.callspec.params["older"]]
    if scheme == "meet" and not has_slots:
        pytest.skip("it knows no such scheme")
    pair = workloads.set_up(make_pair(release_interval="2s", max_held_fraction=0.7), SLOTS, ("meet", scheme))
    pair.b.wrapper = (sys.executable, "-c", RUN, str(older))
    pair.start()
    assert [agrees_by_older_calls(service) for service in pair.both] == [False, has_slots]
    found = workloads.run(pair, workloads.contended(1, PAIRS, ALONE))
    assert found.states == {"completed": 2 * (PAIRS + ALONE)}
    assert set(found.runs.values()) == {1}
    assert found.alone() == {}
    assert [service.faults() for service in pair.both] == [[], []]
    with pair.a.client() as a:
        assert list(a.events(after=0, kinds=["slot"], until_now=True)) == []
