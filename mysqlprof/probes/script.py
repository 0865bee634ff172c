"""perf.data -> the text of `perf script`, as a stream: for what `perf report` cannot say."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.probes.fold import Symbols, environment, last_words

_CHUNK_BYTES = 2**20


def script_text(perf_data: Path, perf: str, symbols: Symbols) -> Iterator[bytes]:
    """What `perf script` prints by itself, without asking for inlined functions.

    Raises EnvironmentLacks where perf cannot be run, PartialData where it fails.
    """
    command = symbols.perf(perf, "script", "-f", "--no-inline", "-i", str(perf_data))
    with tempfile.TemporaryFile() as words:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=words,
                env=environment(),
            )
        except OSError as error:
            raise EnvironmentLacks(
                f"cannot run {perf}: {error.strerror}", "sudo apt-get install linux-perf"
            ) from error
        with process:
            assert process.stdout is not None
            try:
                while chunk := process.stdout.read(_CHUNK_BYTES):
                    yield chunk
                status = process.wait()
            finally:
                if process.poll() is None:
                    process.kill()
        if status != 0:
            raise PartialData(
                f"{perf} script failed with status {status}: {last_words(words)}",
                "check the file with `perf report --stats -i FILE`",
            )
