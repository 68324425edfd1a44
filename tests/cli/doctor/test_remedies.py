"""The remedies for peers that refuse: each is that of its cause."""

from pathlib import Path

import pytest

from cosched.doctor.remedies import Ends, remedy

NAMED = ("[[peer]]", 'name = "intrepid"', 'identity = "spiffe://site/cosched/intrepid"')
OWN = "the peer refuses this domain's certificate (spiffe://site/cosched/intrepid): "


@pytest.mark.parametrize(
    ("problem", "change", "lines"),
    [
        (
            "the peer's certificate is not of this domain's certificate authority",
            "install the same authority on both sides (here: /etc/cosched/ca.pem), and certificates that it has issued",
            ('ca = "THE_SAME_AUTHORITY.pem"',),
        ),
        (f"{OWN}it is not of the peer's certificate authority", "install the same authority", None),
        (f"{OWN}it is perhaps not of the certificate authority that the peer knows", "install the same", None),
        (f"{OWN}it has expired", "issue this domain's", ("cosched certs issue DIR_OF_CA intrepid --force",)),
        (f"{OWN}it is not valid before 2030-01-01 00:00 UTC", "let a time service", ("timedatectl set-ntp true",)),
        ("the peer's certificate has expired", "issue the certificate of eureka again", None),
        ("the peer's certificate is not valid yet: do the clocks agree?", "let a time service", None),
        ("the peer's certificate lacks the DNS name x, which belongs to y", "issue the certificate of eureka", None),
        (
            "the peer's certificate is that of spiffe://site/cosched/e2, not of spiffe://site/cosched/eureka",
            "correct the identity here",
            ('name = "eureka"', 'identity = "spiffe://site/cosched/e2"'),
        ),
        ("the peer does not speak TLS", "let it use certificates", ("plaintext = false",)),
        ("the peer speaks TLS, but this domain is configured to speak without", "let this domain use", None),
        ("PERMISSION_DENIED CERTIFICATE_REVOKED: the certificate x is revoked", "issue this domain's", None),
        ("PERMISSION_DENIED PEER_UNKNOWN: it is not a peer", "name this domain there", NAMED),
        ("PERMISSION_DENIED CALLER_NOT_PEER: a may not speak for jobs of b", "name this domain there", NAMED),
        ("INVALID_ARGUMENT WRONG_DOMAIN job.domain: is not e", "name the peer as it names itself", ('name = "NAME"',)),
        ("UNIMPLEMENTED: Method not found!", "let a service of this version", None),
        ("FAILED_PRECONDITION: odd", "look at what its service logs", ("journalctl -u cosched@eureka -o cat",)),
    ],
)
def test_each_cause_has_its_own_remedy(problem, change, lines):
    said, where, found = remedy(problem, Ends("intrepid", "eureka", Path("/etc/cosched/ca.pem"), NAMED))
    assert said.startswith(change)
    assert where
    assert lines in (None, found)
