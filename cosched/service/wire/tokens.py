"""Users' tokens: JSON Web Tokens of one issuer (OIDC, SciTokens), verified by the issuer's public keys on disk.

Nothing is fetched. What a token says counts once its signature is verified. Before that it serves for one thing: to
tell the caller what is wrong with it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import jwt

from cosched.certificates.pem import read
from cosched.client.token import MOST
from cosched.service.configuration_sections import Tokens
from cosched.service.wire.callers import Caller, user_name
from cosched.service.wire.errors import Refusal
from cosched.service.wire.tls_files import stamp_of
from cosched.words.errors import InputError

ALGORITHMS = ("RS256", "ES256", "EdDSA")  # by public keys: whoever can check a token cannot make one
ONE_KEY = ""  # the id of a key set's only key, for tokens that name none
_OPTIONS: jwt.types.Options = {
    "require": ["exp", "iat", "iss", "aud"],  # nbf counts where it is there: many issuers of OIDC leave it out
    "enforce_minimum_key_length": True,
}
_SAID = 120  # characters
_LOG = logging.getLogger(__name__)
_Keys = Mapping[str, jwt.PyJWK]


def read_keys(path: Path) -> _Keys:
    """Read a JSON Web Key Set; return the keys that can verify tokens, by their ids. InputError."""
    try:
        found = json.loads(read(path))["keys"]
        private = any("d" in key for key in found)
        usable = {key.key_id or ONE_KEY: key for key in map(_key, found) if key is not None}
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InputError(str(path), None, "is not a JSON Web Key Set") from None
    if private:
        reason = "has a private key: name the issuer's public keys, and take a new private one"
        raise InputError(str(path), None, reason)
    if not usable:
        raise InputError(str(path), None, f"has no key for {', '.join(ALGORITHMS)}")
    return usable if len(usable) > 1 else {**usable, ONE_KEY: next(iter(usable.values()))}


def _key(described: Mapping[str, Any]) -> jwt.PyJWK | None:
    """Return a key of the set; None: it is not for tokens that are taken."""
    try:
        key = jwt.PyJWK(dict(described))
    except jwt.PyJWTError:
        return None
    return key if key.algorithm_name in ALGORITHMS and key.public_key_use in (None, "sig") else None


class KeySet:
    """The file of the issuer's keys. It can change at any time; an unusable one never replaces a good one."""

    def __init__(self, path: Path) -> None:
        """Read the file; InputError."""
        self._path = path
        self._stamp = stamp_of(path)
        self._generation = 1
        self._keys = read_keys(path)

    def current(self) -> tuple[int, _Keys]:
        """Return the keys, and a number that grows whenever they change."""
        if (now := stamp_of(self._path)) != self._stamp:
            self._stamp = now
            try:
                self._keys = read_keys(self._path)
            except InputError as error:
                _LOG.error("the new key set cannot be used, so the old one stays in use: %s", error)
            else:
                self._generation += 1
                _LOG.info("%s: the new key set is in use: %s", self._path, ", ".join(filter(None, self._keys)))
        return self._generation, self._keys


class TokenCallers:
    """Tells the users who show tokens. A user with a token is a user, and nothing more: no operator, and no peer."""

    def __init__(self, section: Tokens) -> None:
        """Read the key set; InputError."""
        self._section = section
        self.keys = KeySet(section.keys)

    def caller(self, credentials: Sequence[str]) -> tuple[Caller, int]:
        """Return whose token it is, and when it expires, in seconds since 1970; Refusal.

        `credentials`: what came as `authorization`. Whether this host has such a user is not known yet.
        """
        claims = self._verified(_token(credentials))
        granted = claims.get("scope", "")
        for scope in self._section.scopes:
            if scope not in (granted if isinstance(granted, list) else str(granted).split()):
                raise _refused(f"the token lacks the scope {scope}: get one that has it")
        return self._user(claims), int(claims["exp"]) + self._section.leeway

    def _verified(self, token: str) -> Mapping[str, Any]:
        ours = self._section
        try:
            unverified = jwt.decode_complete(token, options={"verify_signature": False})
        except jwt.PyJWTError:
            raise _refused("this is no token that can be read, a JSON Web Token: get a new one") from None
        header, claims = unverified["header"], unverified["payload"]
        if claims.get("iss") != ours.issuer:
            raise _refused(f"the token is of {_said(claims.get('iss'))}, not of {ours.issuer}: get one there")
        if header.get("alg") not in ALGORITHMS:
            raise _refused(f"the token is signed by {_said(header.get('alg'))}, not by one of {', '.join(ALGORITHMS)}")
        if (key := self.keys.current()[1].get(header.get("kid", ONE_KEY))) is None:
            advice = "get a new token; if that does not help, the domain's key set is old: tell its operators"
            raise _refused(f"the token is signed with the key {_said(header.get('kid'))}, not known here: {advice}")
        try:
            verified: Mapping[str, Any] = jwt.decode(
                token, key, ALGORITHMS, _OPTIONS, audience=ours.audience, issuer=ours.issuer, leeway=ours.leeway
            )
        except jwt.PyJWTError as error:
            raise _refused(self._explained(error, claims)) from None
        return verified

    def _explained(self, error: jwt.PyJWTError, claims: Mapping[str, Any]) -> str:
        match error:
            case jwt.ExpiredSignatureError():
                return f"the token has expired at {_when(claims['exp'])}: get a new one"
            case jwt.ImmatureSignatureError():
                return "the token is not valid yet: wait, or have the issuer's clock and the domain's set"
            case jwt.InvalidAudienceError():
                whom = _said(claims.get("aud"))
                return f"the token is for {whom}, not for {self._section.audience}: get one for that"
            case jwt.MissingRequiredClaimError():
                return f"the token does not say {error.claim}: the issuer must add that"
            case jwt.InvalidSignatureError():
                return "the token's signature is wrong: get a new one"
        return f"the token cannot be used: {error}"

    def _user(self, claims: Mapping[str, Any]) -> Caller:
        name, accounts = self._section.claim, self._section.accounts
        said = claims.get(name)
        user = user_name(accounts.get(said, "") if accounts else said) if isinstance(said, str) else None
        if user is None:
            whose = "names nobody" if said is None else f"is that of {_said(said)}, who has no account here"
            raise _refused(f"the token {whose} ({name}): ask the domain's operators for an account")
        return Caller(None, user, False, f"token of {self._section.issuer}, {name} {said!r}")


def _token(credentials: Sequence[str]) -> str:
    """Return the token that came with a call; Refusal."""
    if not credentials:
        raise _refused("no token came with the call: set COSCHED_TOKEN_FILE, or token in client.toml")
    scheme, _, token = credentials[0].partition(" ")
    if len(credentials) > 1 or scheme.lower() != "bearer":
        raise _refused("a call brings one token: authorization: Bearer TOKEN")
    if len(token) > MOST:
        raise _refused(f"the token has {len(token):,} characters, more than {MOST:,}: get one with fewer claims")
    return token.strip()


def _refused(why: str) -> Refusal:
    return Refusal(grpc.StatusCode.UNAUTHENTICATED, "TOKEN_REFUSED", why)


def _said(value: object) -> str:
    """Return what a token says, for people: in quotes, and no more than they can read."""
    return "nobody" if value is None else repr(value if isinstance(value, str) else json.dumps(value))[:_SAID]


def _when(seconds: Any) -> str:
    return f"{datetime.fromtimestamp(max(int(seconds), 0), UTC):%Y-%m-%d %H:%M:%S} UTC"
