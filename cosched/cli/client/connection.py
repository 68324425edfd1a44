"""The connection of a command to its domain."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cosched.cli.output.failures import FAILED, UNREACHABLE, UNUSABLE, Failure
from cosched.cli.output.plain_text import printable
from cosched.words.errors import InputError

if TYPE_CHECKING:
    from cosched.cli.own_service import OwnService
    from cosched.client import Client, ClientError

# By what commands give the fields of requests that a domain may refuse
OPTIONS = {
    "arguments": "ARGS",
    "expected": "--for",
    "group.at": "--at",
    "group.domains": "--with",
    "group.name": "--group",
    "group.windows": "--window",
    "nodelist": "--nodelist",
    "settle": "--settle",
    "terms.ends_with": "--ends-with",
    "terms.if_requeued": "--if-requeued",
    "terms.together_for": "--together-for",
    "time_limit": "--time",
    "working_directory": "--chdir",
}
_SERVER = "The domain: unix:PATH or HOST:PORT (COSCHED_SERVER, or as configured)."
server_option = click.option("--server", metavar="ADDRESS", help=_SERVER)
json_option = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@contextmanager
def connected_to(domain: str) -> Iterator[Client]:
    """Yield a client of the domain of this name for the block, as `connected`."""
    _bring_up_own(domain)
    with _connected(lambda client: client.of(domain), domain, _only_there(domain)) as client:
        yield client


@contextmanager
def connected(server: str | None, job: str = "") -> Iterator[Client]:
    """Yield a client for the block; its errors become failures of the command. `job`: as of `_chosen`."""
    if server is None:
        _bring_up_own("")
    with _connected(lambda client: _chosen(client, server, job), "--server") as client:
        yield client


def is_named(server: str | None) -> bool:
    """Whether a domain is named for all commands: by --server, COSCHED_SERVER, client.toml, or as the only one here."""
    from cosched.client.connection import server_address

    if server is not None or os.environ.get("COSCHED_SERVER"):
        return True
    try:
        return bool(server_address(None))
    except ValueError:
        return False


def _chosen(client: type[Client], server: str | None, job: str) -> Client:
    """Connect to the domain that is named for all commands, else to that of the job, DOMAIN:ID, or the only known one.

    ValueError if there is none.
    """
    from cosched.client.defaults import named_domains

    known = {} if is_named(server) else named_domains(os.environ)
    domain = job.rpartition(":")[0] or (next(iter(known)) if len(known) == 1 else "")
    if known and domain not in known:
        raise ValueError(f"no domain is named: set COSCHED_SERVER, or name the job as DOMAIN:ID, of {', '.join(known)}")
    return client.of(domain) if known else client(server)


@contextmanager
def _connected(connect: Callable[[type[Client]], Client], named: str, remedy: str = "") -> Iterator[Client]:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # else gRPC repeats the failure on standard error
    from cosched.client import Client, ClientError, Unreachable

    try:
        client = connect(Client)
    except ValueError as error:
        raise InputError(named, None, remedy or str(error)) from None
    try:
        with client:
            yield client
    except ClientError as error:
        exit_code = UNUSABLE if error.reason == "DOMAIN_NOT_FOUND" else FAILED
        raise Failure(in_words(error), UNREACHABLE if isinstance(error, Unreachable) else exit_code) from None


def _bring_up_own(domain: str) -> None:
    """Start the user's own service again, if there is one that has ended, and if it is meant."""
    own = None if os.environ.get("COSCHED_SERVER") else _own()
    if own is not None and domain in ("", own.name):
        own.bring_up()


def _own() -> OwnService | None:
    from cosched.sockets.domain_sockets import own_folder

    if not os.path.exists(own_folder(os.environ) / "service.toml"):
        return None
    from cosched.cli.own_service import OwnService  # most users have none

    return OwnService()


def _only_there(domain: str) -> str:
    """Return what to do if the domain is reached by the user's own service alone, over ssh; empty: it is not."""
    own = _own()
    logins = {} if own is None else own.logins()
    if domain not in logins:
        return ""
    by = f", by ssh {logins[domain]}" if logins[domain] else ""
    return f"no command reaches it from here: call this one there{by}"


def in_words(error: ClientError) -> str:
    """Say why a domain has refused a request; a field of it is called as the option that gives it."""
    said, field = str(error), error.metadata.get("field", "")
    if error.reason == "WRONG_DOMAIN" and field == "job.domain":
        said = said.replace("job.domain: is not", "this is a job of another domain than", 1)
        said += ", which was asked: name its own by --server ADDRESS"
    elif field in OPTIONS:
        said = said.replace(f"{field}: ", f"{OPTIONS[field]}: ", 1)
    return printable(said)
