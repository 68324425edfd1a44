"""The hook in a double of PBS's Python: what it tells users, what it asks the service, and what it does without one."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from cosched_adapters import root_hooks
from cosched_adapters.pbs.hook_server import Asked, HookServer
from tests.adapters.pbs.hook_events import Hook, Job, Resources

PAIR, MATE = {"pair": "flow"}, {"mate": "eureka:17"}
GROUP = {"group": "run7@eureka+polaris"}
ARRAY, IN_RESERVATION = {"array_indices_submitted": "1-3"}, {"queue": "R9"}
Make = Callable[..., Hook]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes the hook, for a service at `socket` below the test's folder."""

    def make(**settings: object) -> Hook:
        usual = {"socket": str(tmp_path / "socket"), "domain": "mira", "peers": ["eureka"]}
        return Hook(tmp_path, monkeypatch, **usual | settings)

    return make


class Service:
    """What the service was asked, and its answers."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.changed: list[str] = []
        self.ended: list[str] = []
        self.hints = 0
        self.why: str | None = None
        self.keeping = True
        self.finding: dict[str, str] = {}

    def on_run(self, asked: Asked) -> str | None:
        self.asked.append(asked)
        return self.why

    def on_change(self, job: str) -> str | None:
        self.changed.append(job)
        return self.why

    def on_queued(self) -> None:
        self.hints += 1


@pytest.fixture
async def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    """A service that serves the hook; we stand for root."""
    monkeypatch.setattr(root_hooks, "_ROOT", os.geteuid())
    service = Service()
    answers = service.on_run, service.on_change, service.on_queued, service.ended.append
    server = HookServer(tmp_path / "socket", *answers, lambda: service.keeping, lambda _: service.finding)
    await server.open()
    yield service
    await server.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (PAIR, None),
        (MATE, None),
        (PAIR | {"or_alone": "1"}, None),
        ({}, None),
        ({"or_alone": "1"}, "or_alone has no effect without pair, mate or group"),
        ({"or_alone": "-1"}, None),  # PBS says what is wrong
        ({"adoptable": "1"}, None),
        (PAIR | {"adoptable": "1"}, "adoptable is for a job that names nobody"),
        (PAIR | {"adoptable": "0"}, None),
        (PAIR | MATE, "give pair or mate, not both"),
        (PAIR | MATE | GROUP, "give pair or mate or group, not all"),
        ({"pair": ""}, "pair is 1 to 128 of A-Z"),
        ({"pair": "a b"}, "pair is 1 to 128 of A-Z"),
        ({"pair": "a" * 129}, "pair is 1 to 128 of A-Z"),
        ({"mate": "eureka"}, "mate is DOMAIN:ID, such as eureka:17"),
        ({"mate": ":17"}, "mate is DOMAIN:ID"),
        ({"mate": "eureka:"}, "mate is DOMAIN:ID"),
        ({"mate": "nobody:17"}, "no domain nobody is known here (known: eureka)"),
        ({"mate": "mira:17"}, "the mate must be a job of another domain"),
        ({"mate": "eureka:17[2]"}, "a job array and its subjobs cannot be mates"),
    ],
)
def test_the_user_is_told_at_qsub_what_is_wrong_with_the_words(
    make: Make, words: dict[str, str], said: str | None
) -> None:
    why = make().run("QUEUEJOB", Job(words))
    assert why is None if said is None else str(why).startswith(f"cosched: {said}")


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("run7@eureka+polaris", None),
        ("a@b:1x@polaris+eureka", None),
        ("run7@eureka", None),
        ("7@eureka", None),  # a pair
        ("", "group is NAME@DOMAIN+DOMAIN, with the domains of the other members"),
        ("run7", "group is NAME@DOMAIN+DOMAIN"),
        ("run7@", "group is NAME@DOMAIN+DOMAIN"),
        ("run7@eureka+", "group is NAME@DOMAIN+DOMAIN"),
        ("@eureka+polaris", "the name of a group is 1 to 128 of A-Z"),
        ("a b@eureka+polaris", "the name of a group is 1 to 128 of A-Z"),
        ("7@eureka+polaris", "the name of a group that ends in a number alone is taken for a job: add a letter"),
        ("run7@eureka+eureka", "group names eureka twice: a group has one job on each domain"),
        ("run7@eureka+mira", "group names the other members' domains, and mira is this one"),
        ("run7@eureka+nobody", "no domain nobody is known here (known: eureka, polaris)"),
        ("g@" + "+".join(f"d{n}" for n in range(16)), "a group has at most 16 members, with the job itself"),
    ],
)
def test_the_user_is_told_at_qsub_what_is_wrong_with_a_group(make: Make, group: str, said: str | None) -> None:
    hook = make(peers=["eureka", "polaris"])
    why = hook.run("QUEUEJOB", Job({"group": group}))
    assert why is None if said is None else str(why).startswith(f"cosched: {said}")
    assert hook.run("QUEUEJOB", Job({"group": group}, **ARRAY)) is not None


async def test_only_root_and_the_service_can_connect_to_the_socket(service: Service, tmp_path: Path) -> None:  # noqa: ARG001
    assert stat.S_IMODE((tmp_path / "socket").stat().st_mode) == 0o600


def test_a_site_that_has_not_created_the_resources_starts_all_jobs(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Resources, "created", False)
    hook = make()
    assert hook.run("QUEUEJOB", Job()) is None
    assert hook.run("RUNJOB", Job(id="7.mira")) is None
    assert hook.run("RUNJOB", Job(PAIR, id="7.mira")) == "cosched is away"  # that has no group, but pair
    assert hook.logged == []


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        (ARRAY, "a job array cannot have a mate"),
        ({"interactive": 48377}, "an interactive job cannot have a mate"),
        ({"depend": "afterok:3"}, "a job with -W depend cannot have a mate"),
        ({"create_resv_from_job": True}, "a job that becomes a reservation cannot have a mate"),
        (IN_RESERVATION, "a job in a reservation cannot have a mate"),
        ({"queue": "R1small"}, None),  # a queue as any other
    ],
)
def test_the_user_is_told_which_jobs_cannot_have_mates(
    make: Make, attributes: dict[str, object], said: str | None
) -> None:
    hook = make()
    why = hook.run("QUEUEJOB", Job(PAIR, **attributes))
    assert why is None if said is None else str(why).startswith(f"cosched: {said}")
    assert hook.run("QUEUEJOB", Job(**attributes)) is None


def test_with_several_peers_a_pair_s_name_does_not_say_enough(make: Make) -> None:
    said = "cosched: this domain is coupled with eureka, intrepid: say which by group=flow@DOMAIN"
    assert make(peers=["eureka", "intrepid"]).run("QUEUEJOB", Job(PAIR)) == said
    assert make(peers=["eureka", "intrepid"], default_peer="eureka").run("QUEUEJOB", Job(PAIR)) is None


@pytest.mark.parametrize(
    ("before", "changes", "said"),
    [
        (Job(), Job(PAIR), None),
        (Job(PAIR), Job({"pair": "", "mate": "eureka:1"}), None),
        (Job(PAIR | {"or_alone": "1"}), Job({"pair": "", "mate": "", "or_alone": ""}), None),
        (Job(PAIR), Job(MATE), "give pair or mate, not both"),
        (Job(PAIR), Job({"pair": "a b"}), "pair is 1 to 128"),
        (Job(PAIR | {"or_alone": "1"}), Job({"pair": ""}), "or_alone has no effect"),
        (Job(), Job(GROUP), None),
        (Job(GROUP), Job({"group": ""}), None),
        (Job(GROUP), Job(GROUP), None),
        (Job(GROUP), Job({"group": "other@eureka+polaris"}), "a job names its group at submission"),
        (Job(PAIR), Job({"pair": ""} | GROUP), "a job names its group at submission"),
        (Job(GROUP), Job({"group": ""} | MATE), "a job names its group at submission"),
        (Job({"group": "p@eureka"}), Job({"group": ""} | MATE), None),  # a pair
        (Job(**ARRAY), Job(PAIR), "a job array cannot have a mate"),
        (Job(depend="afterok:3"), Job(MATE), "a job with -W depend cannot have a mate"),
        (Job(**IN_RESERVATION), Job(PAIR), "a job in a reservation cannot have a mate"),
        (Job(PAIR), Job(depend="afterok:3"), "a job with -W depend cannot have a mate"),
        (Job(), Job(depend="afterok:3"), None),
        (Job(PAIR, **ARRAY), Job(Job_Name="new"), None),  # from before the hook
    ],
)
def test_the_user_is_told_at_qalter(make: Make, before: Job, changes: Job, said: str | None) -> None:
    why = make(peers=[]).run("MODIFYJOB", changes, before)
    assert why is None if said is None else str(why).startswith(f"cosched: {said}")


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (Job(PAIR, queue="other"), None),
        (Job(PAIR, queue="other@mira"), None),
        (Job(queue="R9"), None),
        (Job(PAIR, queue="R9"), "a job in a reservation cannot have a mate"),
        (Job(PAIR, queue="other@eureka"), "a job with a mate cannot be moved to eureka"),
        (Job(PAIR, queue="@eureka"), "a job with a mate cannot be moved to eureka"),
    ],
)
def test_the_user_is_told_at_qmove(make: Make, job: Job, said: str | None) -> None:
    why = make().run("MOVEJOB", job)
    assert why is None if said is None else why == f"cosched: {said}"


async def test_the_service_lets_go_of_the_nodes_of_a_job_that_changes(make: Make, service: Service) -> None:
    hook = make()
    mated = Job(PAIR, id="7.mira")
    await asyncio.to_thread(hook.run, "MODIFYJOB", Job({"walltime": "60"}, id="7.mira"), mated)
    await asyncio.to_thread(hook.run, "MODIFYJOB", Job({"pair": "other"}, id="7.mira"), mated)
    assert service.changed == []
    await asyncio.to_thread(hook.run, "MODIFYJOB", Job({"select": "3:ncpus=1"}, id="7.mira"), mated)
    await asyncio.to_thread(hook.run, "MOVEJOB", Job(PAIR, id="7.mira", queue="other"))
    assert service.changed == ["7", "7"]
    service.why = "the job is being started"
    why = await asyncio.to_thread(hook.run, "MODIFYJOB", Job({"place": "scatter"}, id="7.mira"), mated)
    assert why == "cosched: the job is being started"


async def test_the_service_hears_of_jobs_that_come_and_end(make: Make, service: Service) -> None:
    hook = make()
    assert await asyncio.to_thread(hook.run, "QUEUEJOB", Job(PAIR)) is None
    assert await asyncio.to_thread(hook.run, "JOBOBIT", Job(PAIR, id="7.mira")) is None
    assert await asyncio.to_thread(hook.run, "JOBOBIT", Job(id="8.mira")) is None  # it has no mate
    assert (service.hints, service.ended) == (1, ["7"])


async def test_the_service_says_whether_a_job_runs_whatever_its_size(make: Make, service: Service) -> None:
    vnodes = "+".join(f"(a{number}:ncpus=64:mem=4gb)" for number in range(5000))
    job, hook = Job(PAIR, id="7.mira", exec_vnode=vnodes, euser="ann", Job_Name="f\tl\now"), make()
    hook.patient = True
    assert await asyncio.to_thread(hook.run, "RUNJOB", job) is None
    (asked,) = service.asked
    assert (asked.job_id, asked.vnodes, asked.name, asked.resources) == ("7", vnodes, "f\tl\now", PAIR)
    service.why = "waits for its mate (cosched)"
    assert await asyncio.to_thread(hook.run, "RUNJOB", job) == service.why


async def test_a_job_that_starts_gets_the_variables_by_which_it_finds_its_mates(make: Make, service: Service) -> None:
    """PBS reads `\\,` as a comma of a value; a comma alone begins the next variable."""
    service.finding = {"COSCHED_MATES": '[{"domain": "eureka", "job_id": "17"}]', "COSCHED_PORTS": "7100-7199"}
    job = Job(PAIR, id="7.mira")
    job.Variable_List["A"] = "x"
    assert await asyncio.to_thread(make().run, "RUNJOB", job) is None
    known = r'[{"domain": "eureka"\, "job_id": "17"}]'
    assert job.Variable_List == {"A": "x", "COSCHED_MATES": known, "COSCHED_PORTS": "7100-7199"}
    service.why, turned_away = "waits for its mate (cosched)", Job(PAIR, id="7.mira")
    assert await asyncio.to_thread(make().run, "RUNJOB", turned_away) == service.why
    assert turned_away.Variable_List == {}


def test_a_job_that_its_user_holds_back_does_not_run(make: Make) -> None:
    assert make().run("RUNJOB", Job(PAIR, id="7.mira", Hold_Types="u")) == "the job is held (qrls releases it)"
    assert make().run("RUNJOB", Job(id="7.mira", Hold_Types="u")) is None


def test_without_a_service_jobs_with_mates_wait_for_a_while_and_all_others_start(make: Make) -> None:
    assert make(patience=0).run("RUNJOB", Job(PAIR, id="7.mira")) is None
    patient = make(patience=3600)
    assert patient.run("RUNJOB", Job(PAIR, id="7.mira")) == "cosched is away"
    assert patient.run("RUNJOB", Job(id="8.mira")) is None
    assert patient.run("QUEUEJOB", Job(PAIR)) is None


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[None]:
    """A service that does not answer."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        yield


@pytest.mark.usefixtures("silent")
def test_a_service_that_is_silent_stalls_nobody_for_ever(make: Make) -> None:
    hook = make()
    assert hook.run("RUNJOB", Job(PAIR, id="7.mira")) == "cosched does not answer"
    assert hook.run("RUNJOB", Job(id="8.mira")) is None
    assert hook.run("QUEUEJOB", Job(PAIR)) is None


def test_without_a_configuration_all_jobs_pass_and_the_log_says_why(make: Make) -> None:
    hook = make()
    hook.configuration.unlink()
    assert hook.run("QUEUEJOB", Job(PAIR)) is None
    assert hook.run("RUNJOB", Job(PAIR, id="7.mira")) is None
    assert all(text.startswith("cosched: FileNotFoundError") for text in hook.logged)
    assert len(hook.logged) == 2


async def test_it_asks_for_jobs_without_a_mate_only_while_nodes_are_kept(make: Make, service: Service) -> None:
    hook, alone = make(), Job(id="8.mira")
    await asyncio.to_thread(hook.run, "RUNJOB", alone)
    service.keeping = False
    await asyncio.to_thread(hook.run, "RUNJOB", alone)
    assert len(service.asked) == 2
    await asyncio.to_thread(hook.run, "RUNJOB", alone)
    assert len(service.asked) == 2
    service.keeping = True
    await asyncio.to_thread(hook.run, "RUNJOB", Job(PAIR, id="7.mira"))
    await asyncio.to_thread(hook.run, "RUNJOB", alone)
    assert [asked.job_id for asked in service.asked] == ["8", "8", "7", "8"]
