"""Checks [tokens]: whether the issuer's keys can verify tokens, and who can change them."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Iterator

from cosched.installation.extras import TOKENS, install_command, missing
from cosched.service.configuration import Configuration
from cosched.words.errors import InputError
from cosched_adapters.findings import SHELL, Finding, ok, problem
from cosched_adapters.permissions import READ, Account


def check_tokens(configuration: Configuration, account: Account) -> Iterator[Finding]:
    """Check the key set, if users have tokens. `account`: the service's user."""
    if (section := configuration.tokens) is None:
        return
    if packages := missing(TOKENS):
        found = f"the package {', '.join(packages)} is not installed: the service does not start"
        yield problem("tokens", found, "install it", SHELL, install_command(TOKENS))
        return
    from cosched.service.wire.tokens import read_keys  # its package is of an extra

    path, quoted = section.keys, shlex.quote(str(section.keys))
    try:
        keys = read_keys(path)
    except InputError as error:
        change = f"fetch that of {section.issuer} anew (jwks_uri in its /.well-known/openid-configuration)"
        fetch = f"curl -fsS -o {quoted}.new JWKS_URI && mv {quoted}.new {quoted}"
        yield problem("keys", str(error), change, SHELL, fetch)
        return
    if path.stat().st_mode & stat.S_IWOTH:
        found = f"every user of this host can change {path}, and so be anybody by a token"
        yield problem("keys", found, "close it, and fetch it anew", SHELL, f"chmod o-w {quoted}")
    elif not account.may(path, READ):
        change = "open it for the service's user: its keys are public"
        yield problem("keys", f"{account.name} cannot read {path}", change, SHELL, f"chmod a+r {quoted}")
    else:
        yield ok("keys", f"{path} has keys of {section.issuer}: {', '.join(filter(None, keys)) or 'one without an id'}")
