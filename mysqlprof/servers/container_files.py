"""The files in containers/: beside the package in a checkout, inside it once installed."""

import configparser
from importlib.resources import files
from pathlib import Path

from mysqlprof.errors import EnvironmentLacks

BASE = "base"
SLOW_LOG_ON = "slow-log-on"
SLOW_LOG_OFF = "slow-log-off"


def container_file(name: str) -> Path:
    """`mysql/Dockerfile`, `conf.d/base.cnf`...: its path in this installation."""
    package = Path(str(files("mysqlprof")))
    for root in (package / "containers", package.parent / "containers"):
        if (root / name).is_file():
            return root / name
    raise EnvironmentLacks(
        f"this installation of mysqlprof lacks containers/{name}", "install mysqlprof again"
    )


def cnf_fragments(*names: str) -> str:
    """The my.cnf fragments of these names, one after the other; without names, base.cnf.

    base.cnf is for every server; the others are for the cells that want them.
    """
    wanted = names or (BASE,)
    return "\n".join(
        container_file(f"conf.d/{name}.cnf").read_text(encoding="utf-8") for name in wanted
    )


def cnf_settings(name: str) -> dict[str, str]:
    """The [mysqld] settings of one fragment, as LaunchSpec.arguments has them."""
    parser = configparser.ConfigParser(allow_no_value=True, interpolation=None)
    parser.read_string(cnf_fragments(name))
    return {key: value or "" for key, value in parser["mysqld"].items()}
