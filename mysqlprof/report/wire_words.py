"""What a capture says, in one sentence: which command and phase takes the client's time."""

from collections.abc import Sequence

from mysqlprof.report import numbers
from mysqlprof.wire.model import WireCommand
from mysqlprof.wire.summary import Phase, phases

_CLEARLY = 10.0
"""So many times the network's round trips, and a wait is the server's."""
_BARELY = 2.0


def slowest_phase(commands: Sequence[WireCommand]) -> str:
    """Empty where nothing was captured."""
    found = phases(commands)
    if not found:
        return ""
    top = max(found, key=lambda phase: phase.ms)
    group = [command for command in commands if command.command == top.command]
    share = f"{numbers.share(top.share)} of the time spent on these commands"
    took, what = numbers.duration(top.ms), _named(top.command, len(group))
    if top.name == "sending":
        return f"Sending {what} took {took}, {share}: the client or the network."
    if top.name == "fetching":
        return f"Fetching the response to {what} took {took}, {share}."
    return f"{what} took {took} until the first response byte, {share}: {_whose(top, group)}."


def _named(command: str, count: int) -> str:
    return command if count == 1 else f"{command} ({numbers.count(count)} times)"


def _whose(wait: Phase, group: Sequence[WireCommand]) -> str:
    """The network's part is bounded by what the TCP handshake took, once for each command."""
    trips = [command.rtt_ms for command in group]
    known = [trip for trip in trips if trip is not None]
    if len(known) < len(trips):
        return "the server or the network, since no TCP handshake was captured to tell"
    network = numbers.duration(sum(known))
    if any(command.retransmitted for command in group):
        return "TCP segments were sent again meanwhile, so the network may have a part in it"
    if wait.ms >= _CLEARLY * sum(known):
        return f"the server was working, not the network (round trips: {network})"
    if wait.ms <= _BARELY * sum(known):
        return f"about what the network takes (round trips: {network})"
    return f"the server and the network (round trips: {network})"
