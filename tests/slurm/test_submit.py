"""`cosched submit` where Slurm schedules: a real sbatch, and a stand-in for the domain's service."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from cosched.service.wire.errors import Refusal
from cosched.v1 import coscheduling_pb2, job_pb2
from cosched.v1.domain_pb2 import GetJobRequest, SubmitJobRequest
from cosched_adapters.slurm.commands import details, each_row
from cosched_adapters.slurm.comments import ARRAY, HET, NO_REQUEUE
from deploy.slurm.lab import Cluster, Lab
from deploy.slurm.lab.installed_hooks import SOURCES
from tests.client.conftest import address, running
from tests.client.fake_domain import FakeDomain, Running

__all__ = ["address", "running"]
PAIR = "--pair", "run7", "--hold"
pytestmark = pytest.mark.usefixtures("domain")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Lab(names=("intrepid",), nodes=2, cpus=50) as lab:
        lab.directory.chmod(0o755)
        yield lab["intrepid"]


@pytest.fixture
def domain(running: Running, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> FakeDomain:
    """The cluster's, with one peer; commands here are for the cluster."""
    for name in set(os.environ) - set(cluster.environment):
        monkeypatch.delenv(name)
    monkeypatch.setenv("COSCHED_SERVER", running.address)
    monkeypatch.setenv("SLURM_CONF", str(cluster.conf))
    running.domain.domain.manager = "slurm"
    running.domain.domain.peers.add(name="eureka")
    return running.domain


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Write job.sh, with these lines after the first."""

    def write(*lines: str) -> str:
        (tmp_path / "job.sh").write_text("\n".join(["#!/bin/sh", *lines, "true", ""]))
        return "job.sh"

    return write


@pytest.fixture
def submitted(cosched: Any, cluster: Cluster) -> Callable[..., dict[str, str]]:
    """Submit so; what Slurm shows of the job, its comment as it is."""

    def run(*arguments: str, **options: Any) -> dict[str, str]:
        job = cosched("submit", "--parsable", *arguments, **options).stdout.strip()
        return cluster.job(int(job)) | {"Comment": comment_of(cluster, job)}

    return run


@pytest.fixture
def unsubmitted(refused: Any, cluster: Cluster) -> Iterator[Callable[..., str]]:
    """Submit so, in vain; the one line said."""
    before = cluster.squeue("-h", "-o", "%i").split()
    yield refused
    assert set(cluster.squeue("-h", "-o", "%i").split()) <= set(before)  # earlier ones may end meanwhile


@pytest.fixture
def refused(cosched: Any) -> Callable[..., str]:
    def run(*arguments: str, exit_code: int = 2, **options: Any) -> str:
        result = cosched("submit", *arguments, exit_code=exit_code, **options)
        assert (result.stdout, result.stderr.count("\n")) == ("", 1)
        return str(result.stderr).removeprefix("cosched: ").rstrip("\n")

    return run


def comment_of(cluster: Cluster, job: str) -> str:
    printed = cluster.run(*details([job])).encode()
    return next(each_row(printed, comments=True)).comment or ""


def following(cluster: Cluster) -> str:
    """The id that the next job will have."""
    job = cluster.sbatch("true", "--hold")
    cluster.scancel(job)
    return str(job + 1)


def test_the_pair_is_a_word_of_the_comment(submitted: Any, script: Any, domain: FakeDomain) -> None:
    assert submitted(*PAIR, script())["Comment"] == "cosched:pair=run7"
    assert submitted("--hold", "--mate", "eureka:12", script())["Comment"] == "cosched:mate=eureka/12"
    alone = submitted(*PAIR, "--or-alone", "--comment=mine", script())["Comment"]
    assert alone == "mine cosched:pair=run7 cosched:or-alone"
    own = script("#COSCHED --mate=eureka:12 --or-alone --hold")
    assert submitted(own)["Comment"] == "cosched:mate=eureka/12 cosched:or-alone"
    assert not [request for request in domain.requests if isinstance(request, SubmitJobRequest)]


def test_a_job_that_may_be_adopted_says_so_in_its_comment(submitted: Any, script: Any) -> None:
    assert submitted("--hold", "--adoptable", "--comment=mine", script())["Comment"] == "mine cosched:adoptable"
    assert submitted("--hold", script("#COSCHED --adoptable"))["Comment"] == "cosched:adoptable"


def test_a_job_that_names_a_mate_or_cannot_have_one_is_not_adoptable(unsubmitted: Any, script: Any) -> None:
    own = script("#SBATCH --comment=cosched:pair=x")
    assert unsubmitted("--adoptable", own).startswith("job.sh: the comment names a mate, and cosched:adoptable is for")
    assert unsubmitted("--adoptable", script("#SBATCH --array=1-2")) == f"job.sh: {ARRAY}"


def test_the_user_s_own_comment_is_kept(submitted: Any, script: Any) -> None:
    assert submitted(*PAIR, "--comment", "a; $b 'é", script())["Comment"] == "a; $b 'é cosched:pair=run7"
    own = script("#SBATCH --comment='of the script # one'", "#COSCHED --pair=x --hold")
    assert submitted(own)["Comment"] == "of the script # one cosched:pair=x"
    assert submitted("--comment=flag", own)["Comment"] == "flag cosched:pair=x"
    assert submitted("--hold", "--comment=alone", script())["Comment"] == "alone"


def test_a_mate_in_the_script_s_own_comment_counts(submitted: Any, script: Any, domain: FakeDomain) -> None:
    own = script("#SBATCH --comment='words cosched:pair=run7'")
    assert submitted("--hold", own)["Comment"] == submitted(*PAIR, own)["Comment"] == "words cosched:pair=run7"
    assert len([request for request in domain.requests if isinstance(request, GetJobRequest)]) == 2


def test_options_become_those_of_sbatch(submitted: Any, script: Any, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "job.sh").write_text("#!/bin/sh\n#SBATCH -J another\n")
    shape = "-N", "2", "-t", "1-02:03:00", "-J", "flow", "--hold", "-D", "sub"
    job = submitted(*shape, script("#SBATCH -N1 -t 5 -J theirs"), "--verbose", "a")
    assert (job["NumNodes"], job["TimeLimit"], job["JobName"]) == ("2-2", "1-02:03:00", "flow")
    assert (job["WorkDir"], job["Reason"]) == (str(tmp_path / "sub"), "JobHeldUser")


def test_what_is_not_given_is_left_to_the_script(submitted: Any, script: Any) -> None:
    job = submitted(script("#SBATCH -N2 -t 5 -J theirs -D / --hold"))
    assert (job["NumNodes"], job["TimeLimit"], job["JobName"], job["WorkDir"]) == ("2-2", "00:05:00", "theirs", "/")
    assert submitted("--hold", script())["JobName"] == "job.sh"


def test_arguments_and_variables_reach_the_job(
    submitted: Any, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "blue")
    text = '#!/bin/sh\necho "$COLOUR,$SHADE,$1"\n'
    place = "-D", str(cluster.jobs)
    for export, printed in ((), "blue,,a b"), (("--export", "SHADE=dark"), ",dark,a b"):
        job = submitted(*place, *export, "-", "a b", input=text)
        cluster.wait_for_state(int(job["JobId"]), "COMPLETED")
        assert cluster.wait_for(Path(job["StdOut"]).read_text, "its output") == f"{printed}\n"


def test_a_script_from_standard_input_without_arguments(submitted: Any) -> None:
    job = submitted("-", input="#!/bin/sh\n#SBATCH --comment=x --hold\n#COSCHED --pair=p\ntrue\n")
    assert (job["JobName"], job["Comment"]) == ("sbatch", "x cosched:pair=p")


@pytest.mark.parametrize("flags", [("--hold",), PAIR])
def test_the_id_is_told_and_nothing_of_a_job_that_the_domain_does_not_know(
    cosched: Any, cluster: Cluster, script: Any, flags: tuple[str, ...]
) -> None:
    job = following(cluster)
    result = cosched("submit", *flags, script())
    assert (result.stdout, result.stderr) == (f"Submitted job {job} to intrepid\n", "")


def test_what_is_known_of_the_mate_is_told(cosched: Any, cluster: Cluster, domain: FakeDomain, script: Any) -> None:
    known = domain.add()
    mate = known.mates.add(lookup=coscheduling_pb2.MATE_LOOKUP_UNSUBMITTED)
    mate.name.pair.domain = "eureka"
    job = following(cluster)
    known.ref.job_id, domain.jobs[job] = job, known
    result = cosched("submit", *PAIR, script())
    assert result.stdout == f"Submitted job {job} to intrepid\n"
    assert result.stderr == "its mate is not submitted yet to eureka\n"


class Closed(dict[str, job_pb2.Job]):
    """Jobs that nobody may see."""

    def __contains__(self, job: object) -> bool:
        raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "NOT_OWNER", f"job {job} is not yours")


def test_a_question_that_fails_after_sbatch_costs_nothing(
    cosched: Any, cluster: Cluster, domain: FakeDomain, script: Any
) -> None:
    domain.jobs = Closed()
    job = following(cluster)
    result = cosched("submit", *PAIR, script())
    assert (result.stdout, result.stderr) == (f"Submitted job {job} to intrepid\n", f"job {job} is not yours\n")


@pytest.mark.parametrize(
    ("line", "comment", "reason"),
    [
        ("#SBATCH --array=1-2", "cosched:mate=eureka/5", ARRAY),
        ("#SBATCH hetjob\n#SBATCH --comment=cosched:pair=y", "cosched:pair=x", HET),
        ("#SBATCH hetjob\n#SBATCH --comment=cosched:pair=x", "words", HET),
    ],
)
def test_jobs_that_cannot_have_a_mate_are_refused_one(
    unsubmitted: Any, script: Any, line: str, comment: str, reason: str
) -> None:
    assert unsubmitted(script(f"#SBATCH --comment={comment}", line)) == f"job.sh: {reason}"


def test_an_array_may_name_a_pair(submitted: Any, script: Any) -> None:
    job = submitted("--hold", *PAIR, script("#SBATCH --array=1-2"))
    assert (job["ArrayTaskId"], job["Comment"]) == ("1-2", "cosched:pair=run7")


def test_a_heterogeneous_job_may_name_a_pair(submitted: Any, script: Any) -> None:
    job = submitted("--hold", *PAIR, script("#SBATCH hetjob"))
    assert (job.keys() >= {"HetJobId"}, job["Comment"]) == (True, "cosched:pair=run7")


def test_arrays_and_heterogeneous_jobs_without_a_mate_are_submitted(submitted: Any, script: Any) -> None:
    assert submitted("--hold", script("#SBATCH --array=1-2"))["ArrayTaskId"] == "1-2"
    assert submitted("--hold", script("#SBATCH hetjob")).keys() >= {"HetJobId"}


def test_a_job_that_must_not_be_requeued_can_only_hold(cosched: Any, script: Any) -> None:
    once = script("#SBATCH --no-requeue")
    assert cosched("submit", *PAIR, once).stderr == f"{NO_REQUEUE}\n"
    assert cosched("submit", "--hold", once).stderr == ""


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (("--mate", "eur eka:3"), "--mate: the mate cannot be written in a comment as cosched:mate=DOMAIN/ID, "),
        (
            ("--pair", "x", "--comment", "cosched:pair=y"),
            "--comment: the comment already has a word that begins with cosched:",
        ),
        (("--comment", "cosched:x"), "--comment: the comment has a word that begins with cosched: and is not "),
        (("--pair", "x", "--comment", 1024 * "x"), "--comment: the comment is too long: Slurm takes 1024 bytes"),
        (("--pair", "x", "--pair-domain", "kraken"), "--pair-domain: intrepid is not coupled with 'kraken'"),
    ],
)
def test_mates_that_no_comment_can_carry(unsubmitted: Any, script: Any, flags: tuple[str, ...], line: str) -> None:
    assert unsubmitted(*flags, script()).startswith(line)


@pytest.mark.parametrize(
    ("flags", "line"), [(("--least", "1"), ""), ((), "#COSCHED --least=1"), (("--column", "least=1"), "")]
)
def test_what_only_a_scheduler_of_ours_reads_is_refused(
    unsubmitted: Any, domain: FakeDomain, script: Any, flags: tuple[str, ...], line: str
) -> None:
    said = f"--least: nothing reads this of jobs of {domain.domain.name}, since slurm schedules them"
    assert unsubmitted("--nodes", "2", *flags, script(line)) == said


def test_two_mates_of_one_script_are_refused(unsubmitted: Any, script: Any) -> None:
    own = script("#SBATCH --comment=cosched:pair=y")
    assert unsubmitted("--pair", "x", own).startswith(
        "job.sh: the comment already has a word that begins with cosched:"
    )


def test_a_pair_among_several_peers_names_its_domain(
    refused: Any, submitted: Any, script: Any, domain: FakeDomain
) -> None:
    assert submitted(*PAIR, "--pair-domain", "eureka", script())["Comment"] == "cosched:pair=run7"
    domain.domain.peers.add(name="kraken")
    line = refused(*PAIR, script())
    assert line == "--pair: intrepid is coupled with eureka, kraken; name one by --pair-domain"
    domain.domain.default_peer = "kraken"
    assert submitted(*PAIR, script())["Comment"] == "cosched:group=run7@kraken"
    for flags in (*PAIR, "--pair-domain", "eureka"), ("--group", "run7", "--with", "eureka", "--hold"):
        assert submitted(*flags, script())["Comment"] == "cosched:group=run7@eureka"
    group = "--group", "run7", "--with"
    assert submitted(*group, "kraken,eureka", script())["Comment"] == "cosched:group=run7@eureka+kraken"
    line = refused(*group, "eureka,mira", script())
    assert line == "--with: intrepid is not coupled with 'mira' (only with eureka, kraken)"
    line = refused(*group, "eureka:17,kraken", script())
    assert line == "--with: beside slurm a group is named by the domains of its members, without ids"
    line = refused(*group, "eureka,kraken", "--comment=cosched:pair=x", script())
    assert line == "--comment: the comment already has a word that begins with cosched:"


def test_what_sbatch_refuses_is_said_in_its_own_words(unsubmitted: Any, script: Any) -> None:
    line = unsubmitted(*PAIR, script("#SBATCH -p none"), exit_code=1)
    assert line.startswith("sbatch: invalid partition specified: none; Batch job submission failed: Invalid partition")
    assert unsubmitted(script("#SBATCH --nonsense"), exit_code=1).startswith("sbatch: unrecognized option '--nonsense'")
    assert unsubmitted("-J", "a", script("#SBATCH --test-only"), exit_code=1).startswith("sbatch: Job ")


def test_a_host_without_sbatch(unsubmitted: Any, script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setenv("PATH", "/nowhere")
        line = unsubmitted(script(), exit_code=1)
    assert line == "sbatch is not found in PATH; jobs of this domain are submitted with it"


def test_nothing_is_submitted_when_the_service_is_not_reachable(
    unsubmitted: Any, script: Any, domain: FakeDomain
) -> None:
    domain.failures.extend(100 * [grpc.StatusCode.UNAVAILABLE])  # however often it is asked
    assert "cannot be reached" in unsubmitted(*PAIR, script(), exit_code=3)


def test_what_a_site_s_plugin_says_is_passed_on_once(
    cosched: Any, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lab(names=("intrepid",), nodes=1, job_submit=SOURCES / "job_submit.lua") as lab:
        monkeypatch.setenv("SLURM_CONF", str(lab["intrepid"].conf))
        result = cosched("submit", *PAIR, script("#SBATCH --no-requeue"))
        assert (result.stdout, result.stderr) == ("Submitted job 1 to intrepid\n", f"sbatch: {NO_REQUEUE}\n")
        result = cosched("submit", "--comment=a,cosched:pair=x", script(), exit_code=1)
        assert result.stderr.startswith("cosched: sbatch: comment: not of the form cosched:mate=DOMAIN/JOBID")


def test_a_job_starts_on_the_nodes_that_its_user_names(submitted: Any, script: Any, cluster: Cluster) -> None:
    second = cluster.nodes[1]
    job = submitted("-w", second, script("#SBATCH -t 5", "sleep 60"))
    assert (job["ReqNodeList"], job["NumNodes"].split("-")[0]) == (second, "1")
    cluster.wait_for(lambda: cluster.job(int(job["JobId"]))["JobState"] == "RUNNING", "its start")
    assert cluster.job(int(job["JobId"]))["NodeList"] == second
    cluster.scancel(int(job["JobId"]))
    assert submitted("--hold", script(f"#COSCHED --nodelist={second}"))["ReqNodeList"] == second
