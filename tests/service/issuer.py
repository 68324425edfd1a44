"""An issuer of tokens, with keys made for the test."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

URL, AUDIENCE = "https://tokens.site.example/cosched", "spiffe://site/cosched/intrepid"
MAKE = {
    "RS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


class Issuer:
    """The file of its key set, and tokens in files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "issuer.jwks"
        self.private: dict[str, Any] = {}
        self.algorithm: dict[str, str] = {}
        self.make("first")
        self.publish("first")

    def make(self, kid: str, algorithm: str = "ES256") -> None:
        """Make a key, and keep it to itself."""
        self.private[kid], self.algorithm[kid] = MAKE[algorithm][0](), algorithm

    def described(self, kid: str) -> dict[str, Any]:
        """The public key, as in key sets."""
        public = MAKE[self.algorithm[kid]][1].to_jwk(self.private[kid].public_key(), as_dict=True)
        return {**public, "kid": kid, "use": "sig"}

    def publish(self, *kids: str) -> None:
        """Replace the key set by one of these keys."""
        self.write(json.dumps({"keys": [self.described(kid) for kid in kids]}))

    def write(self, text: str) -> None:
        """Replace the key set by anything."""
        self.path.with_suffix(".new").write_text(text)
        self.path.with_suffix(".new").replace(self.path)

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Those of a good token for the user daemon, with some changed (None: left out)."""
        now = int(time.time())
        of = {"iss": URL, "aud": AUDIENCE, "sub": "daemon", "iat": now - 5, "nbf": now - 5, "exp": now + 3600}
        return {name: value for name, value in {**of, **changed}.items() if value is not None}

    def token(self, kid: str = "first", *, header: dict[str, Any] | None = None, **changed: Any) -> str:
        """A token signed with that key."""
        named = {"kid": kid} if header is None else header
        return jwt.encode(self.claims(**changed), self.private[kid], self.algorithm[kid], named)

    def file(self, token: str) -> Path:
        path = self.folder / "token"
        path.write_text(f"{token}\n")
        return path

    def section(self, listen: str, scopes: Sequence[str] = (), **more: Any) -> dict[str, Any]:
        needed = {"listen": listen, "issuer": URL, "audience": AUDIENCE, "keys": str(self.path), "leeway": 0}
        return {**needed, "scopes": list(scopes), **more}
