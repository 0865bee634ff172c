"""One value of a factor: what it changes about server, driver or workload."""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from mysqlprof.frozen import Frozen

Route = Literal["direct", "proxy", "proxy-without-pool", "tunnel", "sharding-proxy"]
"""What lies on a driver's way to its server, besides the network."""


class Level(Frozen):
    """One value of a factor, and everything that it changes about server or driver."""

    env: dict[str, str] = {}
    """Environment of mysqld, at launch."""
    launch: dict[str, str] = {}
    """mysqld arguments, at launch: {"innodb_doublewrite": "0"}."""
    set: dict[str, str] = {}
    """Global system variables: set at run time before each trial, or at launch when asked."""
    set_after_prepare: dict[str, str] = {}
    """Global system variables set in each trial between prepare and execute."""
    driver: dict[str, str | int | bool] = {}
    """Options of the driver: {"server_prepare": true}."""
    driver_name: str = ""
    """Which driver, as --driver names it ("connector-j:8.0.22"); empty: the run's own."""
    workload: dict[str, int] = {}
    """Sizes in place of the scenario's: {"rows": 50, "executes": 10}."""
    certificate: str = ""
    """Kind of the key that the server proves itself with, at launch: rsa-2048, rsa-4096, ec-p256.
    Empty: the server's own certificate, where it makes one."""
    route: Route | None = None
    """None: as other levels say, else direct."""
    rtt_ms: float = Field(default=0.0, ge=0)
    """Added to every round trip, by a relay that holds everything back."""
    link: str = Field(default="", pattern=r"^(|unlimited|\d+(\.\d+)?(kbit|mbit|gbit))$")
    """Rate of the link between the two hosts, as tc writes it ("100mbit"), or `unlimited`. Empty:
    as other levels say, else the link is left alone."""
    note: str = ""


def merged(levels: Iterable[Level]) -> Level:
    """All that the levels change, later ones first; their notes are left behind."""
    result = Level()
    for level in levels:
        result = Level(
            env=result.env | level.env,
            launch=result.launch | level.launch,
            set=result.set | level.set,
            set_after_prepare=result.set_after_prepare | level.set_after_prepare,
            driver=result.driver | level.driver,
            driver_name=level.driver_name or result.driver_name,
            workload=result.workload | level.workload,
            certificate=level.certificate or result.certificate,
            route=level.route or result.route,
            rtt_ms=level.rtt_ms or result.rtt_ms,
            link=level.link or result.link,
        )
    return result
