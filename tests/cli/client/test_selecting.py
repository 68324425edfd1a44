"""`cosched submit --select`: what is sent for machines that were chosen, and what is refused."""

import re

import pytest

from cosched.v1.domain_pb2 import SubmitJobRequest

NAMED = "".join(
    f'[[machine]]\nname = "n{n}.i.org"\nspeed = {400 + n}\nmemory = 100\ndomain = "intrepid"\nnode = "n{n}"\n'
    for n in range(4)
)
LINK = '[[link]]\nfrom = "i.org"\nto = "i.org"\nbandwidth = 100\nlatency = 0\n'
ALIKE = re.sub(r"node = .*\n|(?<=speed = 40)[1-9]", lambda found: "0" if found[0].isdigit() else "", NAMED)
ASKED = ("--select", "grid.toml", "--application", "jacobi", "--size", "1000")


@pytest.fixture
def grid(tmp_path, address, monkeypatch):
    """Write grid.toml and job.sh; the fake domain is called intrepid."""
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    monkeypatch.setenv("COSCHED_DOMAINS", f"intrepid={address}")
    monkeypatch.delenv("COSCHED_SERVER")
    return lambda text: (tmp_path / "grid.toml").write_text(text)


@pytest.fixture
def sent(cosched, domain):
    def run(*options):
        told = cosched("submit", *ASKED, *options, "job.sh", "one", "two")
        [request] = [request for request in domain.requests if isinstance(request, SubmitJobRequest)]
        return told, request

    return run


def test_a_job_on_one_domain_gets_the_machines_by_name_and_its_map(grid, sent):
    grid(NAMED + LINK)
    told, request = sent()
    assert re.match(
        r"jacobi, size 1,000: [\d.]+ ms for an iteration on 4 machines, ranked by computation\n", told.stderr
    )
    assert request.nodes == 4
    assert dict(request.columns) == {"nodelist": "n3,n2,n1,n0"}
    assert list(request.arguments) == ["one", "two"]
    variables = {key: text for key, text in request.environment.items() if key.startswith("MAP_")}
    shares = [int(share) for share in variables.pop("MAP_SHARES").split(":")]
    assert (sum(shares), len(shares)) == (1000, 4)
    assert variables == {
        "MAP_MACHINES": "n3.i.org:n2.i.org:n1.i.org:n0.i.org",
        "MAP_BEFORE": "0",
        "MAP_SIZE": "1000",
    }


def test_machines_that_are_alike_need_no_names(grid, sent):
    grid(ALIKE + LINK)
    _, request = sent("--export", "NONE", "--group", "unneeded")
    assert (request.nodes, dict(request.columns)) == (4, {})
    assert request.environment.keys() == {f"MAP_{name}" for name in ("MACHINES", "SHARES", "BEFORE", "SIZE")}
    assert not request.HasField("group")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            NAMED.replace('domain = "intrepid"\n', ""),
            "grid.toml:machine.'n3.i.org'.domain: missing: --select must know",
        ),
        (
            re.sub("node = .*\n", "", NAMED) + LINK,
            "grid.toml:machine.'n3.i.org'.node: missing: machines of intrepid differ, so the job must have those",
        ),
        (NAMED.replace("memory = 100", "memory = 1"), "grid.toml: no schedule for jacobi, size 1,000, on 4 machines"),
        (NAMED.replace("intrepid", "mira"), "mira: "),
    ],
)
def test_what_cannot_be_submitted_is_told_in_one_line(grid, cosched, domain, text, reason):
    grid(text)
    told = cosched("submit", *ASKED, "job.sh", exit_code=2)
    assert told.stderr.splitlines()[-1].startswith(f"cosched: {reason}")
    assert not [request for request in domain.requests if isinstance(request, SubmitJobRequest)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--application", "jacobi", "job.sh"], "--application needs --select FILE"),
        (["--select", "grid.toml", "--size", "3", "job.sh"], "--select needs --application"),
        ([*ASKED, "-N", "3", "job.sh"], "it excludes --nodes"),
        ([*ASKED, "--pair", "p", "job.sh"], "it excludes --pair"),
        ([*ASKED, "--to", "a:job.sh", "--to", "b:job.sh", "--group", "g"], "it excludes --to"),
        ([*ASKED, "--server", "unix:a", "job.sh"], "it excludes --server"),
        ([*ASKED, "-"], "--select needs a file as SCRIPT"),
        ([*ASKED], "Missing argument 'SCRIPT'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(grid, cosched, options, reason):
    grid(NAMED)
    assert reason in cosched("submit", *options, exit_code=2).stderr
