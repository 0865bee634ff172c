"""The verbs: parse, call, print. Nothing else knows the terminal.

stdout is data, stderr is progress. Every MysqlprofError ends here, as one sentence, the next
action and the exit code.

A verb is a function in a module of this package and one line here. Verbs import what they call
when they are called: scipy and docker take most of a second, which `--help` need not wait for.
"""

import os
import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from mysqlprof import __version__
from mysqlprof.cli import (
    imports,
    machine,
    measure,
    publishing,
    servers,
    show,
    stored,
    sweeps,
    upgrade,
    wire,
)
from mysqlprof.errors import MysqlprofError
from mysqlprof.interrupts import Interrupted, Interrupts
from mysqlprof.terminal import ERR, OUT, complain

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Server-side profiling for MySQL: reproduce, attribute and explain where time goes.",
    epilog="Exit codes: 0 done or reproduced, 1 a gate failed, 2 usage, 3 the environment lacks"
    " something, 4 partial data, 5 not reproduced or inconclusive, 6 a server failed,"
    " 130 interrupted.",
)

_VERBS: dict[str, Callable[..., None]] = {
    "reproduce": measure.reproduce_verb,
    "matrix": measure.matrix_verb,
    "bisect": measure.bisect_verb,
    "upgrade": upgrade.upgrade_verb,
    "triggers": sweeps.triggers_verb,
    "scale": sweeps.scale_verb,
    "remedies": sweeps.remedies_verb,
    "report": stored.report_verb,
    "gallery": show.gallery_verb,
    "diff": show.diff_verb,
    "export": show.export_verb,
    "publish": publishing.publish_verb,
    "wire": wire.wire_verb,
    "import": imports.import_verb,
    "scenarios": stored.scenarios_verb,
    "doctor": machine.doctor_verb,
    "clean": machine.clean_verb,
}
for _name, _verb in _VERBS.items():
    app.command(_name)(_verb)
app.add_typer(servers.app, name="servers")


def main() -> NoReturn:
    """The console script. The one place where errors become words and exit codes."""
    code = 0
    try:
        with Interrupts() as interrupts:
            app(obj=interrupts)  # ends by SystemExit, usage errors with 2
    except MysqlprofError as error:
        complain(error)
        code = error.exit_code
    except Interrupted:
        ERR.print("[bold]interrupted[/]; what was started has been stopped")
        code = 130
    except BrokenPipeError:
        # Whoever read our output has had enough. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def version_option(wanted: bool) -> None:
    if wanted:
        OUT.print(f"mysqlprof {__version__}", highlight=False)
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=version_option, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options of mysqlprof itself."""


if __name__ == "__main__":
    main()
