"""The domain that a client calls by default, from a file of the user or of the host.

It is the first existing one of `~/.config/cosched/client.toml` (or below XDG_CONFIG_HOME) and
`/etc/cosched/client.toml`:

    server = "unix:/run/cosched/intrepid.sock"      # or HOST:PORT, with the following
    ca = "ca.pem"                                   # files relative to this one's folder
    certificate = "ann.pem"
    key = "ann.key"
    server_identity = "spiffe://site/cosched/intrepid"
    token = "/run/user/1000/bt_u1000"               # where the domain takes tokens, instead of certificate and key

Without a server there or in COSCHED_SERVER, the client calls the user's own service (`cosched up`), or else the only
domain with a socket in /run/cosched.

Commands that speak to several domains find each by its name: in COSCHED_DOMAINS (intrepid=unix:PATH,eureka=HOST:PORT),
in the file's table of domains, or as a socket in /run/cosched:

    [domains]
    intrepid = "unix:/run/cosched/intrepid.sock"
    eureka = { server = "eureka.site:7050", server_identity = "spiffe://site/cosched/eureka" }
    mira = { server = "unix:/run/cosched/mira.sock", batch_config = "/etc/slurm-mira/slurm.conf" }

`batch_config` is what the commands of the domain's batch system read (SLURM_CONF, PBS_CONF_FILE), where a host has
commands for several.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cosched.sockets.domain_sockets import domain_sockets, own_folder
from cosched.validation.near_names import did_you_mean
from cosched.words.file_errors import reason_of

HOST_FILE = Path("/etc/cosched/client.toml")
SOCKETS = Path("/run/cosched")
FILES = ("ca", "certificate", "key", "token")
BATCH_CONFIG = "batch_config"  # of a domain in the table
KEYS = ("server", *FILES, "server_identity")


def defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the first file that exists; ValueError names the file and what is wrong with it."""
    return _file(environment)[0]


def named_domains(environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the keys of each domain whose address is known, by name; ValueError."""
    sockets = [*domain_sockets(SOCKETS), *domain_sockets(own_folder(environment))]
    found = {path.stem: {"server": f"unix:{path}"} for path in sockets}
    return found | _file(environment)[1] | _in_environment(environment)


def batch_config(domain: str) -> str | None:
    """Return what the commands of the domain's batch system are to read, if client.toml says so; ValueError."""
    return named_domains(os.environ).get(domain, {}).get(BATCH_CONFIG)


def keys_of(domain: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the domain of this name; ValueError if its address is not known."""
    known = named_domains(environment)
    if domain not in known:
        here = f"known: {', '.join(known)}" if known else "none is known"
        said = f"the address of domain {domain} is not known{did_you_mean(domain, known)} ({here})"
        way = f'set COSCHED_DOMAINS to {domain}=ADDRESS, or put {domain} = "ADDRESS" under [domains] in client.toml'
        raise ValueError(f"{said}: {way}")
    return known[domain]


def _in_environment(environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found = {}
    for item in re.split(r"[\s,]+", environment.get("COSCHED_DOMAINS", "").strip(", \n\t")):
        name, equals, address = item.partition("=")
        if item and not (name and equals and address):
            raise ValueError(f"COSCHED_DOMAINS: {item!r} is not NAME=ADDRESS")
        if item:
            found[name] = {"server": address}
    return found


def _file(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return the keys of the first file that exists, and those of its domains."""
    for path in (_user_file(environment), HOST_FILE):
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = reason_of(error, path) if isinstance(error, OSError) else "not a text file"
            raise ValueError(f"{path}: cannot be read: {reason}") from None
        return _checked(path, text)
    return {}, {}


def only_socket() -> str:
    """Return unix:PATH of the user's own service, or else of this host's only one; ValueError: none, or several."""
    found = domain_sockets(own_folder(os.environ)) or domain_sockets(SOCKETS)
    if len(found) == 1:
        return f"unix:{found[0]}"
    if found:
        names = ", ".join(f"unix:{path}" for path in found)
        raise ValueError(f"several domains are served on this host ({names}): name one, or set COSCHED_SERVER")
    ways = "set COSCHED_SERVER to unix:PATH or HOST:PORT, or have a service of your own: cosched up"
    raise ValueError(f"no domain is named, and none is served on this host: {ways}")


def _user_file(environment: Mapping[str, str]) -> Path:
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME") or "~", ".config")
    return Path(folder, "cosched", "client.toml").expanduser()


def _checked(path: Path, text: str) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    import tomllib  # slow: most users have no such file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    domains = values.pop("domains", {})
    if not isinstance(domains, dict):
        raise ValueError(f"{path}: domains: must be a table")
    tables = {name: {"server": table} if isinstance(table, str) else table for name, table in domains.items()}
    return _keys(path, "", values), {name: _keys(path, f"domains.{name}.", table) for name, table in tables.items()}


def _keys(path: Path, place: str, given: Any) -> dict[str, str]:
    """Return the keys of one domain, with the paths of its files."""
    if not isinstance(given, dict) or (place and "server" not in given):
        raise ValueError(f"{path}: {place.rstrip('.')}: must be an address, or a table with a server")
    keys, files = (KEYS, FILES) if not place else ((*KEYS, BATCH_CONFIG), (*FILES, BATCH_CONFIG))
    for key, value in given.items():
        if key not in keys:
            raise ValueError(f"{path}: {place}{key}: no such key; there are {', '.join(keys)}")
        if not isinstance(value, str) or not value:
            raise ValueError(f"{path}: {place}{key}: must be text")
    return {key: str(path.parent / Path(value).expanduser()) if key in files else value for key, value in given.items()}
