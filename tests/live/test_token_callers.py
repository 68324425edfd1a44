"""Users with tokens at a real service: each is one user of the host, and neither an operator nor a peer."""

import json
import time

import grpc
import pytest

from cosched.certificates.pem import server_name
from cosched.client import Client, ClientError, Tls
from cosched.v1 import coscheduling_pb2 as wire
from cosched.v1 import page_pb2
from cosched.v1.coscheduling_pb2_grpc import CoschedulingServiceStub
from cosched.v1.page_pb2_grpc import PageServiceStub
from cosched.v1.rendezvous_pb2 import GetPlaceRequest
from cosched.v1.rendezvous_pb2_grpc import RendezvousServiceStub
from tests.live.forked import ran
from tests.live.other_users import USERS, a_public_folder, needs_root
from tests.live.secured import SITE, refusal, secure
from tests.live.services import Service, free_port, script_that_notes, wait_until
from tests.service.issuer import URL, Issuer
from tests.service.pki import Pki


class World:
    """The service b, its peer a, of whom nobody is there, an issuer, and a job of ours that holds: a's job 7's mate."""

    def __init__(self, service: Service, pki: Pki, issuer: Issuer, address: str) -> None:
        self.service, self.pki, self.issuer, self.address = service, pki, issuer, address
        with service.client() as client:
            self.job = client.submit(script_that_notes(service.folder), mate="a:7")
            wait_until(lambda: client.job(self.job).state == "holding")

    def client(self, user: str, **claims) -> Client:
        """A client with a token of this user; no two of them live at a time."""
        file = self.issuer.file(self.issuer.token(sub=user, **claims))
        return Client(self.address, tls=Tls(self.pki.folder / "ca.pem", server_identity=f"{SITE}b", token=file))

    def command(self, *arguments: str):
        environment = {
            "COSCHED_SERVER": self.address,
            "COSCHED_CA": str(self.pki.folder / "ca.pem"),
            "COSCHED_SERVER_IDENTITY": f"{SITE}b",
            "COSCHED_TOKEN_FILE": str(self.issuer.folder / "token"),
        }
        return ran([*arguments], self.issuer.folder, {**self.service.environment, **environment})


@pytest.fixture
def world(make_service, pki, tmp_path):
    service, issuer = make_service("b", on_peer_unreachable="hold"), Issuer(tmp_path)
    address = f"127.0.0.1:{free_port()}"
    pki.files("b")
    secure(service, pki.folder, [make_service("a")])
    service.config["domain"]["operators"] = [USERS[0]]
    service.config["tokens"] = issuer.section(address)
    return World(service.start(), pki, issuer, address)


@needs_root
def test_a_job_submitted_with_a_token_runs_as_its_user_whom_no_other_token_stands_for(world):
    other, user = USERS  # the other is an operator at the Unix socket, and by no token
    with a_public_folder() as folder:
        with world.client(user) as client:
            job = client.submit("#!/bin/sh\nid -un > who\nsleep 600\n", directory=folder)
            assert wait_until(lambda: (folder / "who").exists() and (folder / "who").read_text()) == f"{user}\n"
            assert {each.id for each in client.jobs()} == {job.id, world.job.id}
        with world.client(other) as client:
            for change in (lambda: client.cancel(job), lambda: client.cancel(world.job), lambda: client.drain()):
                with pytest.raises(ClientError) as caught:
                    change()
                assert caught.value.reason == "NOT_OWNER"
        with world.client(user) as client:
            client.cancel(job)
            wait_until(lambda: client.job(job).state == "cancelled")
    audit, via = world.service.rows("SELECT who, via, method, outcome FROM audit"), f"token of {URL}, sub "
    assert (user, f"{via}'{user}'", "CancelJob", "OK") in audit
    assert (other, f"{via}'{other}'", "CancelJob", "PERMISSION_DENIED") in audit


def test_the_calls_of_domains_are_not_there_and_a_token_speaks_for_no_domain(world):
    token = grpc.access_token_call_credentials(world.issuer.token())
    files = ((world.pki.folder / file).read_bytes() for file in ("ca.pem", "b.key", "b.pem"))
    tls = grpc.ssl_channel_credentials(*files)
    name = [("grpc.ssl_target_name_override", server_name(f"{SITE}b"))]
    asked = {"job": {"domain": "b", "job_id": world.job.id}, "caller": {"domain": "a", "job_id": "7"}}
    with grpc.secure_channel(world.address, grpc.composite_channel_credentials(tls, token), name) as channel:
        calls, pages = CoschedulingServiceStub(channel), PageServiceStub(channel)
        assert refusal(calls.GetMateStatus, wire.GetMateStatusRequest(**asked)) == ("UNIMPLEMENTED", "")
        assert refusal(calls.StartJob, wire.StartJobRequest(**asked, request_id="1")) == ("UNIMPLEMENTED", "")
        assert refusal(pages.DescribeJobs, page_pb2.DescribeJobsRequest(domain="a")) == ("UNIMPLEMENTED", "")
        place = refusal(RendezvousServiceStub(channel).GetPlace, GetPlaceRequest(**asked))
        assert place == ("PERMISSION_DENIED", "PEER_UNKNOWN")
    with world.service.client() as client:
        assert client.job(world.job).state == "holding"


def test_commands_say_in_one_line_what_is_wrong_with_a_token(world):
    world.issuer.file(world.issuer.token())
    done = world.command("domains", "--json")
    assert json.loads(done.stdout)["name"] == "b"
    for token, said in (
        (world.issuer.token(exp=int(time.time()) - 9), "cosched: the token has expired at 20"),
        (world.issuer.token(sub="root"), "cosched: no token is taken for root, who has the rights of root or of the"),
        (world.issuer.token(sub="no-such"), "cosched: no-such has no account on this host: ask the domain's operators"),
        ("two words", f"cosched: --server: {world.issuer.folder}/token holds no token: one line is expected"),
    ):
        world.issuer.file(token)
        done = world.command("queue")
        assert done.stderr.startswith(said)
        assert done.stderr.count("\n") == 1
        assert token not in done.stderr + world.service.log
    (world.issuer.folder / "token").unlink()
    done = world.command("queue")
    assert (done.returncode, done.stderr) == (1, f"cosched: {world.issuer.folder}/token: No such file or directory\n")
    assert "no-such has no account on this host" in world.service.log


def test_a_token_at_the_listener_for_certificates_says_where_it_is_for(world):
    file = world.issuer.file(world.issuer.token())
    tls = Tls(world.pki.folder / "ca.pem", server_identity=f"{SITE}b", token=file)
    with Client(world.service.address, tls=tls) as client, pytest.raises(ClientError) as caught:
        client.domain()
    assert str(caught.value) == (
        f"{world.service.address} wants a certificate of its user: set COSCHED_CERTIFICATE and COSCHED_KEY; "
        "tokens are for another port of the domain, if it takes any"
    )
