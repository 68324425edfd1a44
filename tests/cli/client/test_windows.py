"""Options that let the jobs of a group start apart; what cannot be is refused with one clear line."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import click
import pytest

from cosched.cli.client.batch_command import BatchCommand
from cosched.cli.client.submit import directive, submit
from cosched.cli.client.windows import check_windows, instant_of_all, pair_apart, windows_of, windows_of_all
from cosched.cli.client.wording import windows_found
from cosched.cli.main import main
from cosched.client import Domain, Group
from cosched.client.calls import group_name
from cosched.v1 import cluster_pb2, job_pb2
from cosched.validation.durations import parse_instant
from cosched.validation.group_windows import wrong_instant
from cosched.words.errors import InputError

OTHERS = ("mira", "polaris")


def asked(*words: str) -> dict[str, Any]:
    return dict(directive.make_context("#COSCHED", ["--group", "run7", "--with", "mira,polaris", *words]).params)


def windows(*words: str) -> dict[str, tuple[int, int]]:
    options = asked(*words)
    check_windows(options)
    return windows_of(options, "here", OTHERS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", {}),
        ("--start-after mira:+10m", {"here": (600, 600)}),
        ("--start-after mira:-1h", {"here": (-3600, -3600)}),
        ("--start-after mira:10m --window polaris:0..5m", {"here": (600, 600), "polaris": (0, 300)}),
        ("--start-after mira:0", {}),
        ("--within 5m", {"mira": (-300, 300), "polaris": (-300, 300)}),
        ("--window mira:-90..90 --window here:+10m", {"mira": (-90, 90), "here": (600, 600)}),
        ("--window mira:0..0 --window polaris:7d", {"polaris": (604800, 604800)}),
    ],
)
def test_options_give_the_windows_of_all_jobs(words, expected):
    assert windows(*words.split()) == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--window mira:10", "--window: 10 is read as seconds, not as minutes as by --time; write 10s or 10m\n"),
        ("--window mira:-90..2m", "--window: 90 is read as seconds, not as minutes as by --time; write 90s or 90m\n"),
        ("--start-after mira:+5", "--start-after: 5 is read as seconds, not as minutes as by --time; write 5s or 5m\n"),
        ("--within 30", "--within: 30 is read as seconds, not as minutes as by --time; write 30s or 30m\n"),
        ("--at +60", "--at: 60 is read as seconds, not as minutes as by --time; write 60s or 60m\n"),
        ("--at 18:30 --window mira:0..10m --window polaris:0", ""),
    ],
)
def test_how_a_number_without_a_unit_is_read_is_said(words, said, capsys):
    asked(*words.split())
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--window mira:5m..1m", "--group: mira has a window that ends before it begins: 300..60 s"),
        ("--within 8d", "--group: mira has a window more than 7 days from the others: -691200..691200 s"),
        ("--window theta:1m", "--group: theta is not a domain of the group"),
        (
            "--window mira:1m --window polaris:1m --window here:1m",
            "--group: mira has a window, as all others have: they count from a job without one",
        ),
        ("--window mira:1m --window mira:2m", "--window: mira has two windows"),
        ("--start-after here:1m", "--start-after: here is the job's own domain: name another one"),
        (
            "--start-after mira:1m --window mira:1m",
            "--start-after: mira has a window itself: name a domain whose job has none",
        ),
        ("--start-after mira:1m --window here:2m", "--start-after: here has another window by --window"),
        ("--window mira", "Invalid value for '--window': 'mira' is not DOMAIN:FROM..TO, such as mira:0..10m, or"),
        ("--window mira:0.5s", "Invalid value for '--window': '0.5s' is not a duration such as 90, 20m, 12h or 3d"),
        ("--start-after +10m", "Invalid value for '--start-after': '+10m' is not DOMAIN:+TIME, such as mira:+10m"),
        ("--within -5m", "Invalid value for '--within': '-5m' is not a duration such as 90, 20m, 12h or 3d"),
        ("--within 5m --window mira:1m", "--within and --end-together give all windows: they exclude the other"),
        ("--within 5m --end-together", "--within and --end-together give all windows: they exclude the other"),
    ],
)
def test_windows_that_cannot_be_are_refused(words, said):
    with pytest.raises((InputError, click.UsageError)) as refused:
        windows(*words.split())
    error = refused.value
    assert (error.format_message() if isinstance(error, click.UsageError) else str(error)).startswith(said)


def test_a_pair_whose_jobs_start_apart_is_a_group_of_two():
    options = dict(directive.make_context("#COSCHED", ["--pair", "run7", "--within", "5m", "--or-alone"]).params)
    check_windows(options)
    one, two = (Domain(cluster_pb2.Domain(name="here", peers=[{"name": name} for name in OTHERS[:n]])) for n in (1, 2))
    named = pair_apart(options, one)
    assert (named["group"], named["members"], named["or_alone"], "pair" in named) == ("run7", ("mira",), True, False)
    assert windows_of(named, "here", named["members"]) == {"mira": (-300, 300)}
    with pytest.raises(InputError, match="--pair-domain: is missing: here has mira and polaris"):
        pair_apart(options, two)
    assert pair_apart({**options, "pair_domain": "polaris"}, two)["members"] == ("polaris",)
    meant = Domain(
        cluster_pb2.Domain(name="here", peers=[{"name": name} for name in OTHERS[:2]], default_peer="polaris")
    )
    assert pair_apart(options, meant)["members"] == ("polaris",)
    assert pair_apart({**options, "within": None}, two)["pair"] == "run7"


def test_windows_need_a_group_or_a_pair():
    options = dict(submit.make_context("submit", ["--within", "5m", "script"], **main.context_settings).params)
    with pytest.raises(click.UsageError, match="need --group or --pair: they part its jobs"):
        check_windows(options)


def batch_options(*words: str, slots: bool = True) -> dict[str, Any]:
    """What the command of mira's batch system is given."""
    peers = [SimpleNamespace(name=name, takes_groups=True) for name in ("here", "polaris")]
    domain = SimpleNamespace(name="mira", manager="slurm", slots=slots, peers=peers)
    options = {key: value for key, value in asked(*words).items() if value not in (None, (), False)}
    options["members"] = ("here", "polaris")
    return BatchCommand(None, domain, SimpleNamespace(can_group=True), "job.sh", b"", {}).checked(options)


def test_jobs_of_a_batch_system_have_windows_if_it_gives_slots():
    options = batch_options("--within", "5m", "--at", "2099-01-01T00:00Z")
    assert options["windows"] == {"here": (-300, 300), "polaris": (-300, 300)}
    assert options["at"] == 4_070_908_800
    assert "windows" not in batch_options()
    with pytest.raises(InputError, match=r"^--group: group run7: slots are off on mira: --window and --at need them"):
        batch_options("--within", "5m", slots=False)


# Jobs that are submitted together


def together(*jobs: tuple[str, str], flags: str = "") -> dict[str, tuple[int, int]]:
    """`jobs`: each domain and the options of its script."""
    of_all = asked(*flags.split())
    read = [(domain, {**asked(*flags.split(), *words.split())}) for domain, words in jobs]
    return dict(windows_of_all(read, of_all))


def test_each_script_may_say_when_its_job_starts():
    jobs = ("a", ""), ("mira", "--start-after a:+10m"), ("polaris", "--start-after a:+20m")
    assert together(*jobs) == {"mira": (600, 600), "polaris": (1200, 1200)}


def test_within_counts_from_the_first_job():
    assert together(("a", ""), ("b", ""), flags="--within 5m") == {"b": (-300, 300)}


def test_all_end_together_by_their_time_limits():
    jobs = ("a", "--time 30"), ("b", "--time 1:00:00"), ("c", "--time 60")
    assert together(*jobs, flags="--end-together") == {"a": (1800, 1800)}
    with pytest.raises(InputError, match=r"^--end-together: needs the --time of each job, and that of b has none$"):
        together(("a", "--time 30"), ("b", ""), flags="--end-together")
    with pytest.raises(InputError, match="more than 7 days from the others"):
        together(("a", "--time 30"), ("b", "--time 8-00"), flags="--end-together")


def test_scripts_that_contradict_each_other_are_refused():
    with pytest.raises(InputError, match=r"^--to: the job of b gives that of a another window than others$"):
        together(("a", "--start-after b:1m"), ("b", "--window a:2m"))
    with pytest.raises(InputError, match=r"^--to: a has a window, as all others have"):
        together(("a", "--start-after b:1m"), ("b", "--start-after a:1m"))


# A given instant


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-23T18:00", "2026-11-23T18:00+01:00"), ("2026-11-23 18:00:05", "2026-11-23T18:00:05+01:00"),
        ("2026-11-23T18:00Z", "2026-11-23T18:00Z"), ("18:00", "2026-11-23T18:00+01:00"),
        ("09:30", "2026-11-24T09:30+01:00"), ("+2h", "2026-11-23T14:30+01:00"),
    ],
)  # fmt: skip
def test_an_instant_is_a_date_with_a_time_or_the_next_such_time_or_some_time_from_now(text, expected):
    now = datetime.fromisoformat("2026-11-23T12:30+01:00")
    assert parse_instant(text, now) == datetime.fromisoformat(expected).timestamp()


@pytest.mark.parametrize("text", ["noon", "25:00", "+soon", "2026-13-01T00:00", "-2h", ""])
def test_what_is_no_instant_is_refused(text):
    with pytest.raises(click.UsageError, match=r"is not an instant such as 2026-11-23T18:00, 18:00 or \+2h"):
        asked("--at", text)


def test_an_instant_needs_a_group_and_all_jobs_give_the_same():
    options = dict(submit.make_context("submit", ["--at", "+1h", "script"], **main.context_settings).params)
    with pytest.raises(click.UsageError, match="--at needs --group or --pair: it says when that starts"):
        check_windows(options)
    first, other = asked("--at", "2099-01-01T00:00Z"), asked("--at", "2099-01-01T00:01Z")
    assert instant_of_all([("a", first), ("b", first)]) == 4_070_908_800
    with pytest.raises(InputError, match="the jobs give different instants by --at"):
        instant_of_all([("a", first), ("b", other)])


def test_an_instant_is_to_come_and_soon():
    assert wrong_instant(1_000, 1_000) == "1970-01-01 00:16:40 UTC is 0 s ago: give an instant to come"
    assert wrong_instant(0, 28_234_279) == "1970-01-01 00:00:00 UTC is 326 d 18 h ago: give an instant to come"
    assert wrong_instant(605_801, 1_000) == "1970-01-08 00:16:41 UTC is more than 7 days from now"
    assert wrong_instant(605_800, 1_000) is None


# In the protocol, and in words


def test_the_client_names_windows():
    named = group_name("run7", ["mira"], {"mira": (-60, timedelta(minutes=5))})
    assert [(of.domain, of.earliest.seconds, of.latest.seconds) for of in named.windows] == [("mira", -60, 300)]
    assert group_name("run7", ["mira"]).SerializeToString() == b"\n\x04run7\x12\x04mira"
    assert group_name("run7", ["mira"], at=datetime(2026, 11, 23, 18, tzinfo=UTC)).at.seconds == 1_795_456_800
    with pytest.raises(ValueError, match="its instant is not of whole seconds"):
        group_name("run7", ["mira"], at=0.5)
    with pytest.raises(ValueError, match="the window of 'mira' is not of whole seconds"):
        group_name("run7", ["mira"], {"mira": (0, 0.5)})


def test_windows_are_told():
    message = job_pb2.Group(windows=group_name("run7", ["b"], {"a": (0, 600), "b": (-90, -90)}).windows)
    assert windows_found(Group(message)) == "; after the others start a +0:00 to +10:00, b -1:30"
    assert windows_found(Group(job_pb2.Group())) == ""
    message.at.seconds = 4_070_908_800
    assert windows_found(Group(message)).startswith("; starts at 20")
