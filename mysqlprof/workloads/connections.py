"""Fresh connections in a row: what it costs to be let in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mysqlprof.workload_spec import ConnectionsSpec
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import Logins


@dataclass(frozen=True)
class Connections:
    spec: ConnectionsSpec

    unit = "connection"
    executes = 1
    arrival = None
    counters = ("Connections", "Ssl_finished_accepts")

    @property
    def units(self) -> int:
        return self.spec.connections

    @property
    def setup(self) -> list[str]:
        return []

    @property
    def reset(self) -> list[str]:
        return []

    def task(self, number: int) -> Logins:
        return Logins(self.spec.connections)

    def disagreement(
        self, options: Options, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> str:
        """Both ends must have done what the cell says; behind a proxy the server sees only what the
        proxy asks of it."""
        made = self.spec.connections
        resumed = made - 1 if options.get("resume") else 0
        if metrics["resumed"] != resumed:
            return f"{metrics['resumed']:.0f} TLS sessions were resumed, expected {resumed}"
        if "mysqlrouter_cpu_ms" in metrics:
            return ""
        if status["Connections"] != made:
            return f"the server counted {status['Connections']} connections, expected {made}"
        handshakes = made if options.get("tls") else 0
        if status["Ssl_finished_accepts"] != handshakes:
            found = status["Ssl_finished_accepts"]
            return f"the server counted {found} TLS handshakes, expected {handshakes}"
        return ""

    def figures(
        self, elapsed_ms: float, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        """All of one connection."""
        made = self.spec.connections
        times = {name: value / made for name, value in metrics.items() if name.endswith("_ms")}
        if "cpu_ms" in status:
            times["server_cpu_ms"] = status["cpu_ms"] / made
        return {
            "connection_ms": elapsed_ms / made,
            "server_accepts_per_connection": status["Connections"] / made,
            **times,
        }

    def facts(self) -> dict[str, Any]:
        return self.spec.model_dump()
