"""The files of the protocol: what they define, that they explain themselves, and that the modules come from them."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from cosched.v1 import coscheduling_pb2, coscheduling_pb2_grpc, domain_pb2

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
FILES = sorted((PROTO / "cosched" / "v1").glob("*.proto"))
COSCHEDULING = coscheduling_pb2.DESCRIPTOR.services_by_name["CoschedulingService"]
DOMAIN = domain_pb2.DESCRIPTOR.services_by_name["DomainService"]
METHODS = [*COSCHEDULING.methods, *DOMAIN.methods]
MUTATING = {
    "TryStartMate", "StartJob", "ProposeGroupStart", "SettleGroupStart", "GetProposal", "SubmitJob", "CancelJob",
    "LinkJobs", "UnlinkJobs", "ReleaseHold", "DrainDomain", "ResumeDomain",
}  # fmt: skip


def protoc(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", *arguments, *FILES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def described(tmp_path_factory) -> list[FileDescriptorProto]:
    out = tmp_path_factory.mktemp("described") / "set"
    protoc("--include_source_info", f"--descriptor_set_out={out}")
    return list(FileDescriptorSet.FromString(out.read_bytes()).file)


# What is defined


def test_the_calls_between_domains():
    assert COSCHEDULING.full_name == "cosched.v1.CoschedulingService"
    assert [method.name for method in COSCHEDULING.methods] == [
        "GetMateJobId", "GetMateStatus", "TryStartMate", "StartJob", "GetMember", "ProposeGroupStart",
        "SettleGroupStart", "GetProposal", "TellMembers", "CompareClocks", "TellPresence",
    ]  # fmt: skip


def test_the_calls_of_users_and_operators():
    assert DOMAIN.full_name == "cosched.v1.DomainService"
    assert {method.name for method in DOMAIN.methods} == {
        "SubmitJob", "CancelJob", "LinkJobs", "UnlinkJobs", "GetJob", "ListJobs", "ReleaseHold", "DrainDomain",
        "ResumeDomain", "ListNodes", "GetDomain", "WatchEvents",
    }  # fmt: skip


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_messages_of_its_own_streams_where_events_are_watched_and_a_request_id_where_something_changes(method):
    assert method.input_type.name == f"{method.name}Request"
    assert method.output_type.name == f"{method.name}Response"
    assert not method.client_streaming
    assert method.server_streaming == (method.name == "WatchEvents")
    assert ("request_id" in method.input_type.fields_by_name) == (method.name in MUTATING)


def test_enums_begin_with_unspecified_and_none_takes_unknown_for_it(described):
    enums = [enum for file in described for enum in file.enum_type]
    assert len(enums) >= 7
    for enum in enums:
        assert enum.value[0].number == 0
        assert enum.value[0].name.endswith("_UNSPECIFIED")
    unknown = [value.number for enum in enums for value in enum.value if value.name.endswith("_UNKNOWN")]
    assert len(unknown) >= 4
    assert 0 not in unknown


def test_times_are_timestamps_and_durations(described):
    names = re.compile(r"(_at|_until|_since|_before|^slot|^at|^now|^since|_limit|_interval|^gap|round_trip)$")
    timed = [field for file in described for m in file.message_type for field in m.field if names.search(field.name)]
    assert len(timed) > 12
    for field in timed:
        assert field.type_name in (".google.protobuf.Timestamp", ".google.protobuf.Duration"), field.name


def test_the_field_number_kept_for_groups_is_free():
    for method in COSCHEDULING.methods:
        for message in (method.input_type, method.output_type):
            assert 11 not in {field.number for field in message.fields}


@pytest.mark.parametrize("call", ["TryStartMate", "StartJob"])
def test_orders_and_their_answers_carry_an_instant_of_start(call):
    method = COSCHEDULING.methods_by_name[call]
    for message in (method.input_type, method.output_type):
        field = message.fields_by_name["start_at"]
        assert (field.number, field.message_type.full_name) == (10, "google.protobuf.Timestamp")


def test_a_job_can_have_several_mates():
    for message in ("Job", "SubmitJobRequest"):
        mates = domain_pb2.DESCRIPTOR.pool.FindMessageTypeByName(f"cosched.v1.{message}").fields_by_name["mates"]
        assert mates.is_repeated


# That the files explain themselves


def text_of(name: str) -> str:
    """All the comments of a file as running text."""
    lines = (PROTO / "cosched" / "v1" / name).read_text(encoding="utf-8").splitlines()
    return " ".join(" ".join(line.strip()[2:] for line in lines if line.strip().startswith("//")).split())


def paths(file: FileDescriptorProto) -> list[tuple[int, ...]]:
    """The paths of all that must have a comment: services, calls, messages, fields, oneofs, enums, values."""
    found: list[tuple[int, ...]] = []
    for i, service in enumerate(file.service):
        found += [(6, i), *((6, i, 2, j) for j in range(len(service.method)))]
    for i, message in enumerate(file.message_type):
        oneofs = {f.oneof_index for f in message.field if f.HasField("oneof_index") and not f.proto3_optional}
        found += [(4, i), *((4, i, 2, j) for j in range(len(message.field))), *((4, i, 8, j) for j in oneofs)]
    for i, enum in enumerate(file.enum_type):
        found += [(5, i), *((5, i, 2, j) for j in range(len(enum.value)))]
    return found


def test_everything_has_a_comment(described):
    assert len(described) == len(FILES)
    for file in described:
        comments = {tuple(place.path): place.leading_comments.strip() for place in file.source_code_info.location}
        assert paths(file)
        for path in paths(file):
            assert len(comments[path]) >= 5, (file.name, path)


@pytest.mark.parametrize(
    "subject",
    [
        "ALGORITHM 1", "HOLD GENERATIONS", "CROSSING CALLS", "REQUEST IDS", "OUTCOMES", "ERRORS", "IDENTITY",
        "LIMITS", "AGREED START", "SLOTS.", "NEWS.", "THE PLACE OF ONE THAT HAS ENDED.", "AFTER THE START.",
        "may_book", "by the clock of the called domain, in whole seconds", "CHANGES,", "Wanted:", "hold ", "yield ",
        "google.rpc.ErrorInfo", "IS AN ANSWER (started = false), NOT AN ERROR", "start_at",
    ],
)  # fmt: skip
def test_the_protocol_explains(subject):
    assert subject in text_of("coscheduling.proto")


@pytest.mark.parametrize("file", ["coscheduling.proto", "domain.proto"])
def test_the_reasons_of_errors_are_listed(file):
    rows = re.findall(r"^//   ([A-Z_]+) +([A-Z_]+(?:, [A-Z_]+)*) ", (PROTO / "cosched/v1" / file).read_text(), re.M)
    codes = {row[0] for row in rows}
    assert len(rows) >= 6
    assert "INVALID_ARGUMENT" in codes
    assert codes <= {code.name for code in grpc.StatusCode}


def test_lines_are_no_longer_than_120_characters():
    for file in FILES:
        assert max(map(len, file.read_text(encoding="utf-8").splitlines())) <= 120, file.name


# That the modules come from the files


def generated(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "cosched" / "v1").glob("*_pb2*.py*"))}


def test_the_generated_modules_are_up_to_date(tmp_path):
    protoc(f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", f"--grpc_python_out={tmp_path}")
    fresh, committed = generated(tmp_path), generated(ROOT)
    assert len(fresh) == 3 * len(FILES)
    assert list(fresh) == list(committed), "run `make proto`"
    stale = [name for name in fresh if fresh[name] != committed[name]]
    assert not stale, f"run `make proto`: {stale}"


def test_the_versions_are_locked_together():
    assert version("grpcio-tools") == coscheduling_pb2_grpc.GRPC_GENERATED_VERSION
    needed = tuple(map(int, coscheduling_pb2_grpc.GRPC_GENERATED_VERSION.split(".")))
    assert tuple(map(int, version("grpcio").split("."))) >= needed


def buf(*arguments: str) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).with_name("buf")
    program = str(beside) if beside.exists() else shutil.which("buf")
    if program is None:
        pytest.skip("buf is not installed: `pip install buf-bin` to lint the protocol")
    return subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("command", [("lint",), ("format", "--diff", "--exit-code")])
def test_buf_finds_nothing_to_say_and_would_have_formatted_them_so(command):
    done = buf(*command, "proto")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
