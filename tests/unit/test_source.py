"""What the source of the product never does, wherever it is."""

import ast
import re
from pathlib import Path

import pytest

from .written import nodes_of

HOUSE = Path(__file__).parents[2]
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")
SOURCES = sorted(path for room in ROOMS for path in (HOUSE / room).rglob("*.py"))
SQL = re.compile(
    r"\b(?:SELECT|INSERT|DELETE|UPDATE|ATTACH|DETACH|COPY|CREATE|ALTER|DROP|CHECKPOINT|VALUES|WHERE"
    r"|ORDER BY|LIMIT)\b"
)
# What is put into SQL as it is: names of tables and columns, conditions and lists of placeholders,
# each made of constants in the same file; and the path of a database, which is quoted.
PUT_IN = {
    "sinks/passages/table.py": {"_ROW", "columns", "condition"},
    "pipeline/imports/formats.py": {"table"},
    "sinks/store/sql.py": {"copy", "name", "quoted", "'READ_ONLY' if read_only else options"},
    "sinks/team/postgres/store.py": {"', '.join((f'%s::{kind}[]' for kind in _COLUMN_TYPES))"},
    "sinks/store/uses.py": {
        "', '.join(SUM_TYPES)",
        "_COLUMNS",
        "_VOTE",
        "allowed",
        "counted",
        "wanted",
    },
    "sinks/store/reads.py": {
        "_HOLDING",
        "_VALID",
        "_VOTED",
        "_said(field)",
        "allowed",
        "columns",
        "from_there",
        "named",
        "order",
        "source",
        "wanted",
        "where",
    },
    "sinks/repair/backups.py": {"table"},
    "sinks/sql/search_tables.py": {"_FINDABLE", "column", "named", "numbers", "table"},
    "sinks/repair/salvage.py": {"columns", "table"},
    "sinks/team/membership.py": {"columns", "table", "wanted"},
    "sinks/store/tombstones.py": {"_OF_FORGOTTEN", "condition"},
    "sinks/store/writes.py": {
        "', '.join('?' * len(types))",
        "', '.join(types)",
        "', '.join((f'unnest(?::{kind}[]) AS {name}' for name, kind in types.items()))",
        "', '.join((f'{name} = new.{name}' for name in HEAD_TYPES if name not in {'id', 'scope'}))",
        "_unnested(HEAD_TYPES)",
        "_unnested(_USE_TYPES)",
        "', '.join((f'{name} = ?' for name in list(VERSION_TYPES)[_KEYS:]))",
        "column",
        "condition",
        "into",
        "table",
    },
}
# What unpacks, and may swell; what makes objects or code out of data; what a shell reads.
NEVER_IMPORTED = {"bz2", "gzip", "lzma", "marshal", "pickle", "shelve", "tarfile", "zipfile"}
NEVER_CALLED = {"eval", "exec", "compile", "system", "popen", "decompress", "decompressobj"}
NEVER_NAMED = {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "yaml.Loader"}
LAST_NAMES = {name.rpartition(".")[2] for name in NEVER_NAMED}
# What it makes of what was read is an expression, and no code.
SAFE_CALLS = {"re.compile"}
# Of what is packed no more than the stated length is unpacked.
BOUNDED = {"sinks/project/kinship.py": {"zlib.decompressobj", "zlib.decompressobj().decompress"}}


def _named(path):
    return str(path.relative_to(HOUSE))


def _put_into_sql(nodes):
    """The expressions in an f-string that is SQL, or that are added or formatted into one."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
            if SQL.search(text):
                parts = (part for part in node.values if isinstance(part, ast.FormattedValue))
                yield from (ast.unparse(part.value) for part in parts)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
            text = node.left.value if isinstance(node.left, ast.Constant) else ""
            if isinstance(text, str) and SQL.search(text):
                yield ast.unparse(node.right)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "format":
            text = getattr(node.func.value, "value", "")
            if isinstance(text, str) and SQL.search(text):
                yield ast.unparse(node)


def test_what_is_put_into_sql_is_a_constant():
    remedy = "give it as a parameter; what can only be a constant is listed here"
    for path in SOURCES:
        known = PUT_IN.get(_named(path), set())
        assert set(_put_into_sql(nodes_of(path))) - known == set(), f"{_named(path)}: {remedy}"


@pytest.mark.parametrize(
    "line",
    [
        "run(f'SELECT 1 WHERE id = {text}')",
        "run('DELETE FROM x WHERE id = ' + text)",
        "run('SELECT %s' % text)",
        "run('SELECT {}'.format(text))",
    ],
)
def test_sql_that_is_made_of_a_text_is_found_out(line):
    assert list(_put_into_sql(ast.walk(ast.parse(line))))


def test_nothing_that_is_read_can_run_or_swell():
    for path in SOURCES:
        bounded = BOUNDED.get(_named(path), set())
        assert set(_dangerous(nodes_of(path))) - bounded == set(), _named(path)


def _dangerous(nodes):
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            yield from NEVER_IMPORTED.intersection(name.partition(".")[0] for name in names)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in NEVER_CALLED and (name := ast.unparse(node.func)) not in SAFE_CALLS:
                yield name
            yield from ("a shell" for keyword in node.keywords if keyword.arg == "shell")
        elif isinstance(node, ast.Attribute) and node.attr in LAST_NAMES:
            yield from {ast.unparse(node)} & NEVER_NAMED


@pytest.mark.parametrize(
    "line",
    [
        "from pickle import loads",
        "eval(text)",
        "zlib.decompress(data)",
        "run(line, shell=True)",
        "yaml.load(text, Loader=x)",
    ],
)
def test_what_runs_or_swells_is_found_out(line):
    assert list(_dangerous(ast.walk(ast.parse(line))))
