"""`cosched submit`: flags, directives, what is sent and what is said."""

import os
import re

import pytest

from cosched.cli.client.submit import submit
from cosched.v1 import cluster_pb2, coscheduling_pb2, explain_pb2, job_pb2
from cosched.v1.domain_pb2 import SubmitJobRequest
from tests.installed import PAPERS

SCRIPT = "#!/bin/sh\ntrue\n"
NO_ANSWER = "no answer from eureka about its mate yet: it is asked again as soon as it answers"
NO_SUCH_PAIR = (  # of an older domain, which does not say why
    "eureka knows no such pair: eureka:3 is not there, has ended, or is another job's mate or another user's"
)
ARGUMENTS = ("script", "arguments")
pytestmark = pytest.mark.usefixtures("domain")


@pytest.fixture
def script(tmp_path):
    """Write job.sh, with these lines after the first."""

    def write(*lines):
        (tmp_path / "job.sh").write_text("\n".join(["#!/bin/sh", *lines, "true", ""]))
        return "job.sh"

    return write


@pytest.fixture
def asked(cosched, domain):
    """Submit so; what the domain was asked for."""

    def run(*arguments, **options):
        cosched("submit", *arguments, **options)
        [request] = [request for request in domain.requests if isinstance(request, SubmitJobRequest)]
        return request

    return run


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_has_all_options_under_headings(cosched, option):
    told, _, more = cosched("submit", option).stdout.partition("Show this message and exit.\n")
    assert "Its mate is a job on another domain" in more, "the options come before most of the text"
    assert ("--least N" in told) is PAPERS  # of a kind of scheduler
    parts = re.split(r"^(\w+):\n", told, flags=re.MULTILINE)
    options = {heading: re.findall(r"^  (?:-\w, )*(--[\w-]+)", part, re.MULTILINE) for heading, part in
               zip(parts[1::2], parts[2::2], strict=True)}  # fmt: skip
    assert [*options] == ["Job", "Mate", "Group", "Life", "Machines", "Timing", "Options"]
    assert options["Mate"] == ["--mate", "--pair", "--pair-domain", "--or-alone", "--adoptable"]
    assert options["Options"] == ["--parsable", "--server", "--help"]
    assert "--end-together" in options["Timing"]
    names = [name for found in options.values() for name in found]
    assert len(names) == len(set(names)) == len([param for param in submit.params if param.name not in ARGUMENTS]) + 1
    assert len(re.findall(r"^    cosched submit ", told, re.MULTILINE)) == 4


def test_nodes_by_name_are_sent_as_a_column_and_are_as_many_as_they_are(asked, script):
    request = asked("--nodelist", "slot3,slot1", script())
    assert (request.nodes, dict(request.columns)) == (2, {"nodelist": "slot3,slot1"})


def test_a_script_says_what_its_job_does_when_others_end(asked, script):
    lines = "#COSCHED --pair=x --ends-with=eureka,mira --fail-together", "#COSCHED --if-requeued=requeue"
    terms = asked("--together-for", "90s", script(*lines)).terms
    assert (list(terms.ends_with), terms.fail_together, terms.together_for.seconds) == (["eureka", "mira"], True, 90)
    assert terms.if_requeued == job_pb2.IF_REQUEUED_REQUEUE


def test_a_script_that_names_its_pair_may_be_submitted_in_the_place_of_another_job(asked, script):
    request = asked("--in-place-of", "17", script("#COSCHED --pair=x --or-alone --ends-with=eureka"))
    assert (request.in_place_of.job_id, len(request.mates), request.or_alone) == ("17", 0, False)
    assert list(request.terms.ends_with) == ["eureka"]


@pytest.mark.parametrize(
    ("flags", "said"), [([], "Submitted job 17 to intrepid\n"), (["--parsable", "--pair", "run7"], "17\n")]
)
def test_it_says_id_and_domain_or_the_id_alone(cosched, script, flags, said):
    result = cosched("submit", *flags, script())
    assert (result.stdout, result.stderr) == (said, "")


@pytest.mark.parametrize(
    ("lookup", "said"),
    [
        (coscheduling_pb2.MATE_LOOKUP_UNSUBMITTED, "its mate is not submitted yet to eureka\n"),
        (coscheduling_pb2.MATE_LOOKUP_NO_PAIR, f"{NO_SUCH_PAIR}: it waits until it is linked or unlinked\n"),
        (coscheduling_pb2.MATE_LOOKUP_FOUND, "its mate is eureka:3 (queuing)\n"),
        (coscheduling_pb2.MATE_LOOKUP_UNSPECIFIED, f"{NO_ANSWER}\n"),
    ],
)
def test_what_the_mates_domain_said(cosched, script, domain, lookup, said):
    domain.mate_lookup = lookup
    result = cosched("submit", "--mate", "eureka:3", script())
    assert (result.stdout, result.stderr) == ("Submitted job 17 to intrepid\n", said)


def test_a_job_that_will_start_alone_is_not_passed_over(cosched, script, domain):
    domain.mate_lookup = coscheduling_pb2.MATE_LOOKUP_NO_PAIR
    result = cosched("submit", "--parsable", "--mate", "eureka:3", script())
    assert result.stdout == "17\n"
    assert NO_SUCH_PAIR in result.stderr


def test_options_for_slurm_are_not_silently_passed_over(cosched, script):
    result = cosched("submit", script("#SBATCH --nodes=3", "#SBATCH --time=5"))
    said = "job.sh:2: #SBATCH lines are not read by intrepid: options stand in #COSCHED lines\n"
    assert (result.stdout, result.stderr) == ("Submitted job 17 to intrepid\n", said)
    assert cosched("submit", script("true", "#SBATCH --nodes=3")).stderr == ""


def test_a_name_that_comes_near_is_asked_for(cosched, script, domain):
    told = domain.explanations["17"] = explain_pb2.Explanation()
    told.mates.add(problem="pair Run7 of ann waits on eureka for a mate on intrepid; did you mean it?", near="Run7")
    said = cosched("submit", "--pair", "run7", "--pair-domain", "eureka", script()).stderr.splitlines()
    assert said == ["its mate is not submitted yet to eureka", told.mates[0].problem]


def test_a_submission_succeeds_though_nobody_explains_it(cosched, script, domain):
    domain.explanations["99"] = explain_pb2.Explanation()  # it knows nothing of job 17
    result = cosched("submit", "--pair", "run7", "--pair-domain", "eureka", script())
    assert (result.stdout, result.stderr) == (
        "Submitted job 17 to intrepid\n", "its mate is not submitted yet to eureka\n"
    )  # fmt: skip


def test_a_job_that_can_never_hold_is_told(cosched, script, domain):
    domain.domain.scheme, domain.domain.max_held_fraction = cluster_pb2.SCHEME_HOLD, "0.5"
    domain.domain.nodes.idle = 8
    assert cosched("submit", "-N", "5", script()).stderr == ""
    assert "cannot hold" not in cosched("submit", "-N", "4", "--pair", "p", script()).stderr
    said = cosched("submit", "-N", "5", "--pair", "q", script()).stderr
    assert "job 19 cannot hold its nodes for its mate, only yield: 5 of 8 nodes are more than" in said
    domain.domain.slots = True
    assert "cannot hold" not in cosched("submit", "-N", "5", "--pair", "r", script()).stderr
    domain.domain.scheme, domain.domain.slots = cluster_pb2.SCHEME_YIELD, False
    assert "cannot hold" not in cosched("submit", "-N", "5", "--pair", "s", script()).stderr


@pytest.mark.papers
def test_what_schedulers_read_beside_the_size_is_sent_as_it_is_written(asked, script):
    """Each that an installed kind reads has its option; any other one is named."""
    request = asked("-N", "4", "--least", "2", "--column", "deadline=5 PM", script("#COSCHED --model=parabolic"))
    assert dict(request.columns) == {"least": "2", "model": "parabolic", "deadline": "5 PM"}
    assert request.least_nodes == 2  # earlier services know no other


@pytest.mark.papers
@pytest.mark.parametrize(
    ("flags", "columns"),
    [
        (["-N", "8", "--moldable"], {"moldable": "1"}),
        (["--nodes", "4-16", "--best", "8"], {"min_nodes": "4", "max_nodes": "16"}),
        (["-N", "8", "--min-nodes", "4"], {"min_nodes": "4"}),
    ],
)
def test_a_moldable_job_says_so_and_may_bound_its_sizes(asked, script, flags, columns):
    request = asked(*flags, script("#COSCHED --nodes=2-4 --best=3"))
    assert (request.nodes, dict(request.columns)) == (8, columns)


@pytest.mark.papers
@pytest.mark.parametrize(
    ("flags", "best"),
    [
        (["--nodes", "4-7", "--run-times", "4:900 5:780 6:760 7:750"], 5),
        (["--nodes", "6-9", "--run-times", "4:900 5:780 6:760 7:750"], 6),
        (["--nodes", "8-9", "--run-times", "4:900 5:780 6:760 7:750"], 8),  # which its domain refuses
        (["--nodes", "1-16", "--downey-a", "4", "--downey-sigma", "0"], 4),
    ],
)
def test_the_best_size_of_a_range_follows_from_run_times(cosched, script, domain, flags, best):
    """N_PWS: the size with the greatest S(n)^2 / n (molding.md, Live)."""
    said = cosched("submit", *flags, script()).stderr
    assert f"by its run times its best size is {best} nodes: --time is for these" in said
    [request] = [each for each in domain.requests if type(each).__name__ == "SubmitJobRequest"]
    assert request.nodes == best
    least, _, most = flags[1].partition("-")
    assert (request.columns["min_nodes"], request.columns["max_nodes"]) == (least, most)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--nodes", "16-4"], "16-4 ends before it begins: 4 is less than 16"),
        (["--nodes", "0-4"], "0 is below 1"),
        (["--nodes", "4-"], "'4-' is not a number of nodes, such as 8, or a range, such as 4-16"),
        (["--nodes", "4-16"], "--nodes 4-16 needs --best N, the size for which --time is given, or --run-times on all"),
        *(
            pytest.param(["--nodes", *flags], f"cosched: {said}", marks=pytest.mark.papers)
            for flags, said in [
                (("4-5", "--run-times", "4:9 5:10"), "--run-times: 10 s on 5 nodes are more than 9 s on 4"),
                (("4-16", "--downey-a", "8"), "--downey-sigma: missing, which says how sizes change"),
            ]
        ),
        (["--nodes", "4-16", "--best", "3"], "--best 3 is not in the range of --nodes, 4-16"),
        (["--nodes", "4", "--best", "4"], "--best needs a range of --nodes, MIN-MAX"),
    ],
)
def test_a_range_of_nodes_that_cannot_be_is_refused_in_a_line(cosched, script, domain, flags, said):
    assert said in cosched("submit", *flags, script(), exit_code=2).stderr
    assert "SubmitJobRequest" not in {type(request).__name__ for request in domain.requests}


def test_or_alone_is_asked_for(asked, script):
    assert asked("--or-alone", script("#COSCHED --mate=eureka:3")).or_alone


@pytest.mark.parametrize(
    ("flags", "line", "adoptable"),
    [
        (("--adoptable",), "", True),
        ((), "#COSCHED --adoptable", True),
        (("--adoptable",), "#COSCHED --pair=run7 --or-alone", True),
        (("--pair", "run7"), "#COSCHED --adoptable", False),
    ],
)
def test_a_job_that_may_be_adopted_names_nobody_and_flags_win(asked, script, flags, line, adoptable):
    request = asked(*flags, script(line))
    assert (request.adoptable, len(request.mates), request.or_alone) == (adoptable, int(not adoptable), False)


def test_all_flags(asked, script, tmp_path):
    (tmp_path / "sub").mkdir()
    shape = "-N", "4", "-t", "1-02:03:04", "-J", "flow"
    mate = "--pair", "run7", "--pair-domain", "eureka"
    place = "--hold", "-D", "sub", "--export", "X=1"
    request = asked(*shape, *mate, *place, script(), "--verbose", "a b")
    assert (request.nodes, request.time_limit.seconds, request.name) == (4, 93_784, "flow")
    assert (request.mates[0].pair.name, request.mates[0].pair.domain) == ("run7", "eureka")
    assert (request.hold, request.working_directory) == (True, str(tmp_path / "sub"))
    assert (list(request.arguments), dict(request.environment)) == (["--verbose", "a b"], {"X": "1"})
    assert request.script == SCRIPT.encode()


def test_what_is_taken_without_flags(asked, script, tmp_path, monkeypatch):
    monkeypatch.setenv("COLOUR", "blue")
    request = asked(script())
    assert (request.nodes, request.name, request.working_directory) == (1, "job.sh", str(tmp_path))
    assert not request.HasField("time_limit")
    assert request.environment["COLOUR"] == "blue"


def test_a_script_from_standard_input(asked):
    request = asked("-", "argument", input=SCRIPT)
    assert (request.script, request.name, list(request.arguments)) == (SCRIPT.encode(), "", ["argument"])


LINES = "#COSCHED --nodes=4 --time=1:00", "# a comment", "", "#COSCHED -J 'a b' --pair=x", "#COSCHEDULING --none"


@pytest.mark.parametrize(
    ("flags", "lines", "nodes", "name", "seconds"),
    [
        ([], LINES, 4, "a b", 60),
        ([], ["#COSCHED -N 2", "#COSCHED -N 3"], 3, "job.sh", 0),  # a later one wins
        ([], ["cd /tmp", "#COSCHED --nodes=4"], 1, "job.sh", 0),  # they end at the first command
        (["-N", "1", "-J", "mine"], ["#COSCHED --nodes=4 --time=5 --job-name=theirs"], 1, "mine", 300),
    ],
)
def test_directives(asked, script, flags, lines, nodes, name, seconds):
    request = asked(*flags, script(*lines))
    assert (request.nodes, request.name, request.time_limit.seconds) == (nodes, name, seconds)
    assert [mate.pair.name for mate in request.mates] == ["x"] * (lines is LINES)


@pytest.mark.parametrize("given", ["2m", "120s", "2:00", "2"])
def test_a_time_limit_with_a_unit_and_without(asked, script, given):
    assert asked(script(f"#COSCHED -t {given}")).time_limit.seconds == 120


def test_a_mate_named_by_a_flag_displaces_the_directive_s(asked, script):
    request = asked("--mate", "eureka:3", script("#COSCHED --pair=x --pair-domain=eureka"))
    assert (request.mates[0].job.job_id, request.mates[0].pair.name) == ("3", "")


@pytest.mark.parametrize(
    ("directive", "problem"),
    [
        ("--nodes=none", "Invalid value for '-N' / '--nodes': 'none' is not a number of nodes"),
        ("--nodes=0", "Invalid value for '-N' / '--nodes': 0 is below 1"),
        ("--time=1:99", "Invalid value for '-t' / '--time': '1:99' has a part that is too large"),
        ("--mate=3", "Invalid value for '--mate': '3' is not DOMAIN:ID"),
        ("--pair='bad name!'", "Invalid value for '--pair': 'bad name!' cannot be the name of a pair: 1 to 128 of A-Z"),
        ("--parsable", "No such option '--parsable'."),
        ("-J 'open", "No closing quotation"),
        ("job.sh", "Got unexpected extra argument (job.sh)"),
    ],
)
def test_a_bad_directive_is_named_with_its_line(refused, domain, script, directive, problem):
    assert refused("submit", script("# a comment", f"#COSCHED {directive}")).startswith(f"job.sh:3: {problem}")
    assert domain.requests == []


def test_a_script_with_other_line_ends_and_bytes_that_are_no_text(asked, tmp_path):
    (tmp_path / "job.sh").write_bytes(b"#!/bin/sh\n# \xff\r\n#COSCHED -N 3\r\ntrue\r\n")
    request = asked("job.sh")
    assert request.nodes == 3
    assert b"\xff" in request.script


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--mate eureka:3 --pair x", "--mate and --pair exclude each other"),
        ("--pair-domain eureka", "--pair-domain needs --pair"),
        *(
            (f"--adoptable {named}", "--adoptable is for a job that names nobody: leave out --mate, --pair and --group")
            for named in ("--pair p", "--mate eureka:3", "--group g --with eureka,mira")
        ),
        ("--mate 3", "'3' is not DOMAIN:ID"),
        ("--pair=", "'' cannot be the name of a pair: 1 to 128 of A-Z a-z 0-9 and _ . : , + = @ / -"),
        ("-t soon", "'soon' is not a time such as 90 (minutes)"),
        ("-N 0", "0 is below 1"),
        ("-w slot3,,slot1", "--nodelist needs names of nodes, joined by commas"),
        ("--column deadline", "--column deadline: give NAME=TEXT"),
        ("--column =5", "--column =5: give NAME=TEXT"),
        ("--ends-with eureka", "--ends-with needs --mate, --pair or --group"),
        ("--pair x --ends-with eureka,eureka", "'eureka,eureka' is not DOMAIN or DOMAIN,DOMAIN,..., each once"),
        ("--pair x --if-requeued end --together-for 10m", "--together-for needs --if-requeued=requeue"),
        ("--in-place-of 17 --pair x", "--in-place-of gives the job the mates of the other one: name no others"),
    ],
)
def test_flags_that_cannot_be_meant(refused, domain, script, flags, said):
    told = refused("submit", *flags.split(), script())
    assert said in told
    assert told.endswith("Try 'cosched submit -h'")
    assert domain.requests == [] or flags.startswith("--column")


@pytest.mark.parametrize(("given", "sent"), [("A,C=x=y", {"A": "1", "C": "x=y"}), ("NONE", {})])
def test_variables_by_name(asked, script, monkeypatch, given, sent):
    monkeypatch.setenv("A", "1")
    monkeypatch.setenv("B", "2")
    assert dict(asked("--export", given, script()).environment) == sent


def test_variables_that_cannot_be_sent_are_left_out(asked, script, monkeypatch):
    monkeypatch.setenv("FINE", "1")
    monkeypatch.setenv("BYTES", os.fsdecode(b"\xff"))
    monkeypatch.setenv("LONG", "x" * 32_769)
    request = asked("--export=ALL,MORE=2", script())
    assert not {"BYTES", "LONG"} & request.environment.keys()
    assert {"FINE", "MORE"} <= request.environment.keys()


def test_variables_that_were_asked_for_must_be_there(refused, script, monkeypatch):
    monkeypatch.setenv("BYTES", os.fsdecode(b"\xff"))
    assert refused("submit", "--export=NOWHERE", script()) == "--export: the variable 'NOWHERE' is not set"
    assert "'BYTES' cannot be sent" in refused("submit", "--export=BYTES", script())


def test_only_jobs_of_slurm_have_comments(refused, domain, script):
    line = "--comment: jobs of intrepid have no comments, as those of Slurm do"
    assert refused("submit", "--comment", "words", script()) == line
    assert refused("submit", script("#COSCHED --comment=words")) == line
    assert not [request for request in domain.requests if isinstance(request, SubmitJobRequest)]


# Groups


def test_a_group_names_the_domains_of_its_other_jobs(asked, script):
    request = asked(script("#COSCHED --group=run7 --with=eureka,mira"))
    assert (request.group.name, list(request.group.domains)) == ("run7", ["eureka", "mira"])
    assert not request.mates


def test_a_pair_on_the_command_line_replaces_the_scripts_group(asked, script):
    request = asked("--pair", "run8", script("#COSCHED --group=run7 --with=eureka,mira"))
    assert not request.HasField("group")
    assert request.mates[0].pair.name == "run8"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--group", "g", "job.sh"], "--group NAME needs --with DOMAIN,..., the domains of the others"),
        (["--with", "a", "job.sh"], "--group NAME needs --with DOMAIN,..., the domains of the others"),
        (["--group", "g", "--with", "a,b,a", "job.sh"], "'a' is named twice: a group has one job on each domain"),
        (["--group", "g", "--with", "a,b/c", "job.sh"], "'b/c' is not a domain name"),
        (["--group", "g", "--with", ",".join(f"d{i}" for i in range(16)), "job.sh"], "'d15' is one too many: a group"),
        (["--group", "17", "--with", "a,b", "job.sh"], "a name that ends in a number alone is taken for a job"),
        (["--group", "g h", "--with", "a,b", "job.sh"], "the name of a group is 1 to 128 of"),
        (["--group", "g", "--with", "a,b", "--pair", "p", "job.sh"], "--group excludes --mate and --pair"),
        (["--to", "a:job.sh", "--to", "b:job.sh"], "--to needs a name for the jobs: --pair NAME of two, or"),
        (["--group", "g", "--to", "a:job.sh"], "--to is given once for each job of the group, at least twice"),
        (["--group", "g", "--to", "a:job.sh", "--to", "a:job.sh"], "'a' is named twice"),
        (["--group", "g", "--to", "job.sh"], "'job.sh' is not DOMAIN:SCRIPT"),
        (["--group", "g", "--to", "a:job.sh", "--to", "b:job.sh", "job.sh"], "it excludes SCRIPT, ARGS and --server"),
        (["--group", "g", "--with", "b", "--to", "a:job.sh", "--to", "b:job.sh"], "it excludes --mate, --with"),
    ],
)
def test_a_group_that_cannot_be_is_refused_in_a_line(cosched, script, arguments, said):
    script()
    result = cosched("submit", *arguments, exit_code=2)
    assert said in result.stderr.splitlines()[-1], result.stderr


def test_a_domain_without_a_known_address_is_named_and_nothing_submitted(cosched, script, domain):
    result = cosched("submit", "--group", "g", f"--to=intrepid:{script()}", "--to=mira:job.sh", exit_code=2)
    assert "set COSCHED_DOMAINS to intrepid=ADDRESS" in result.stderr
    assert not [request for request in domain.requests if isinstance(request, SubmitJobRequest)]
