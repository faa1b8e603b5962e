"""How the rows of an answer look in terminals of several widths."""

import msgspec
import pytest

from subcog.bus.service_results import SqlResult
from subcog.pipeline.cli.sql_view import show_rows

COLUMNS = ("id", "scope", "namespace", "content", "tags", "author", "created_at", "source")
CONTENT = "Deployments go through ArgoCD; never kubectl apply by hand in production"


@pytest.fixture
def terminal(monkeypatch):
    """Makes standard output a terminal of some width."""

    def of(width):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("COLUMNS", str(width))

    return of


def answer(*names, **more):
    row = {name: CONTENT if name == "content" else f"the {name} of it" for name in names} | more
    columns = [{"name": name, "type": "VARCHAR"} for name in row]
    told = {"columns": columns, "rows": [row, row], "more": False, "took_ms": 1.0}
    return msgspec.convert(told, SqlResult)


@pytest.mark.parametrize("width", [40, 80])
def test_columns_that_do_not_fit_are_lines_of_a_block(terminal, capsys, width):
    terminal(width)
    show_rows(answer(*COLUMNS))
    said = capsys.readouterr().out
    for name in COLUMNS:
        assert said.count(f"{name}: ") == 2
    assert "…" not in said
    assert " ".join(said.split()).count(CONTENT) == 2
    assert "2 rows" in said


def test_columns_that_fit_are_a_table(terminal, capsys):
    terminal(80)
    show_rows(answer("id", "content", **{f"n{number}": "1" for number in range(8)}))
    assert "content: " not in capsys.readouterr().out


def test_what_is_piped_is_a_table_however_wide(capsys):
    show_rows(answer(*COLUMNS))
    head, *_ = capsys.readouterr().out.strip().splitlines()
    assert set(COLUMNS) <= set(head.split())
