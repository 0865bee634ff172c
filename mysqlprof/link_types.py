"""A link of a known rate, and the rate at which two ways to use it are equally fast."""

from pydantic import Field

from mysqlprof.frozen import Frozen


class LinkCheck(Frozen):
    """A link as it was measured before it was used: payload of plain TCP streams, one each way."""

    link: str
    """As the scenario names it: "100mbit"."""
    rate_bps: int | None = None
    """None: unlimited."""
    to_client_bps: float
    to_server_bps: float
    caveats: list[str] = []


class CrossoverPlan(Frozen):
    """Where the ratio of two levels' elapsed times passes 1 as the link's rate grows."""

    text: str
    """What is had below that rate: "Compression pays"."""
    fix: dict[str, str]
    """Factor -> level, for all factors but the link's and the compared one."""
    compare: str
    """The factor whose `level` is set against its `base`."""
    level: str
    base: str


class CrossoverPoint(Frozen):
    """The ratio on one link."""

    link: str
    rate_bps: int
    ratio: float
    ci_low: float
    ci_high: float


class Crossover(Frozen):
    """Found between two measured rates. Rates in bit/s; None where it lies beyond all of them."""

    rate_bps: float | None
    ci_low_bps: float | None
    ci_high_bps: float | None
    points: list[CrossoverPoint] = Field(min_length=1)
    """By growing rate."""
    sentence: str
