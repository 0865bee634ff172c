"""mysqlprof: server-side profiling experiments on real MySQL servers."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mysqlprof")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
