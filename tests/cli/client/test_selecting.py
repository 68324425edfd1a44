"""`cosched submit --select`: what is sent for machines that were chosen, and what is refused."""

import re
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from cosched.cli.client import proposing, reselecting
from cosched.cli.client.batch_command import NotTaken
from cosched.cli.client.proposing import Answer, Terms, submit_best
from cosched.cli.client.reselecting import time_now, were_dropped
from cosched.cli.output.failures import Failure
from cosched.cli.selection import chosen, known
from cosched.client import ClientError
from cosched.planning.problem import problem_of
from cosched.v1.domain_pb2 import SubmitJobRequest
from cosched.words.errors import InputError

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
    assert variables == {"MAP_MACHINES": "n3.i.org:n2.i.org:n1.i.org:n0.i.org", "MAP_BEFORE": "0", "MAP_SIZE": "1000"}


def test_machines_that_are_alike_need_no_names(grid, sent):
    grid(ALIKE + LINK)
    _, request = sent("--export", "NONE", "--group", "unneeded")
    assert (request.nodes, dict(request.columns)) == (4, {})
    assert request.environment.keys() == {f"MAP_{name}" for name in ("MACHINES", "SHARES", "BEFORE", "SIZE")}
    assert not request.HasField("group")


# Proposals (docs/select.md)


@pytest.fixture
def proposed(tmp_path, monkeypatch, capsys):
    """Choose for Jacobi among 3 machines of a, 400 MHz, and 3 of b, 500 MHz: the jobs, all proposals, what was said."""

    def choose(answer, *, named: bool = True, strategy: str = "dynamic", submit=lambda jobs: "1" * len(jobs), **terms):
        machines = "".join(
            f'[[machine]]\nname = "n{n}.{domain}"\nspeed = {speed}\nmemory = 100\ndomain = "{domain}"\n'
            + (f'node = "n{n}"\n' if named else "")
            for domain, speed in (("a", 400), ("b", 500))
            for n in range(3)
        )
        links = "".join(
            f'[[link]]\nfrom = "{one}"\nto = "{to}"\nbandwidth = 1000\nlatency = 0\n' for one, to in ("aa", "bb", "ab")
        )
        (tmp_path / "two.toml").write_text(machines + links)
        asked: list[dict[str, int]] = []

        def answer_of(part, time_limit):
            assert time_limit == terms.get("time_limit")
            return Answer(answer(part.domain, part.nodes), part.nodelist is not None)

        def answers(jobs, given):
            asked.append({job.domain: job.nodes for job in jobs})
            return ask(jobs, given)

        ask = proposing._answers
        monkeypatch.setattr(proposing, "_asked", answer_of)
        monkeypatch.setattr(proposing, "_answers", answers)
        found = known(str(tmp_path / "two.toml"), problem_of("jacobi", 1000), strategy)
        try:
            taken = []
            submit_best(found, Terms(**terms), lambda jobs: (taken.append(jobs), submit(jobs))[1])
        finally:
            monkeypatch.setattr(proposing, "_answers", ask)
        said = capsys.readouterr().err.splitlines(keepends=True)
        untitled = "".join(line for line in said if not line.startswith("jacobi, "))
        return {job.domain: job.nodes for job in taken[-1]}, asked, untitled

    return choose


def test_what_all_start_now_is_taken_at_once(proposed):
    jobs, asked, said = proposed(lambda *_: 0.0, time_limit=60)
    assert jobs == {"a": 3, "b": 3}
    assert asked == [jobs]
    assert said == ""


def test_a_refusal_leaves_the_machines_out_that_were_named(proposed):
    """b refuses all three; then only a is left."""
    jobs, asked, said = proposed(lambda domain, *_: 0.0 if domain == "a" else 90.0)
    assert jobs == {"a": 3}
    assert asked == [{"a": 3, "b": 3}, {"a": 3}]
    assert said == "b cannot start 3 nodes now: in 90 s\n"


def test_of_nodes_without_names_one_fewer_is_proposed(proposed):
    """Two nodes of b are free."""
    jobs, asked, _ = proposed(lambda domain, nodes: 60.0 * (domain == "b" and nodes > 2), named=False)
    assert jobs == {"a": 3, "b": 2}
    assert asked == [{"a": 3, "b": 3}, jobs]


def test_a_domain_that_does_not_answer_refuses(proposed):
    def answer(domain, *_):
        if domain == "b":
            raise RuntimeError("b cannot be reached")
        return 0.0

    jobs, _, said = proposed(answer)
    assert jobs == {"a": 3}
    assert said == "b cannot start 3 nodes now: b cannot be reached\n"


@pytest.mark.parametrize(("most", "proposals"), [(1, 1), (2, 2), (5, 3)])
def test_if_nobody_starts_it_now_the_first_choice_is_queued(proposed, most, proposals):
    """Of nodes without names, all, two and one of each domain are proposed; then nothing is left."""
    jobs, asked, said = proposed(lambda *_: 60.0, named=False, most=most)
    assert asked == [{"a": number, "b": number} for number in (3, 2, 1)][:proposals]
    assert jobs == asked[0]
    assert said.endswith("no other choice can start now: the first one is queued\n")


def test_only_the_dynamic_strategy_must_start_now(proposed):
    jobs, asked, _ = proposed(lambda *_: 60.0, strategy="static")
    assert (jobs, asked) == ({"a": 3, "b": 3}, [])


@pytest.mark.parametrize(("iterations", "chosen"), [(1, {"a": 3}), (10**6, {"a": 3, "b": 3})])
def test_with_iterations_the_wait_counts_too(proposed, iterations, chosen):
    """Page: "compare T_start + iterations x predicted time, not the predicted time alone". b waits for an hour."""
    jobs, asked, said = proposed(lambda domain, *_: 3600.0 * (domain == "b"), iterations=iterations)
    assert jobs == chosen
    assert asked == [{"a": 3, "b": 3}, {"b": 3}, {"a": 3}]  # the fastest first
    start = "in 60.0 min" if "b" in chosen else "now"
    assert said.startswith(f"of 3 choices, one that starts {start} is done first: in ")


def test_what_cannot_be_foreseen_is_not_compared(proposed):
    jobs, _, said = proposed(lambda domain, *_: 5.0 if domain == "a" else "nobody can say when", iterations=3)
    assert jobs == {"a": 3}
    assert said.count("b cannot start jacobi, size 1,000: ") == 2
    assert said.splitlines()[-1].startswith("of 1 choice, one that starts in 5 s is done first: in 5.1 s")
    with pytest.raises(InputError, match="none of 3 choices can be started"):
        proposed(lambda *_: "nobody can say when", iterations=3)
    assert proposed(lambda *_: 5.0, iterations=3, most=1)[1] == [{"a": 3, "b": 3}]


def unwilling(domain, line="sbatch: Invalid node name specified"):
    """Whose batch system takes no job: a node has gone, say."""

    def submit(jobs):
        if any(job.domain == domain for job in jobs):
            raise NotTaken(domain, line)
        return ["1"] * len(jobs)

    return submit


def test_what_a_batch_system_does_not_take_is_left_out_of_the_next_choice(proposed):
    """b would start it, but its sbatch refuses the nodes; by any strategy the next choice follows."""
    jobs, asked, said = proposed(lambda *_: 0.0, submit=unwilling("b"))
    assert (jobs, asked) == ({"a": 3}, [{"a": 3, "b": 3}, {"a": 3}])
    assert said == "sbatch: Invalid node name specified\n"
    assert proposed(lambda *_: 0.0, submit=unwilling("b"), strategy="static")[:2] == ({"a": 3}, [])
    assert proposed(lambda *_: 0.0, submit=unwilling("b"), iterations=10**6)[0] == {"a": 3}


def test_if_nobody_takes_it_nothing_is_submitted_and_what_was_refused_is_not_queued(proposed, capsys):
    with pytest.raises(Failure, match="nothing was submitted: no choice was taken"):
        proposed(lambda *_: 0.0, submit=lambda jobs: unwilling(jobs[0].domain, "no")(jobs))
    assert capsys.readouterr().err.count("no\n") == 2  # both domains, then b alone
    with pytest.raises(Failure, match="nothing was submitted: no choice was taken"):
        proposed(lambda *_: 0.0, submit=unwilling("b"), most=1)

    def only_both(jobs):
        return ["1", "2"] if len(jobs) == 2 else unwilling("a")(jobs)

    jobs, asked, said = proposed(lambda domain, *_: 60.0 * (domain == "b"), submit=only_both, most=2)
    assert asked == [{"a": 3, "b": 3}, {"a": 3}]
    assert jobs == asked[0]
    assert said.endswith("no other choice can start now: the first one is queued\n")


# Choosing anew (docs/select.md)


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Two jobs on two domains that wait; what is known of their machines; which cancellations these domains get."""
    (tmp_path / "grid.toml").write_text(NAMED + LINK)
    monkeypatch.setattr(reselecting, "PAUSE", 0.0)
    told: list[tuple] = []
    states = {"a": "queued", "b": "queued"}

    class Domain:
        def __init__(self, name: str) -> None:
            self.name = name

        def job(self, _):
            return SimpleNamespace(state=states[self.name])

        def cancel(self, job, *, unless_started):
            told.append((self.name, job, unless_started))
            if unless_started and states[self.name] == "starting":
                raise ClientError("JOB_STATE", "it runs")

    monkeypatch.setattr(reselecting, "connected_to", lambda domain: nullcontext(Domain(domain)))
    before = known(str(tmp_path / "grid.toml"), problem_of("jacobi", 1000), "static")
    jobs = [("a", "1"), ("b", "2")]
    return SimpleNamespace(jobs=jobs, states=states, told=told, before=before, choice=chosen(before, sites="domain"))


def changed(before, **machine):
    machines = [replace(each, **machine) if each.name == "n3.i.org" else each for each in before.grid.machines]
    return replace(before, grid=before.grid.among(machines))


def test_jobs_of_a_group_are_dropped_if_one_machine_has_become_slow(watched, capsys):
    """Page: "predicted more than `reselect` (1.25) x the promise: drop"; the first is asked not to if it runs."""
    answers = iter([watched.before, changed(watched.before, cpu=1 / 1.2), changed(watched.before, cpu=1 / 1.3)])
    assert were_dropped(watched.jobs, watched.choice, 1.25, lambda: next(answers))
    assert watched.told == [("a", "1", True), ("b", "2", False)]
    assert capsys.readouterr().err == "a:1 and b:2 were dropped: it would take 1.28 times as long\n"


def test_nothing_is_dropped_after_the_start(watched):
    """Page: "Never after the start"."""
    watched.states["b"] = "running"
    assert not were_dropped(watched.jobs, watched.choice, 1.25, lambda: changed(watched.before, cpu=0.1))
    watched.states |= {"a": "starting", "b": "queued"}
    assert not were_dropped(watched.jobs, watched.choice, 1.25, lambda: changed(watched.before, cpu=0.1))
    assert watched.told == [("a", "1", True)]


def test_a_machine_that_others_have_counts_as_it_did_and_one_that_is_lost_cannot_run_it(watched, capsys):
    promised = watched.choice.choice.schedule.prediction.time
    assert time_now(watched.choice, changed(watched.before, cpu=0.0)) == promised
    gone = replace(watched.before, grid=watched.before.grid.among(watched.before.grid.machines[:3]))
    assert were_dropped(watched.jobs, watched.choice, 1.25, lambda: gone)
    assert capsys.readouterr().err.endswith("it cannot run on these machines any more\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NAMED.replace('domain = "intrepid"\n', ""), "grid.toml:machine.'n3.i.org'.domain: missing: --select must"),
        (re.sub("node = .*\n", "", NAMED) + LINK, "grid.toml:machine.'n3.i.org'.node: missing: machines of intrepid d"),
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
        (["--application", "jacobi", "job.sh"], "--application needs --size"),
        (["--size", "3", "job.sh"], "--size needs --application"),
        (["--application", "jacobi", "--size", "3", "-w", "n1", "job.sh"], "chooses nodes for --application"),
        (["--application", "jacobi", "--size", "3", "--strategy", "user", "job.sh"], "--strategy needs --select FILE"),
        (["--select", "grid.toml", "--size", "3", "job.sh"], "--select needs --application"),
        ([*ASKED, "-N", "3", "job.sh"], "it excludes --nodes"),
        (["--max-proposals", "3", "job.sh"], "--max-proposals needs --select FILE"),
        ([*ASKED, "--to", "a:job.sh", "--to", "b:job.sh", "--group", "g"], "it excludes --to"),
        ([*ASKED, "--server", "unix:a", "job.sh"], "it excludes --server"),
        ([*ASKED, "-"], "--select needs a file as SCRIPT"),
        ([*ASKED], "Missing argument 'SCRIPT'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(grid, cosched, options, reason):
    grid(NAMED)
    assert reason in cosched("submit", *options, exit_code=2).stderr
