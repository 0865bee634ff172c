"""A driver and a server that cannot talk: which side refused, and what would allow it.

Each rule is for the words of a real pair:

    javax.net.ssl.SSLHandshakeException: No appropriate protocol (protocol is disabled or cipher
        suites are inappropriate)                                  Connector/J 8.0.16, 5.7.29
    javax.net.ssl.SSLHandshakeException: Received fatal alert: protocol_version
    java.sql.SQLException: Unknown initial character set index '255' received from server. ...
                                                                   Connector/J 5.1.6, 8.0.31
"""

import re
from dataclasses import dataclass

from mysqlprof.drivers.base import Refused
from mysqlprof.model import Gap


@dataclass(frozen=True)
class _Rule:
    words: str
    side: str
    remedy: str


_RULES = (
    _Rule(
        "No appropriate protocol",
        "the client refused: the driver asked for versions of TLS that its Java runtime has"
        " disabled",
        "name one that both can: enabledTLSProtocols=TLSv1.2, or a later driver; or take TLSv1 and"
        " TLSv1.1 out of the runtime's jdk.tls.disabledAlgorithms",
    ),
    _Rule(
        "fatal alert|alert protocol version|unsupported protocol|does not offer TLS",
        "the server refused: it has none of the TLS versions that the client offered",
        "see the server's tls_version; MySQL 5.7 ends at TLSv1.2, and an 8.0 has TLSv1.3",
    ),
    _Rule(
        "Unknown initial character set index",
        "the client refused: the driver is older than the server's default collation",
        "a driver of the server's time, or the server's collation_server=utf8mb4_general_ci",
    ),
    _Rule(
        "Access denied|Authentication plugin|Public Key Retrieval",
        "the server let nobody in",
        "see the account's authentication plugin and the password",
    ),
)


def _first_cause(words: str) -> str:
    """`Communications link failure ... [javax.net.ssl.SSLHandshakeException: ...]`: the latter."""
    found = re.search(r"\[([\w.$]+: .*)\]$", words)
    return found[1] if found else words


def gap_of(cell: str, error: Exception) -> Gap:
    """The cell that cannot be measured, with the words of who refused."""
    words = _first_cause(str(error))
    for rule in _RULES:
        if re.search(rule.words, words):
            return Gap(cells=[cell], why=f"{rule.side} ({words})", remedy=rule.remedy)
    why = "no connection came about" if isinstance(error, Refused) else "the driver failed"
    return Gap(cells=[cell], why=f"{why} ({words})")
