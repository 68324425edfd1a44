"""A domain's configuration file: what it may say, and the one line about what it may not."""

from decimal import Decimal
from pathlib import Path

import pytest

from cosched.core.coscheduling.owners import NOBODY
from cosched.core.scheduling.policies.backfilling import BACKFILLING
from cosched.core.scheduling.primitives.tables import BUDGET_UNIT
from cosched.core.settings import CoschedulingSettings, OnMateUnknown, OnMemberRequeued, OnUnreachable, Scheme
from cosched.service.configuration import read_configuration
from cosched.service.description import describe
from cosched.validation.addresses import is_loopback, parse_address
from cosched.validation.schemes import BUDGET_DIGITS
from cosched.words.errors import InputError
from cosched_adapters.batch_system import BatchSystemFactory
from cosched_adapters.manager import SettingError
from tests.service.configured import DOMAIN, FULL, PAGE, PEER, PLAIN, SECURE, Read, Refusal, with_line


def test_the_least_that_must_be_said(read: Read) -> None:
    found = read(PLAIN)
    domain, section = found.domain, found.coscheduling
    assert (domain.name, domain.listen, domain.plaintext) == ("intrepid", "127.0.0.1:7701", True)
    assert (domain.socket, domain.http, domain.operators) == (None, None, ())
    assert (domain.schedule_interval, domain.retention, domain.max_jobs_per_user) == (30, 30 * 86400, 10_000)
    assert domain.log_level == "info"
    assert (section.enabled, section.peer_timeout, section.heartbeat_interval) == (True, 5, 10)
    assert section.max_clock_offset == Decimal("0.5")
    assert (found.peers, found.tls, found.manager.settings) == ((), None, {})
    waits = {"mate_patience": 7 * 86400, "peer_grace": 120, "successor_patience": 300, "successor_hold": 60}
    assert found.coscheduling_settings() == CoschedulingSettings(
        on_mate_unknown=OnMateUnknown.WAIT, slot_share=Decimal("0.01"), hold_check=30, **waits
    )


def test_a_replay_keeps_the_rules_of_the_paper_unless_it_is_told(read: Read) -> None:
    replay = PLAIN.replace('"local"', '"replay"')
    papers = read(replay).coscheduling_settings()
    assert (papers.peer_grace, papers.on_mate_unknown, papers.slot_share) == (0, OnMateUnknown.START, 1)
    assert (papers.hold_check, papers.successor_patience, papers.successor_hold) == (0, 0, 0)
    rules = 'peer_grace = "1m"\non_mate_unknown = "wait"\nhold_check = 7\n'
    told = read(f"{replay}\n[coscheduling]\n{rules}").coscheduling_settings()
    assert (told.peer_grace, told.on_mate_unknown, told.hold_check) == (60, OnMateUnknown.WAIT, 7)


def test_everything_that_can_be_said(read: Read) -> None:
    full = FULL.replace(
        'state = "intrepid.db"',
        'state = "intrepid.db"\nsocket = "s.sock"\nhttp = "[::1]:7781"\noperators = ["ada"]\nlog_level = "debug"\n'
        'schedule_interval = 0\nretention = "1w"\nmax_jobs_per_user = 7',
    ).replace('key = "key.pem"', 'key = "key.pem"\nuser_identity = "spiffe://site/user/"')
    found = read(full)
    holds = {"release_interval": 90, "release_jitter": Decimal("0.1"), "release_order": "last", "hold_check": 10}
    limits = {"max_held_fraction": Decimal("0.25"), "max_yields": 3, "yield_boost": Decimal("0.2"), "max_requeues": 2}
    peers = {"on_peer_unreachable": OnUnreachable.HOLD, "peer_patience": 60, "peer_grace": 180}
    mates = {"mate_patience": 604_800, "successor_patience": 240, "successor_hold": 30}
    requeued = {"on_member_requeued": OnMemberRequeued.REQUEUE}
    said = {"scheme": Scheme.YIELD, "slot_share": Decimal("0.01"), **holds, **limits, **peers, **mates, **requeued}
    assert found.coscheduling_settings() == CoschedulingSettings(**said)
    assert (found.coscheduling.peer_timeout, found.coscheduling.heartbeat_interval) == (Decimal("0.5"), 5)
    assert found.coscheduling.max_clock_offset == Decimal("0.02")
    assert [(peer.name, dict(peer.owners)) for peer in found.peers] == [("eureka", {"alice": "asmith"}), ("mira", {})]
    assert (found.manager.kind, found.manager.settings) == ("local", {"slots": 8, "token": "hush"})
    cluster = found.machine_settings(8)
    assert (cluster.nodes, cluster.backfilling, cluster.wanted_first) == (8, BACKFILLING["conservative"], False)
    assert (found.domain.schedule_interval, found.domain.retention, found.domain.operators) == (0, 604_800, ("ada",))


def test_who_the_users_of_peers_are(read: Read) -> None:
    more = 'owners = {ann = "ann2", root = "root"}\nother_owners = "nobody"\nadopt = true\nidentity ='
    found = read(SECURE + PEER.replace("identity =", more) + PEER.replace("eureka", "mira").replace("7702", "7703"))
    owners = found.owners({"root", "slurm"})
    asked = [(peer, name) for peer in ("eureka", "mira") for name in ("ann", "bob", "root", "slurm")]
    here = [owners.here(peer, name) for peer, name in asked]
    assert here == ["ann2", NOBODY, "root", NOBODY, "ann", "bob", NOBODY, NOBODY]
    assert [peer.name for peer in found.peers if peer.adopt] == ["eureka"]


def test_paths_are_relative_to_the_files_folder(read: Read, tmp_path: Path) -> None:
    found = read(SECURE.replace('state = "intrepid.db"', 'state = "intrepid.db"\nsocket = "/run/x.sock"'))
    assert (found.domain.state, found.tls.ca) == (tmp_path / "etc" / "intrepid.db", tmp_path / "etc" / "ca.pem")
    assert found.domain.socket == Path("/run/x.sock")


def test_a_node_pool_must_fit_the_machine(read: Read) -> None:
    with pytest.raises(SettingError, match="node_pool: partitioned:4x2 has 8 nodes, not 9"):
        read(FULL).machine_settings(9)


@pytest.mark.parametrize(
    ("lines", "scheme", "budget", "share", "slots"),
    [
        ("", Scheme.HOLD, "0", "1", False),
        ('scheme = "yield"', Scheme.YIELD, "0", "1", False),
        ('scheme = "meet"', Scheme.YIELD, "0.5", "0.9", True),
        ('scheme = "meet"\nmate_budget = 0.25', Scheme.YIELD, "0.25", "0.9", True),
        ('scheme = "meet"\nmate_budget = 0', Scheme.YIELD, "0", "1", True),
        ('scheme = "meet"\nmate_budget_share = 0', Scheme.YIELD, "0.5", "0", True),
        ('scheme = "meet"\nslots = false', Scheme.YIELD, "0.5", "0.9", False),
        ("slots = true", Scheme.HOLD, "0", "1", True),
        ("mate_budget = 1e-6", Scheme.HOLD, "0.000001", "0.9", False),
        ("mate_budget = 0.5\nmate_budget_share = 0.3", Scheme.HOLD, "0.5", "0.3", False),
        ("mate_budget = 0.5\nmate_budget_share = 1", Scheme.HOLD, "0.5", "1", False),
        ('scheme = "off"\nmate_budget = 10\nmate_budget_share = 0.3\nslots = true', Scheme.OFF, "0", "1", False),
        ('scheme = "meet"\nenabled = false', Scheme.OFF, "0", "1", False),
    ],
)
def test_rules_and_scheduler_agree_how_pairs_meet(read: Read, lines, scheme, budget, share, slots):
    found = read(f"{PLAIN}[coscheduling]\n{lines}\n")
    rules, cluster = found.coscheduling_settings(), found.machine_settings(8)
    assert (rules.scheme, rules.slots) == (scheme, slots)
    assert (cluster.mate_budget, cluster.slots) == (Decimal(budget), slots)
    assert cluster.mate_budget_share == Decimal(share)


def test_a_service_that_replays_bounds_nobody(read: Read) -> None:
    replay = PLAIN.replace('"local"', '"replay"')
    for lines, share in (('scheme = "meet"', 1), ('scheme = "meet"\nmate_budget_share = 0.3', Decimal("0.3"))):
        assert read(f"{replay}[coscheduling]\n{lines}\n").machine_settings(8).mate_budget_share == share


def test_slurm_can_meet_and_its_starts_are_counted(read: Read) -> None:
    lines = '[coscheduling]\nscheme = "meet"\nmate_budget_share = 0.3\n'
    found = read(PLAIN.replace("local", "slurm") + lines).machine_settings(8)
    assert (found.meets, found.mate_budget_share) == (True, Decimal("0.3"))


def test_the_scheduler_can_count_every_budget() -> None:
    assert 10**BUDGET_DIGITS == BUDGET_UNIT


CANNOT_MEET = "slurm can start no pair by a mate_budget or slots: leave both out, and let pairs hold or yield"


@pytest.mark.parametrize(
    ("lines", "key"), [('scheme = "meet"', "scheme"), ("slots = true", "slots"), ("mate_budget = 0.1", "mate_budget")]
)
def test_a_batch_system_that_cannot_meet_refuses_to(refusal, monkeypatch, lines, key):
    meets_none = BatchSystemFactory(lambda *_: None)
    monkeypatch.setattr("cosched.service.configuration.load_batch_system", lambda _: meets_none)
    slurm = PLAIN.replace("local", "slurm")
    assert refusal(f"{slurm}[coscheduling]\n{lines}\n") == f"coscheduling.{key}: {CANNOT_MEET}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("lisen = 5", "lisen: no such key; did you mean listen?"),
        ("zzz = 5", "zzz: no such key; there are name, listen, plaintext, socket"),
        ('"a\\nb" = 5', "'a\\nb': no such key"),
        ('http = "here"', "http: 'here' is not HOST:PORT, such as 127.0.0.1:7701 or [::1]:7701"),
        ('http = "127.0.0.1:65536"', "http: '127.0.0.1:65536' is not HOST:PORT"),
        ('http = "127.0.0.300:1"', "http: '127.0.0.300:1' is not HOST:PORT: '127.0.0.300' is not a host"),
        ('http = ":7701"', "http: ':7701' is not HOST:PORT: '' is not a host"),
        ('http = "::1:7701"', "http: '::1:7701' is not HOST:PORT"),
        ('http = "[localhost]:7701"', "http: '[localhost]:7701' is not HOST:PORT: 'localhost' is not a host"),
        ('plaintext = "yes"', "plaintext: 'yes' is neither true nor false"),
        ("plaintext = 1", "plaintext: 1 is neither true nor false"),
        ('operators = "ada"', "operators: 'ada' is not a list"),
        ("operators = [5]", "operators.1: 5 is not a text in quotes"),
        ('operators = [""]', "operators.1: must be 1 to 256 printable characters"),
        ('schedule_interval = "soon"', "schedule_interval: 'soon' is not a duration such as 90, 20m"),
        ("schedule_interval = true", "schedule_interval: a number is expected, not true"),
        ("retention = 0", "retention: 0 is below 1"),
        ("retention = 1e300", "retention: 1e+300 is too large"),
        ("max_jobs_per_user = 1.5", "max_jobs_per_user: 1.5 is not a whole number"),
        ('log_level = "loud"', "log_level: 'loud' is not 'debug', 'info', 'warning' or 'error'"),
        ('socket = ""', "socket: must be a path"),
        ("socket = 5", "socket: 5 is not a path"),
        (f'socket = "/{"x" * 107}"', "socket: longer than the 107 bytes that the path of a socket can have"),
    ],
)
def test_a_mistake_in_domain(refusal: Refusal, line: str, reason: str) -> None:
    text = SECURE if line.startswith("plaintext") else PLAIN
    assert refusal(with_line(text, "[domain]", line)).startswith(f"domain.{reason}")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('scheme = "wait"', "scheme: 'wait' is not 'hold', 'yield', 'off' or 'meet'"),
        ("mate_budget = 11", "mate_budget: 11 is not between 0 and 10; 0.5 is usual"),
        ("mate_budget = -0.1", "mate_budget: -0.1 is not between 0 and 10"),
        ("mate_budget = 0.1234567", "mate_budget: 0.1234567 has more than 6 digits after the point: round it"),
        ('mate_budget = "half"', "mate_budget: 'half' is not a number"),
        ("mate_budget = true", "mate_budget: a number is expected, not true"),
        ("mate_budget_share = 1.1", "mate_budget_share: 1.1 is not between 0 and 1 (1: unlimited)"),
        ("mate_budget_share = -0.1", "mate_budget_share: -0.1 is not between 0 and 1"),
        ("mate_budget_share = 0.1234567", "mate_budget_share: 0.1234567 has more than 6 digits after"),
        ('mate_budget_share = "half"', "mate_budget_share: 'half' is not a number"),
        ("mate_budget_share = nan", "mate_budget_share: nan is not a number"),
        ("mate_budget_share = 0.5", "mate_budget_share: has no effect without a mate_budget"),
        ("mate_budget = 0\nmate_budget_share = 1", "mate_budget_share: has no effect without a mate_budget"),
        ("slot_share = 0.1", "slot_share: has no effect without slots"),
        ("slots = true\nslot_share = 2", "slot_share: 2 is not between 0 and 1"),
        ("slots = 1", "slots: 1 is neither true nor false"),
        ('slots = "yes"', "slots: 'yes' is neither true nor false"),
        ("release_jitter = 2", "release_jitter: 2 is not between 0 and 1"),
        ("release_interval = -1", "release_interval: -1 is below 0"),
        ("max_held_fraction = nan", "max_held_fraction: nan is not a number"),
        ("peer_timeout = 0", "peer_timeout: 0 is not above 0"),
        ("peer_timeout = 301", "peer_timeout: 301 is above 300"),
        ("max_clock_offset = -0.1", "max_clock_offset: -0.1 is below 0"),
        ("max_clock_offset = true", "max_clock_offset: a number is expected, not true"),
        ("peer_patience = 99999999999", "peer_patience: 99999999999 is not between 0 and"),
        ('on_member_requeued = "again"', "on_member_requeued: 'again' is not 'continue', "),
        ("max_requeues = -1", "max_requeues: -1 is not between 0 and"),
        ("hold_check = 99999999999", "hold_check: 99999999999 is not between 0 and"),
        ('enabled = "no"', "enabled: 'no' is neither true nor false"),
        ("relase_interval = 1", "relase_interval: no such key; did you mean release_interval?"),
    ],
)
def test_a_mistake_in_coscheduling(refusal: Refusal, line: str, reason: str) -> None:
    assert refusal(f"{PLAIN}[coscheduling]\n{line}\n").startswith(f"coscheduling.{reason}")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('name = "eureka"\n', ""), ".1.name: missing"),
        (("eureka", "a b"), ".'a b'.name: 'a b' is not a name"),
        (('address = "127.0.0.1:7702"\n', ""), ".eureka.address: missing"),
        (("7702", "0"), ".eureka.address: '127.0.0.1:0' has no port that can be reached"),
        (("spiffe:", "/"), ".eureka.identity: '///site/cosched/eureka' is not a URI such as spiffe://site/"),
        (('identity = "spiffe://site/cosched/eureka"\n', ""), ".eureka.identity: missing: which certificate"),
        (("identity", "identiy"), ".eureka.identiy: no such key; did you mean identity?"),
        (("identity =", "owners = 5\nidentity ="), ".eureka.owners: 5 is not a table"),
        (("identity =", 'other_owners = "root"\nidentity ='), ".eureka.other_owners: 'root' is not 'same' or 'nobody'"),
        (("identity =", "adopt = 1\nidentity ="), ".eureka.adopt: 1 is neither true nor false"),
        (('name = "eureka"', 'name = "intrepid"'), ".intrepid.name: intrepid is already used by this domain"),
        (("[[peer]]", "[peer]"), ": each peer is a table under a line [[peer]]"),
        (("[[peer]]", "[[peers]]"), "s: no such key; did you mean peer?"),
    ],
)
def test_a_mistake_in_a_peer(refusal: Refusal, change: tuple[str, str], reason: str) -> None:
    assert refusal(SECURE + PEER.replace(*change)).startswith(f"peer{reason}")


def test_the_default_peer_is_one_of_the_peers(refusal: Refusal) -> None:
    named = "[coscheduling]\ndefault_peer = '{}'\n"
    for name, hint in (("eureca", "did you mean eureka?"), ("polaris", "there are eureka")):
        said = refusal(SECURE + named.format(name) + PEER)
        assert said == f"coscheduling.default_peer: no [[peer]] is named {name}; {hint}"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (PEER, "peer.eureka.name: eureka is already used by peer eureka"),
        (PEER.replace('"eureka"', '"mira"'), "peer.mira.address: 127.0.0.1:7702 is already used by peer eureka"),
        (
            PEER.replace('"eureka"', '"mira"').replace("7702", "7703"),
            "peer.mira.identity: spiffe://site/cosched/eureka is already used by peer eureka",
        ),
    ],
)
def test_two_peers_that_are_one(refusal: Refusal, other: str, reason: str) -> None:
    assert refusal(SECURE + PEER + other) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "domain: the section [domain] is missing"),
        (DOMAIN + "plaintext = true\n", "manager: the section [manager] is missing"),
        (PLAIN.replace('kind = "local"', ""), "manager.kind: missing"),
        (PLAIN.replace("name =", "nmae =", 1), "domain.nmae: no such key; did you mean name?"),
        (PLAIN.replace('listen = "127.0.0.1:7701"', ""), "domain.listen: missing"),
        (PLAIN.replace("[domain]", "[[domain]]"), "domain: a list is not a table"),
        ("tls = 5\n" + PLAIN, "tls: 5 is not a table"),
        ("manager = 5\n" + DOMAIN, "manager: 5 is not a table"),
        ("peer = [5]\n" + PLAIN, "peer.1: 5 is not a table"),
        (PLAIN + "[domian]\n", "domian: no such key; did you mean domain?"),
        (PLAIN + 'policy = "nice"', "manager.policy: no policy 'nice'"),
        (PLAIN + "backfill = 5", "manager.backfill: 5 is not 'easy', 'conservative' or 'none'"),
        (PLAIN.replace("127.0.0.1", "0.0.0.0"), "domain.listen: 0.0.0.0:7701 is not a loopback address, and plaintext"),
        (PLAIN.replace("127.0.0.1", "hpc.example.org"), "domain.listen: hpc.example.org:7701 is not a loopback"),
        (PLAIN.replace("plaintext = true", ""), "tls: the section [tls] is missing; without it domain.plaintext"),
        (
            PLAIN + PEER.replace("127.0.0.1", "10.0.0.1"),
            "peer.eureka.address: 10.0.0.1:7702 is not a loopback address, and plaintext is on",
        ),
        (SECURE.replace("ca.pem", "none.pem"), "tls.ca: '{here}/none.pem' cannot be read: No such file or directory"),
        (SECURE.replace("key.pem", "."), "tls.key: '{here}' cannot be read: Is a directory"),
        (SECURE.replace('ca = "ca.pem"', ""), "tls.ca: missing"),
        (PLAIN.replace("intrepid.db", "no/x.db"), "domain.state: there is no folder '{here}/no'"),
        (PLAIN.replace("intrepid.db", "."), "domain.state: '{here}' is a folder, not a file"),
        (
            SECURE.replace("[tls]", '[tls]\nuser_identity = "spiffe://site/user"'),
            "tls.user_identity: 'spiffe://site/user' does not end in / or :",
        ),
        (
            SECURE.replace("[tls]", '[tls]\nuser_identity = "spiffe://site/"') + PEER,
            "peer.eureka.identity: begins with tls.user_identity, as only users' may",
        ),
        (PLAIN + "[page]\n", "page: is served nowhere: set domain.http, or page.socket"),
        (PAGE + 'show = "everything"', "page.show: 'everything' is not 'own', 'domain' or 'all'"),
        (PAGE + 'proxies = ["proxy"]', "page.proxies.1: 'proxy' is not an address or network, such as 127.0.0.1"),
        (PAGE + 'user_header = "User"', "page.user_header: has no effect without proxies or a socket"),
        (PAGE + 'proxies = ["::1"]\nuser_header = "a b"', "page.user_header: 'a b' is not the name of an HTTP header"),
        (PAGE + "tls = true", "page.tls: users have no certificates: set tls.user_identity in [tls]"),
        (PAGE + 'histroy = "7d"', "page.histroy: no such key; did you mean history?"),
        (PAGE + 'history = "1m"', "page.history: '1m' is below 3600"),
        ("[domain\n", "1: not valid TOML: Expected ']' at the end of a table declaration"),
        ("x = " + "9" * 5000, " a number is too long, or brackets are nested too deeply"),
        ("x = " + "[" * 5000, " a number is too long, or brackets are nested too deeply"),
    ],
)
def test_other_mistakes(refusal: Refusal, tmp_path: Path, text: str, reason: str) -> None:
    assert refusal(text).startswith(reason.replace("{here}", str(tmp_path / "etc")))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file or directory"):
        read_configuration(tmp_path / "none.toml")


def test_a_plaintext_peer_needs_no_identity(read: Read) -> None:
    assert read(PLAIN + PEER.replace("identity", "#")).peers[0].identity is None


LOOPBACK = ["127.0.0.1", "127.255.0.9", "[::1]", "localhost"]
ELSEWHERE = ["[::]", "0.0.0.0", "localhost.example.org", "127.example.org", "cosched_a"]


@pytest.mark.parametrize("host", [*LOOPBACK, *ELSEWHERE])
def test_addresses(host: str) -> None:
    assert parse_address(f"{host}:1") == (host.strip("[]"), 1)
    assert is_loopback(f"{host}:1") is (host in LOOPBACK)


def test_a_manager_that_schedules_by_itself_takes_no_policy(read: Read, refusal: Refusal) -> None:
    slurm = PLAIN.replace("local", "slurm")
    assert refusal(f'{slurm}policy = "fcfs"\n').endswith("manager.policy: has no effect: slurm schedules by itself")
    assert not any(line.startswith("schedules") for line in describe(read(slurm)))


LOCAL = """
[domain]
name = "intrepid"
socket = "sock"
state = "state.db"

[[peer]]
name = "eureka"
address = "unix:eureka.out"
socket = "eureka.in"

[manager]
kind = "local"
slots = 1
"""


def test_peers_by_unix_sockets_need_no_network(read: Read, refusal: Refusal, tmp_path: Path) -> None:
    peer = read(LOCAL).peers[0]
    assert (peer.address, peer.socket) == (f"unix:{tmp_path}/etc/eureka.out", tmp_path / "etc/eureka.in")
    assert any("Unix sockets only" in line for line in describe(read(LOCAL)))
    no_socket = LOCAL.replace('socket = "sock"\n', "")
    assert refusal(no_socket) == "domain.listen: missing, and so is socket: nobody can call this domain"
    assert refusal(LOCAL.replace("unix:eureka.out", "eureka:1")).startswith("tls: the section [tls] is missing")
    assert refusal(LOCAL.replace("unix:eureka.out", "unix:" + "x" * 108)).endswith("a socket can have")
    of_nobody = LOCAL.replace('socket = "eureka.in"', 'socket = "eureka.in"\nuser = "no-such-user"')
    assert refusal(of_nobody) == "peer.eureka.user: this host has no user 'no-such-user'"
    no_place = LOCAL.replace('socket = "eureka.in"', 'user = "root"')
    assert refusal(no_place) == "peer.eureka.user: has no effect without a socket"
