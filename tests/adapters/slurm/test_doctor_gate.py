"""What is said of the gate of agreed starts: its lead, the folder that all nodes see, who may do what there."""

import pytest

from cosched_adapters.findings import Finding
from cosched_adapters.permissions import Account
from cosched_adapters.slurm.doctor import Facts, judge
from cosched_adapters.slurm.settings import read_settings
from tests.adapters.slurm.examined import CONFIG, ME, folder, judged, of, only, waiting, wrong

__all__ = ["folder", "judged"]


def test_gate_and_gate_lead_belong_together(judged, folder):
    gate = {"TaskProlog": f"{folder}/task-prolog"}
    assert "optional" in of("TaskProlog", judged()).found
    assert wrong(judged(gate, gate_lead=0.3)) == []
    assert only(judged(gate)).lines == ("gate_lead = 0.3",)
    found = only(judged(gate_lead=0.3))
    assert (found.subject, found.lines) == ("gate_lead", (f"TaskProlog={folder}/task-prolog",))


def test_a_gate_on_other_hosts_lets_jobs_start_too_early(judged, folder):
    found = only(judged({"TaskProlog": f"{folder}/task-prolog"}, gate_lead=0.3, elsewhere="node17"))
    assert "node17" in found.found
    assert "0.3 s before the agreed instant" in found.found
    assert found.lines == (f"#TaskProlog={folder}/task-prolog",)
    assert "name a folder that all nodes see (gate_folder, and gates= in cosched.conf)" in found.change


@pytest.fixture
def by_folder(judged, folder):
    """What is found on a cluster with other hosts, whose gates look into the folder `gates`."""
    (folder / "gates").mkdir(mode=0o755)
    conf = folder / "cosched.conf"
    conf.write_text(f"{conf.read_text()}gates={folder}/gates\n")

    def by_folder(**settings: object) -> list[Finding]:
        usual = {"gate_lead": 0.3, "gate_folder": str(folder / "gates"), "elsewhere": "node17"}
        given = {key: value for key, value in (usual | settings).items() if value is not None}
        return judged({"TaskProlog": f"{folder}/task-prolog"}, **given)

    return by_folder


def test_with_a_folder_that_all_nodes_see_tasks_may_be_on_other_hosts(by_folder):
    findings = by_folder()
    assert wrong(findings) == []
    assert "NTP or chrony" in of("gate_folder", findings).found
    assert only(by_folder(gate_lead=0)).lines == ("gate_lead = 0.3",)


@pytest.mark.parametrize(
    ("change", "grade", "line"),
    [
        (lambda gates: gates.rmdir(), "problem", f"install -d -o {ME.name} -m 755 {{}}/gates"),
        (lambda gates: gates.chmod(0o775), "problem", f"chown {ME.name} {{0}}/gates chmod go-w {{0}}/gates"),
        (lambda gates: gates.chmod(0o700), "warning", "chmod a+x {}/gates"),
    ],
)
def test_only_the_service_writes_into_the_folder_and_everybody_may_look(by_folder, folder, change, grade, line):
    change(folder / "gates")
    found = only(by_folder())
    assert (found.grade, found.subject, " ".join(found.lines)) == (grade, "gate_folder", line.format(folder))


def test_the_services_user_writes_into_the_folder(folder):
    known = read_settings(folder, {"gate_folder": str(folder), "gate_lead": 0.3})
    config = CONFIG | {"TaskProlog": f"{folder}/task-prolog"}
    other = Account(64030, "slurm", frozenset())
    found = of("gate_folder", judge(Facts(config, known, other, other)))
    assert (found.grade, found.lines) == ("problem", (f"chown slurm {folder}",))


def test_service_and_gates_have_the_same_folder(by_folder, folder):
    (folder / "other").mkdir()
    found = only(by_folder(gate_folder=str(folder / "other")))
    assert (found.file, found.lines) == (str(folder / "cosched.conf"), (f"gates={folder}/other",))
    assert f"into {folder}/gates" in found.found
    (folder / "cosched.conf").write_text(f"socket={folder}/hooks.sock\n{waiting(folder)}")
    assert only(by_folder()).lines == (f"gates={folder}/gates",)


def test_a_folder_that_only_the_gates_know_is_of_no_use(by_folder, folder):
    found = only(by_folder(gate_folder=None))
    assert (found.subject, found.lines) == ("gate_folder", (f'gate_folder = "{folder}/gates"',))


def test_a_folder_without_a_gate_is_of_no_use(judged, folder):
    found = only(judged(gate_folder=str(folder)))
    assert (found.subject, found.lines) == ("gate_folder", (f"TaskProlog={folder}/task-prolog",))


@pytest.mark.parametrize(
    ("name", "mode", "line"),
    [
        ("task-prolog", 0o700, "chmod 755 {}/task-prolog"),
        ("cosched-hook", 0o750, "chmod 755 {}/cosched-hook"),
        ("cosched.conf", 0o600, "chmod 644 {}/cosched.conf"),
        (".", 0o700, "chmod a+x {}"),
    ],
)
def test_the_gate_is_run_by_users(judged, folder, name, mode, line):
    (folder / name).chmod(mode)
    found = only(judged({"TaskProlog": f"{folder}/task-prolog"}, gate_lead=0.3))
    assert (found.grade, found.subject) == ("warning", "TaskProlog")
    assert found.lines == (line.format(folder),)
