"""`cosched certs`: a small certificate authority for a site's policy domains and users."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cosched.cli.output.terminal import say

if TYPE_CHECKING:
    from cosched.certificates.authority import Authority, Issued

AUTHORITY_DAYS, DAYS, MOST_DAYS = 3650, 365, 36_500
_HOSTS = "Where users reach the domain; several are allowed (localhost, 127.0.0.1, ::1)."
_FOLDER, _DAYS = click.Path(path_type=Path, file_okay=False), click.IntRange(1, MOST_DAYS)


@click.group(short_help="Make and issue certificates for domains and users.")
def certs() -> None:
    """Make a certificate authority, and issue certificates for policy domains and users.

    Domains know each other, and users, by the URI in a certificate: spiffe://SITE/cosched/NAME is a domain,
    spiffe://SITE/cosched/user/NAME a user. A running service uses replaced files without a restart.
    """


@certs.command(short_help="Make a certificate authority.")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--site", metavar="NAME", default="site", help="The first part of all identities (site).")
@click.option("--days", type=_DAYS, default=AUTHORITY_DAYS, help=f"How long it is valid ({AUTHORITY_DAYS}).")
def init(folder: Path, site: str, days: int) -> None:
    """Make a certificate authority in DIR: ca.pem for all domains, and ca.key, which must stay in a safe place."""
    from cosched.certificates.authority import init_authority

    made = init_authority(folder, site, days)
    _say_written(made, f"certificate authority of {made.identity}")
    say(f"Next: cosched certs issue {folder} NAME, for each domain.")


@certs.command("issue", short_help="Issue a certificate to a domain or a user.")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("name", metavar="NAME")
@click.option("--user", is_flag=True, help="NAME is a user, not a domain.")
@click.option("--host", "hosts", multiple=True, metavar="HOST_OR_IP", help=_HOSTS)
@click.option("--days", type=_DAYS, default=DAYS, help=f"How long it is valid ({DAYS}).")
@click.option("--out", type=_FOLDER, metavar="DIR2", help="Write here, not to DIR.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def issue_command(
    folder: Path, name: str, user: bool, hosts: tuple[str, ...], days: int, out: Path | None, force: bool
) -> None:
    """Issue NAME.pem and NAME.key with the certificate authority in DIR, and print what to put in the configuration."""
    from cosched.certificates.authority import LOCAL_HOSTS, issue, open_authority

    if user and hosts:
        raise click.UsageError("--host is for domains, not for users.")
    authority = open_authority(folder)
    issued = issue(authority, name, out or folder, user=user, hosts=hosts or LOCAL_HOSTS, days=days, force=force)
    _say_written(issued, f"certificate of {issued.identity}")
    click.echo(_for_users(authority) if user else _for_domains(folder, name, issued))


@certs.command("revoke", short_help="Revoke certificates, or renew the list of revoked ones.")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("certificates", metavar="[CERTIFICATE.pem]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--days", type=_DAYS, default=DAYS, help=f"When a newer list is due ({DAYS}).")
def revoke_command(folder: Path, certificates: tuple[Path, ...], days: int) -> None:
    """Add certificates to the list DIR/ca.crl, signed anew by the authority in DIR; without any, renew the list.

    Copy the list to all domains that have it as tls.crl: they refuse these certificates from then on.
    """
    from cosched.certificates.authority import open_authority, revoke

    path, number, until = revoke(open_authority(folder), folder, certificates, days)
    say(f"{path}: {number} revoked, a newer list is due by {_utc(until)}")


def _say_written(issued: Issued, what: str) -> None:
    say(f"{issued.certificate}: {what}, valid until {_utc(issued.until)}")
    say(f"{issued.key}: its private key")


def _utc(instant: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(instant))


def _for_domains(folder: Path, name: str, issued: Issued) -> str:
    from cosched.certificates.authority import CA_CERTIFICATE

    return f"""\
# In the configuration of {name}:
[tls]
ca = {_toml(folder / CA_CERTIFICATE)}
certificate = {_toml(issued.certificate)}
key = {_toml(issued.key)}

# In the configurations of its peers:
[[peer]]
name = {json.dumps(name)}
address = "HOST:PORT"
identity = {json.dumps(issued.identity)}"""


def _for_users(authority: Authority) -> str:
    return f"""\
# In the configuration of each domain that users with certificates may use:
[tls]
user_identity = {json.dumps(authority.identity("", user=True))}"""


def _toml(path: Path) -> str:
    return json.dumps(str(path.absolute()), ensure_ascii=False)
