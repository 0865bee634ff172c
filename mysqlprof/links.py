"""The link between the two hosts as cells use it: measured once, shaped and read in each trial."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from mysqlprof.link_types import LinkCheck
from mysqlprof.topologies.link import Shape, shaped, traffic, verified
from mysqlprof.topologies.namespaces import Network

_MEASURED_S = 0.5


@dataclass(frozen=True)
class Line:
    network: Network
    shape: Shape
    check: LinkCheck

    @classmethod
    def measured(cls, network: Network, link: str) -> "Line":
        """Of the rate that `link` names. Raises UsageError and EnvironmentLacks."""
        shape = Shape.parse(link)
        with shaped(network, shape):
            to_client, to_server = verified(network, shape, _MEASURED_S)
        check = LinkCheck(
            link=link,
            rate_bps=shape.rate_bps,
            to_client_bps=to_client.goodput_bps,
            to_server_bps=to_server.goodput_bps,
            caveats=[f"{link}: {one.caveat}" for one in (to_client, to_server) if one.caveat],
        )
        return cls(network, shape, check)

    def shaped(self) -> AbstractContextManager[None]:
        return shaped(self.network, self.shape)

    def readings(self) -> dict[str, float]:
        """Since it was shaped: bytes of the frames each way, and the TCP payload in them."""
        down, up = traffic(self.network.server), traffic(self.network.client)
        return {
            "to_client_wire_bytes": down.wire_bytes,
            "to_client_payload_bytes": down.payload_bytes,
            "to_server_wire_bytes": up.wire_bytes,
            "to_server_payload_bytes": up.payload_bytes,
        }

    def figures(
        self, elapsed_ms: float, units: int, spent: Mapping[str, float]
    ) -> dict[str, float]:
        """Of a trial: its traffic per unit of work, and how full the busier direction was.

        `link_mbit_per_s` is payload; `link_of_rate` its share of the nominal rate, and
        `link_utilisation` of what a plain stream carried in the same direction.
        """
        down, up = spent["to_client_payload_bytes"], spent["to_server_payload_bytes"]
        most, carried = max((down, self.check.to_client_bps), (up, self.check.to_server_bps))
        per_s = most * 8 / (elapsed_ms / 1e3)
        figures = {
            "wire_kb_per_unit": (spent["to_client_wire_bytes"] + spent["to_server_wire_bytes"])
            / units
            / 1e3,
            "link_mbit_per_s": per_s / 1e6,
            "link_utilisation": per_s / carried,
        }
        if self.shape.rate_bps:
            figures["link_of_rate"] = per_s / self.shape.rate_bps
        return figures
