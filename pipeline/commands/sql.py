"""``sql``: the user's own questions to the store, read only."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import click

from ...bus.service_results import SqlResult, SqlViewsResult
from .shared import MAX_LISTED, daemon, json_option, limit_option, project_option, show_json

_ROWS = 100


@click.command()
@click.argument("query", required=False)
@click.option(
    "--file", type=click.File("r", encoding="utf-8"), help="Read QUERY from a file; `-` is stdin."
)
@click.option("--text", help="Words to search for: what $text, $terms and $vector are made of.")
@click.option("--all", "everywhere", is_flag=True, help="What every project holds.")
@limit_option(_ROWS, MAX_LISTED, "Rows at most.")
@project_option
@json_option
def sql_command(
    query: str | None,
    file: TextIO | None,
    text: str | None,
    everywhere: bool,
    limit: int,
    project: Path | None,
    as_json: bool,
) -> None:
    """Ask the memories QUERY, a SELECT in the SQL of DuckDB.

    Nothing can be changed, and nothing but the views be read; without QUERY they are listed, with
    their columns. They hold what this project may read. A question is interrupted after 5 seconds.
    To search by words give them as --text: QUERY then has the parameters $terms, for
    memory_bm25($terms), and $vector, for memory_cosine($vector). Quote QUERY with ''.
    """
    if query is not None and file is not None:
        raise click.UsageError("give QUERY or --file, not both")
    asked = file.read() if file is not None else query
    with daemon(project) as client:
        if asked is None:
            _show_views(client.call("sql_views", SqlViewsResult), as_json)
            return
        params = {"query": asked, "text": text, "limit": limit, "everywhere": everywhere}
        _show(client.call("sql", SqlResult, params), as_json)


def _show(answer: SqlResult, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    from ..cli.sql_view import show_rows

    show_rows(answer)


def _show_views(answer: SqlViewsResult, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    from ..cli.sql_view import show_views

    show_views(answer)
