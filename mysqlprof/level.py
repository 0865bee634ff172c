"""One value of a factor: what it changes about server, driver or workload."""

from collections.abc import Iterable

from mysqlprof.frozen import Frozen


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
        )
    return result
