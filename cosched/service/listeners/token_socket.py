"""The listener for users with tokens: over TLS, without certificates of the callers. Each call brings its token.

A connection ends when the first token that was shown on it has expired, and when the key set changes: so does what is
still sent on it. Clients connect again, and show the token that they have by then.
"""

from __future__ import annotations

import asyncio
import os
import pwd
from pathlib import Path

import grpc

from cosched.service.api.answering import Context
from cosched.service.listeners.remote_socket import RemoteSocket
from cosched.service.wire.callers import Caller
from cosched.service.wire.errors import Refusal
from cosched.service.wire.tls_files import TlsFiles
from cosched.service.wire.tokens import TokenCallers
from cosched.sockets.connections import Room


class TokenSocket(RemoteSocket):
    """A RemoteSocket whose callers show tokens."""

    def __init__(self, address: str, private: Path, room: Room, files: TlsFiles, tokens: TokenCallers) -> None:
        super().__init__(address, private, room, files)
        self._tokens = tokens

    def identify(self, context: Context) -> Caller:
        """Return the user whose token came with a call; Refusal."""
        origin, given = self.origin(context), context.invocation_metadata() or ()
        try:
            caller, until = self._tokens.caller([str(value) for key, value in given if key == "authorization"])
        except Refusal as refusal:
            self._log.warning(("token", origin), "refused: a call of %s: %s", origin, refusal.message)
            raise
        if (passed := self.passed(context)) is not None:
            passed.until = min(passed.until, until)
        return caller

    async def keep(self, context: Context, caller: Caller) -> None:
        """See Front. Refusal: this host does not have the user, or the user has more rights than tokens give."""
        passed = self.passed(context)
        if passed is None or passed.caller != caller:
            if problem := await asyncio.to_thread(_no_user, caller.user or ""):
                self._log.warning(caller.via, "refused: %s: %s", caller.via, problem)
                raise Refusal(grpc.StatusCode.PERMISSION_DENIED, "USER_UNKNOWN", problem)
            if passed is not None:
                passed.caller = caller
        await super().keep(context, caller)

    def _generation(self) -> int:
        return super()._generation() + self._tokens.keys.current()[0]


def _no_user(name: str) -> str:
    """Return why nobody of this name may call by a token; empty: somebody may. This may ask a directory server."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        found = None
    if found is None or found.pw_name != name:  # a directory server may take Ann for ann
        return f"{name} has no account on this host: ask the domain's operators"
    powerful = f"no token is taken for {name}, who has the rights of root or of the service: use the Unix socket"
    return powerful if found.pw_uid in (0, os.geteuid()) else ""
