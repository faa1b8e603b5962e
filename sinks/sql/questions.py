"""People's own questions in SQL: one SELECT on the views, without a way to anything else.

DuckDB has no permissions, and the connection that a question runs on could read every table and
file. So the question is parsed by DuckDB itself, and what it parsed is looked through: only the
views, the names that the question gives itself, functions that are known to do no harm
(``functions.py``), and in FROM a few that make rows are let through.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import msgspec
from duckdb import DuckDBPyConnection
from msgspec import Struct

from .functions import FUNCTIONS
from .resident import bounded
from .views import macros, show_scopes, views

ROW_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})
"""What may stand in FROM with parentheses beside the macros; most that can reads files."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_SYSTEM = ("duckdb_", "pg_", "pragma_", "sqlite_", "information_schema")
_MOST_NESTED = 400
_ONE = "only one statement can be asked, and it has to be a SELECT (or WITH, FROM, DESCRIBE, SHOW)"
_TOO_MUCH_MEMORY = "the question needs more memory than the store may take"
MOST_RESULT_BYTES = 2_500_000
"""Of an answer as DuckDB writes it. As JSON it takes up to six times as much, and fits a frame."""

# DuckDB itself measures each row, with whatever is nested in it, before Python makes objects of it.
# A column of the name of the row would be measured in its place.
_MEASURED = """FROM ({question}
) AS {row} SELECT *, CASE WHEN strlen({row}::VARCHAR) > {most}
THEN error('{too_large}') ELSE strlen({row}::VARCHAR) END LIMIT {limit}"""


class QuestionRefused(ValueError):
    """A question that is no SELECT on the views, or that DuckDB cannot answer. Says why."""


class Answered(Struct, frozen=True):
    """The names and types of the columns, the rows, and whether there are more."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool


def ask(
    cursor: DuckDBPyConnection,
    text: str,
    scopes: Sequence[str] | None,
    *,
    limit: int,
    parameters: Mapping[str, Any],
    most_mb: int,
) -> Answered:
    """Answer ``text`` from what ``scopes`` hold, None for all, with the first ``limit`` rows.

    Of ``parameters`` those are bound that ``text`` names. It is interrupted as soon as this process
    has ``most_mb`` more resident memory than at the beginning. Raises QuestionRefused.
    """
    with bounded(cursor.interrupt, most_mb) as passed:
        try:
            return _answered(cursor, text, scopes, limit, parameters)
        except duckdb.InterruptException:
            if passed.is_set():
                raise QuestionRefused(_TOO_MUCH_MEMORY) from None
            raise
        except duckdb.FatalException:
            raise
        except duckdb.OutOfMemoryException:
            raise QuestionRefused(_TOO_MUCH_MEMORY) from None
        except duckdb.Error as error:
            raise QuestionRefused(str(error).strip()) from None
        except OverflowError:
            raise QuestionRefused(
                "a length of time in the answer is beyond what can be shown"
            ) from None


def _answered(
    cursor: DuckDBPyConnection,
    text: str,
    scopes: Sequence[str] | None,
    limit: int,
    parameters: Mapping[str, Any],
) -> Answered:
    statement = checked(cursor, text)
    bound = _bound(statement, parameters)
    show_scopes(cursor, every_scope(cursor) if scopes is None else scopes)
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    try:
        return _fetched(cursor.execute(_measured(text, limit), bound or None), limit)
    finally:
        cursor.execute("ROLLBACK")


def every_scope(cursor: DuckDBPyConnection) -> list[str]:
    """All scopes that hold anything."""
    found = cursor.execute(
        "SELECT scope FROM store.memories WHERE forgotten_at IS NULL "
        "UNION SELECT scope FROM store.passages"
    )
    return [scope for (scope,) in found.fetchall()]


def checked(cursor: DuckDBPyConnection, text: str) -> duckdb.Statement:
    """The one statement of ``text``. Raises QuestionRefused, or DuckDB's own for its syntax."""
    statements = cursor.extract_statements(text)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise QuestionRefused(_ONE)
    [(serialized,)] = cursor.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()
    try:
        parsed = msgspec.json.decode(serialized)
        if parsed["error"]:
            raise QuestionRefused(_ONE)
        nodes = list(_nodes(parsed["statements"], 0))
    except RecursionError:
        raise QuestionRefused("the question is nested too deeply") from None
    own = {str(entry["key"]).lower() for node in nodes for entry in _named_queries(node)}
    for name in own:
        if not _NAME.fullmatch(name) or name.startswith(_SYSTEM):
            raise QuestionRefused(f"a WITH cannot name {name}")
    for node in nodes:
        _check(node, own)
    return statements[0]


def _nodes(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if depth > _MOST_NESTED:
        raise RecursionError
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from _nodes(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _nodes(each, depth + 1)


def _named_queries(node: dict[str, Any]) -> list[dict[str, Any]]:
    named = node.get("cte_map")
    return named["map"] if isinstance(named, dict) else []


def _check(node: dict[str, Any], own: set[str]) -> None:
    kind = node.get("type")
    if kind == "BASE_TABLE":
        _check_table(node, own)
    elif kind == "SHOW_REF":
        _check_shown(node)
    elif kind == "TABLE_FUNCTION":
        called = node["function"]
        name = str(called.get("function_name")).lower()
        if name not in {*ROW_FUNCTIONS, *(macro for macro, _ in macros())}:
            raise QuestionRefused(f"{name}() cannot be read; there are {_readable()}")
        called["function_name"] = ""  # looked at
    if node.get("function_name"):
        _check_function(node)


def _check_table(node: dict[str, Any], own: set[str]) -> None:
    name = str(node.get("table_name"))
    path = (node.get("catalog_name"), node.get("schema_name"))
    if any(path) or name.lower() not in {*views(), *own}:
        raise QuestionRefused(f"there is no view {name}; there are {_readable()}")


def _check_shown(node: dict[str, Any]) -> None:
    name = str(node.get("table_name") or "").strip('"').lower()
    if node.get("query") is None and name not in {*views(), "tables"}:
        raise QuestionRefused(f"{name or 'that'} cannot be shown; there are {_readable()}")


def _check_function(node: dict[str, Any]) -> None:
    name = str(node["function_name"]).lower()
    if name not in FUNCTIONS:
        raise QuestionRefused(f"the function {name} cannot be used here")


def _readable() -> str:
    return ", ".join((*views(), *(f"{name}()" for name, _ in macros())))


def _bound(statement: duckdb.Statement, parameters: Mapping[str, Any]) -> dict[str, Any]:
    wanted = set(statement.named_parameters)
    if unknown := sorted(wanted - parameters.keys()):
        raise QuestionRefused(
            f"nothing is given for ${unknown[0]}; with --text TEXT there are $text, $terms and "
            "$vector"
        )
    return {name: parameters[name] for name in wanted}


def _measured(text: str, limit: int) -> str:
    """The question ``text`` with the bytes of each row as its last column, and one row more."""
    return _MEASURED.format(
        question=_without_end(text),
        row=f"row_{secrets.token_hex(8)}",
        most=MOST_RESULT_BYTES,
        too_large=_too_large(),
        limit=limit + 1,
    )


def _without_end(text: str) -> str:
    """``text``, which is one statement, without the semicolon that ends it."""
    written = text.encode()  # the places are those of bytes
    marks = (at for at, kind in duckdb.tokenize(text) if kind == duckdb.token_type.operator)
    return written[: next((at for at in marks if written[at] == ord(";")), None)].decode()


def _too_large() -> str:
    return f"the answer has more than {MOST_RESULT_BYTES:,} bytes: ask for fewer rows"


def _fetched(found: DuckDBPyConnection, limit: int) -> Answered:
    described = (found.description or [])[:-1]
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) <= limit and (row := found.fetchone()) is not None:
        *values, row_bytes = row
        rows.append(tuple(values))
        size += row_bytes
        if size > MOST_RESULT_BYTES:
            raise QuestionRefused(_too_large())
    return Answered(
        columns=tuple(name for name, *_ in described),
        types=tuple(str(kind) for _, kind, *_ in described),
        rows=tuple(rows[:limit]),
        more=len(rows) > limit,
    )
