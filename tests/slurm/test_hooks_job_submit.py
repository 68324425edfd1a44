"""job_submit.lua in a real Slurm: what users are told about their comments at submission."""

from collections.abc import Iterator

import pytest

from cosched.validation.pair_names import ALLOWED
from cosched_adapters.slurm.comments import ARRAY, HET, NO_REQUEUE
from deploy.slurm.lab import Cluster, Lab
from deploy.slurm.lab.installed_hooks import SOURCES

SCRIPT = "#!/bin/sh\ntrue\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Lab(names=("intrepid",), nodes=1, cpus=50, job_submit=SOURCES / "job_submit.lua") as lab:
        yield lab["intrepid"]


def submit(cluster: Cluster, *options: str, command: str = "sbatch", script: str = SCRIPT) -> tuple[bool, list[str]]:
    """Whether the submission is accepted, and the lines that the user is told about it."""
    kind = ("--hold",) if command == "sbatch" else ()  # nothing of it need run
    program = ("true",) if command == "srun" else ()
    done = cluster.try_run(command, *kind, *options, *program, text=script)
    said = (line.partition(": ")[2] for line in done.stderr.splitlines())
    return done.returncode == 0, [line for line in said if "mate" in line or "cosched" in line]


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "nothing of ours",
        "pair=x",
        "cosched",
        "cosched:pair=night",
        "cosched:mate=eureka/1234",
        "cosched:group=night/run@eureka",
        "cosched:group=17@eureka",
        "cosched:or-alone cosched:group=a@b@eureka+mira-2+polaris",
        "cosched:group=a@eureka cosched:window=eureka:0..10m cosched:at=2026-11-23T18:00",
        "cosched:at=2026-11-23T18:00:05+01:00 cosched:group=a@b cosched:window=a.2:-90..+90 cosched:window=b:1h",
        "cosched:mate=eureka.site-2/job_1[7]",
        "project=a cosched:pair=night/run,2 other words",
        "cosched:pair=night cosched:or-alone",
        "mine cosched:adoptable",
        "a cosched:or-alone b cosched:mate=eureka/1234",
        f"cosched:pair={128 * 'x'}",
        f"cosched:mate=eureka/{128 * '→'}",
    ],
)
def test_a_good_comment_and_that_of_others_is_accepted_silently(cluster: Cluster, comment: str) -> None:
    assert submit(cluster, f"--comment={comment}") == (True, [])


@pytest.mark.parametrize(
    "comment",
    [
        "cosched:", "cosched:pair=", "cosched:pair= x", "cosched:Pair=x", "cosched:mate=eureka", "cosched:mate=/12",
        "cosched:mate=eureka/", "cosched:mate=eu reka/1", "cosched:mate=eu%reka/1", "project=a,cosched:pair=x",
        f"cosched:pair={129 * 'x'}", "cosched:pair=→", f"cosched:mate={65 * 'x'}/1", "cosched:pair=a\x07",
        "cosched:pair=a cosched:or-alon", "cosched:pair=a cosched:or-alone,b",
    ],
)  # fmt: skip
def test_a_mistaken_comment_is_refused_in_one_line(cluster: Cluster, comment: str) -> None:
    form = "comment: not of the form cosched:mate=DOMAIN/JOBID, cosched:pair=NAME or cosched:group=NAME@DOMAIN+DOMAIN, "
    form += "a word by itself"
    form += f" (beside it cosched:or-alone); NAME is {ALLOWED}"
    accepted, said = submit(cluster, f"--comment={comment}")
    assert (accepted, [line.removeprefix("error: ") for line in said]) == (False, [form])


NO_GROUP = "cosched:window= and cosched:at= have no effect without cosched:group=NAME@DOMAIN+DOMAIN"
NO_START = "not of the form cosched:window=DOMAIN:0..10m, or cosched:at=2026-11-23T18:00"


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("cosched:at=2026-11-23T18:00", NO_GROUP),
        ("cosched:pair=a cosched:at=2026-11-23T18:00", NO_GROUP),
        ("cosched:mate=eureka/1 cosched:window=eureka:5m", NO_GROUP),
        ("cosched:group=a@eureka cosched:at=18:00", NO_START),
        ("cosched:group=a@eureka cosched:window=5m", NO_START),
        ("cosched:group=a@eureka cosched:window=eureka:soon", NO_START),
    ],
)
def test_a_start_that_cannot_be_is_refused_in_one_line(cluster: Cluster, comment: str, why: str) -> None:
    accepted, said = submit(cluster, f"--comment={comment}")
    assert (accepted, [line.removeprefix("error: ") for line in said]) == (False, [f"comment: {why}"])


@pytest.mark.parametrize(
    ("group", "why"),
    [
        ("x", "has no NAME@DOMAIN+DOMAIN"),
        ("@eureka", "has no NAME@DOMAIN+DOMAIN"),
        ("x@", "names the domains of the other members after @, with + between them"),
        ("x@eureka+", "names the domains of the other members after @, with + between them"),
        ("x@eureka,mira", "names the domains of the other members after @, with + between them"),
        ("x@eureka+mira+eureka", "names eureka twice: a group has one job on each domain"),
        ("17@eureka+mira", "has a name that ends in a number alone"),
        ("x@" + "+".join(f"d{n}" for n in range(16)), "names too many domains: a group has at most 16 members"),
    ],
)
def test_a_group_that_cannot_be_is_refused_in_one_line(cluster: Cluster, group: str, why: str) -> None:
    accepted, said = submit(cluster, f"--comment=cosched:group={group}")
    assert not accepted
    assert len(said) == 1
    assert said[0].removeprefix("error: ").startswith(f"comment: cosched:group= {why}")


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("cosched:pair=x cosched:mate=eureka/1", "a job has one mate"),
        ("cosched:adoptable cosched:pair=x", "cosched:adoptable is for a job that names nobody: leave it out, or "),
        ("words cosched:or-alone", "cosched:or-alone has no effect without a mate"),
    ],
)
def test_words_that_exclude_each_other_are_refused_with_the_reason(cluster: Cluster, comment: str, why: str) -> None:
    accepted, said = submit(cluster, f"--comment={comment}")
    assert not accepted
    assert why in said[0]


def test_arrays_with_one_mate_and_components_with_different_ones_are_refused_with_the_reason(cluster: Cluster) -> None:
    pair = "--comment=cosched:pair=x"
    assert submit(cluster, pair, "--array=1-2") == (True, [])
    accepted, said = submit(cluster, "--comment=cosched:mate=eureka/5", "--array=1-2")
    assert not accepted
    assert said[0].endswith(f"comment: {ARRAY}")
    for first, second in (("x", "x"), ("x", ""), ("x", "y"), ("", "x")):
        lines = [f"#SBATCH --comment='words {word and f'cosched:pair={word}'}'" for word in (first, second)]
        accepted, said = submit(cluster, script=f"#!/bin/sh\n{lines[0]}\n#SBATCH hetjob\n{lines[1]}\ntrue\n")
        assert accepted == (second in ("", first)), said
        assert accepted or said[0].endswith(f"comment: {HET}")
    assert submit(cluster, "--array=1-2", "--comment=words") == (True, [])
    assert submit(cluster, "-n1", ":", "-n1") == (True, [])


def test_jobs_that_can_only_hold_are_accepted_and_their_users_told(cluster: Cluster) -> None:
    pair = "--comment=cosched:pair=x"
    assert submit(cluster, pair, "--no-requeue") == (True, [NO_REQUEUE])
    told = NO_REQUEUE.replace("--no-requeue", "salloc and srun")
    assert submit(cluster, pair, "-n1", command="srun") == (True, [told])


def test_a_fault_of_the_script_costs_nobody_a_job(tmp_path_factory: pytest.TempPathFactory) -> None:
    broken = tmp_path_factory.mktemp("lua") / "job_submit.lua"
    text = (SOURCES / "job_submit.lua").read_text()
    broken.write_text(text.replace("local links = 0", "local links = nothing.here"))
    with Lab(names=("intrepid",), nodes=1, job_submit=broken) as lab:
        cluster = lab["intrepid"]
        assert submit(cluster, "--comment=cosched:pair=x") == (True, [])
        assert "cosched: job_submit.lua: " in cluster.controller_log.read_text()
