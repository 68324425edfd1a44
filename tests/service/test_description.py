"""What `--check` prints of a configuration, and what it warns of."""

from pathlib import Path

import pytest

from cosched.service.configuration import Configuration
from cosched.service.description import describe
from tests.service.configured import FULL, PAGE, PEER, PLAIN, SECURE, Read, with_line


def test_what_check_prints(read: Read, tmp_path: Path) -> None:
    assert describe(read(FULL.replace('name = "mira"', 'name = "mira"\nowners = { bob = "bob2" }'))) == [
        "domain              intrepid",
        f"listens on          127.0.0.1:7701 (mutual TLS, certificate {tmp_path}/etc/certificate.pem)",
        "users of this host  no socket: no local users",
        "operators           root, the service's own user",
        "metrics             none",
        f"database            {tmp_path}/etc/intrepid.db, keeps ended jobs for 30 d",
        "manager             local",
        "queue               batch: policy fcfs, backfill conservative, node pool partitioned:4x2",
        "schedules           at every event, and every 30 s",
        "jobs                at most 10,000 of a user at once",
        "scripts             at most 256 MiB of a user's jobs",
        "scheme              yield; a job that has yielded 3 times holds",
        "holds               released after 1 min 30 s, or up to 10 % later",
        "held nodes          at most 25 % of the machine",
        "each yield          raises the job's score by 20 %",
        "patience            7 d for a mate that is not submitted",
        "unknown mate        jobs start alone",
        "lost member         the others start without it; one that its owner cancels may be replaced for 4 min, "
        "with nodes 30 s",
        "requeued member     the others are queued again, too, at most 2 times",
        "who holds           asks every 10 s whether its mates still wait",
        "calls to peers      0.5 s each, repeated for 1 min",
        "agreed starts       if the manager can, and a peer's clock differs by at most 0.02 s",
        "unreachable peer    jobs hold, once it has been away for 3 min",
        "peer                eureka at 127.0.0.1:7702 as spiffe://site/cosched/eureka; its users here: alice = asmith",
        "peer                mira at mira.example.org:7701 as spiffe://site/cosched/mira; its users here: bob = bob2"
        "; meant where a pair is named without a domain",
    ]


def test_check_says_who_users_of_peers_are_and_whose_jobs_adopt_without_being_asked(read: Read) -> None:
    more = 'owners = {bob = "bob2"}\nother_owners = "nobody"\nadopt = true\nidentity ='
    [peer] = [line for line in describe(read(SECURE + PEER.replace("identity =", more))) if line.startswith("peer ")]
    assert peer.endswith("; its users here: bob = bob2, all others: nobody; its jobs may adopt any of their owners'")


@pytest.mark.papers
def test_check_says_by_what_rules_another_scheduler_schedules(read: Read) -> None:
    lines = describe(read(f'{PLAIN}slots = 4\nscheduler = "fluid"\nharvesting = "never"\n'))
    assert any(line.startswith("queue               fluid: harvesting never,") for line in lines)


def test_check_says_what_becomes_of_jobs_whose_mates_are_replaced_or_queued_again(read: Read) -> None:
    given = 'on_member_requeued = "end"\nsuccessor_patience = 90\nsuccessor_hold = 0\n'
    lines = describe(read(f"{PLAIN}[coscheduling]\nhold_check = 0\n{given}"))
    told = dict(line.split("  ", 1) for line in lines)
    assert told["lost member"].endswith("may be replaced for 1 min 30 s, without nodes")
    assert told["requeued member"].strip() == "the others end"
    assert "who holds" not in told


def test_a_path_is_shown_without_detours(read: Read, tmp_path: Path) -> None:
    lines = describe(read(SECURE.replace('"certificate.pem"', '"../etc/./certificate.pem"') + PEER))
    assert f"listens on          127.0.0.1:7701 (mutual TLS, certificate {tmp_path}/etc/certificate.pem)" in lines


@pytest.mark.parametrize(
    ("bytes_", "said"), [(1 << 30, "1 GiB"), (5_000, "5,000 bytes"), (3 << 19, "1,536 KiB"), (1 << 28, "256 MiB")]
)
def test_sizes_have_units(read: Read, bytes_: int, said: str) -> None:
    lines = describe(read(with_line(SECURE + PEER, "[domain]", f"max_script_bytes_per_user = {bytes_}")))
    assert f"scripts             at most {said} of a user's jobs" in lines


def test_check_says_who_sees_the_page(read: Read) -> None:
    proxied = describe(read(f'{PAGE}proxies = ["10.0.0.7", "::1"]\nshow = "all"\n'))
    told = next(line for line in proxied if line.startswith("page"))
    assert "http://127.0.0.1:0/: people see all jobs, also on peers' pages" in told
    assert told.endswith("; named by 10.0.0.7 and ::1 by X-Remote-User")
    assert not [line for line in proxied if line.startswith("warning") and "page.show" in line]
    open_to_all = describe(read(f'{PAGE}show = "domain"\n'))
    assert any("people see all jobs; nobody has a name" in line for line in open_to_all)
    assert any("everybody who reaches the page sees all jobs" in line for line in open_to_all)


def test_check_says_that_no_start_is_agreed_on(read: Read) -> None:
    lines = describe(read(f"{PLAIN}[coscheduling]\nmax_clock_offset = 0\n"))
    assert "none: pairs start at once" in next(line for line in lines if line.startswith("agreed starts"))


def test_check_says_how_pairs_meet(read: Read) -> None:
    lines = describe(read(f'{PLAIN}[coscheduling]\nscheme = "meet"\nmax_yields = 3\nmate_budget_share = 0.4\n'))
    at = lines.index("scheme              meet")
    assert lines[at + 1 : at + 4] == [
        "mate budget         jobs whose mates have asked for them may delay the first job by at most 50 % of its wait",
        "of a user           at most 40 % of the jobs of a week may start so before their turn",
        "slots               two jobs that cannot start together now agree on an instant; none of them holds",
    ]


RULES = SECURE + PEER + "[coscheduling]\n"
OPEN = with_line(SECURE, "[domain]", 'http = "0.0.0.0:80"') + PEER


def warnings(configuration: Configuration) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in describe(configuration) if line.startswith("warning ")]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (SECURE, "no [[peer]]: no job here can have a mate"),
        (RULES + "release_interval = 0\n", "release_interval is 0: holds are never released, so deadlocks stay"),
        (RULES + "max_held_fraction = 0\n", "max_held_fraction is 0: no job can hold, all yield"),
        (PLAIN + PEER, "plaintext: any process on this host can speak as a peer"),
        (OPEN, "http on 0.0.0.0:80: everybody who reaches it can read the metrics"),
    ],
)
def test_what_is_permitted_but_seldom_meant(read: Read, text: str, warning: str) -> None:
    assert warnings(read(text)) == [warning]


TWO = PEER + PEER.replace("eureka", "mira").replace("7702", "7703")


def test_check_says_which_peer_is_meant_where_a_pair_names_no_domain_or_that_jobs_wait(read: Read) -> None:
    beside = SECURE.replace('kind = "local"', 'kind = "slurm"') + TWO
    assert warnings(read(beside)) == [
        "several peers and no default_peer: a job that names a pair without a domain waits until it names one"
    ]
    chosen = read(f'{beside}[coscheduling]\ndefault_peer = "mira"\n')
    assert warnings(chosen) == warnings(read(SECURE + TWO)) == []
    said = [line for line in describe(chosen) if "meant where a pair is named without a domain" in line]
    assert [line.split()[:2] for line in said] == [["peer", "mira"]]


def test_other_warnings(read: Read, tmp_path: Path) -> None:
    assert warnings(read(SECURE + PEER)) == []
    assert "plaintext is on: [tls] is not used" in warnings(read(with_line(SECURE, "[domain]", "plaintext = true")))
    (tmp_path / "etc" / "key.pem").chmod(0o644)
    key = tmp_path / "etc" / "key.pem"
    assert warnings(read(SECURE + PEER)) == [f"tls.key: {key} can be read by all users of this host"]


def test_without_coscheduling_there_is_little_to_say(read: Read) -> None:
    lines = describe(read(PLAIN + '[coscheduling]\nscheme = "off"\nrelease_interval = 0\n'))
    assert "coscheduling        off: jobs start alone" in lines
    assert not [line for line in lines if "release_interval" in line or line.startswith("scheme")]


def test_what_a_manager_is_told_is_not_shown(read: Read) -> None:
    assert "hush" not in repr(read(FULL))
    assert not [line for line in describe(read(FULL)) if "hush" in line]
