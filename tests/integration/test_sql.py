"""``subcog sql``: the user's own questions, through the installed command and a real daemon."""

import json
import re
import time
from pathlib import Path

import anyio
import pytest

from tests.integration.house import House
from tests.waiting import eventually

DEPLOY = "Deployments go through ArgoCD; never kubectl apply by hand in production"
RANKED = (
    "SELECT content, score FROM memory_bm25($terms) JOIN memories USING (id) ORDER BY score DESC"
)
NEAREST = "SELECT id FROM memory_cosine($vector) LIMIT 1"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("sql"))
    house.ask("capture", DEPLOY, "--namespace", "decisions", "--tags", "ops")
    house.ask("capture", "Invoices are rounded per line, half up", "--namespace", "patterns")
    yield house
    house.run("daemon", "stop")


def refused(house, *args):
    """What a question that is refused says, both as JSON and to a person."""
    done = house.run("sql", *args, "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr
    return told


def test_rows_are_objects_with_the_columns_asked_for(house):
    answer = house.ask("sql", "SELECT namespace, tags, created_at FROM memories ORDER BY 1")

    assert [one["name"] for one in answer["columns"]] == ["namespace", "tags", "created_at"]
    assert [(row["namespace"], row["tags"]) for row in answer["rows"]] == [
        ("decisions", ["ops"]),
        ("patterns", []),
    ]
    assert answer["rows"][0]["created_at"].endswith("Z")
    assert answer["more"] is False


def test_words_are_searched_for_by_the_parameters_of_the_text(house):
    """The memory was captured a moment ago: a question waits until it is noted."""
    ranked = house.ask("sql", RANKED, "--text", "how do we deploy with argocd?")
    assert [row["content"] for row in ranked["rows"]] == [DEPLOY]
    nearest = house.ask("sql", NEAREST, "--text", "how do we deploy with argocd?")
    assert nearest["rows"][0]["id"] == house.ask("recall", "argocd")["memories"][0]["id"]


def test_what_is_forgotten_is_found_no_more(house):
    kept = house.ask("capture", "The quartzite key rotates on Mondays")["id"]
    assert house.ask("sql", RANKED, "--text", "quartzite")["rows"]
    house.ask("forget", kept)

    assert house.ask("sql", RANKED, "--text", "quartzite")["rows"] == []
    counted = house.ask("sql", "SELECT count(*) AS n FROM versions WHERE content ILIKE '%quartz%'")
    assert counted["rows"] == [{"n": 0}]


def test_without_a_question_the_views_are_listed(house):
    answer = house.ask("sql")
    named = {view["name"] for view in answer["views"]}
    assert named == {
        *("memories", "versions", "uses", "passages"),
        *("memory_bm25($terms)", "memory_cosine($vector)"),
    }
    shown = house.run("sql").stdout
    assert "content VARCHAR" in shown
    assert "for example: subcog sql --text" in shown


def test_the_example_works_as_it_is_printed(house):
    import shlex

    _, _, *args = shlex.split(house.ask("sql")["example"])
    assert house.ask("sql", *args)["rows"][0]["content"] == DEPLOY


def test_a_person_gets_a_table(house):
    shown = house.run("sql", "SELECT namespace, count(*) AS n FROM memories GROUP BY ALL").stdout
    assert "namespace" in shown
    assert "decisions" in shown
    assert "2 rows in" in shown


def test_in_a_pipe_each_row_is_a_line_with_whole_values(house):
    query = "SELECT id, namespace, content, created_at, scope FROM memories ORDER BY namespace"
    [first, _] = house.ask("sql", query)["rows"]
    lines = house.run("sql", query).stdout.splitlines()
    [row] = [line for line in lines if first["id"] in line]
    assert first["content"] in row
    assert first["scope"] in row
    views = house.run("sql").stdout.splitlines()
    assert any(line.startswith("  id VARCHAR") and "created_at" in line for line in views)


def test_a_question_may_come_from_a_file(house, tmp_path):
    file = tmp_path / "question.sql"
    file.write_text("-- how many\nSELECT count(*) AS n FROM memories;\n")
    assert house.ask("sql", "--file", str(file))["rows"] == [{"n": 2}]
    piped = house.run("sql", "--file", "-", "--json", stdin="SELECT 1 AS one")
    assert json.loads(piped.stdout)["rows"] == [{"one": 1}]
    assert house.run("sql", "SELECT 1", "--file", str(file)).returncode == 2


def test_more_rows_than_the_limit_are_told(house):
    answer = house.ask("sql", "FROM range(10)", "--limit", "3")
    assert (len(answer["rows"]), answer["more"]) == (3, True)


def test_values_of_every_kind_become_json(house):
    answer = house.ask(
        "sql",
        "SELECT 1.5::DECIMAL(4,1) AS d, 'nan'::FLOAT AS f, 2::HUGEINT ** 70 AS h, x'ff'::BLOB AS b,"
        " DATE '2026-01-02' AS day, INTERVAL 1 DAY AS i, {'a': [1, NULL]} AS s, map([1], [2]) AS m,"
        " (1::HUGEINT << 80) AS g, 1 AS same, 2 AS same",
    )
    [row] = answer["rows"]
    assert row["d"] == 1.5
    assert row["f"] is None
    assert (row["day"], row["s"], row["m"]) == ("2026-01-02", {"a": [1, None]}, {"1": 2})
    assert row["g"] == str(1 << 80)
    assert (row["same"], row["same_1"]) == (1, 2)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nope FROM memories", "nope"),
        ("DELETE FROM memories", "only one statement"),
        ("SELECT * FROM store.forgotten_texts", "there is no view forgotten_texts"),
        ("SELECT * FROM read_text('/etc/passwd')", "read_text() cannot be read"),
        ("SELECT $terms", "--text TEXT"),
    ],
)
def test_a_refusal_says_why(house, question, told):
    assert told in refused(house, question)
    assert house.ask("sql", "SELECT count(*) AS n FROM memories")["rows"] == [{"n": 2}]


def test_another_project_is_seen_with_all_alone(house):
    other = house.root / "other"
    other.mkdir()
    house.ask("capture", "Somewhere else we use tabs", "--project", str(other))
    question = "SELECT count(*) AS n FROM memories WHERE content LIKE 'Somewhere else%'"

    assert house.ask("sql", question)["rows"] == [{"n": 0}]
    assert house.ask("sql", question, "--project", str(other))["rows"] == [{"n": 1}]
    assert house.ask("sql", question, "--all")["rows"] == [{"n": 1}]


@pytest.mark.slow
async def test_an_endless_question_is_interrupted_and_holds_nobody_up(house):
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"
    began = time.monotonic()
    told: list[str] = []

    async def ask():
        told.append(await anyio.to_thread.run_sync(refused, house, endless))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        kept = await anyio.to_thread.run_sync(
            house.ask, "capture", "We keep this while a question runs"
        )
        assert kept["id"]
        await anyio.to_thread.run_sync(house.ask, "forget", kept["id"])
    assert told == ["the question took longer than 5 s and was interrupted"]
    assert time.monotonic() - began < 60
    assert house.ask("sql", "SELECT 1 AS one")["rows"] == [{"one": 1}]


def test_a_question_that_takes_too_much_memory_is_interrupted_and_leaves_nothing(house):
    pid = house.ask("status")["pid"]
    house.ask("sql", "SELECT 1")
    began_mb = memory_mb(pid, "VmRSS")
    assert "needs more memory" in refused(house, large(40_000))
    eventually(lambda: memory_mb(pid, "VmRSS") < began_mb + 100)
    assert house.ask("status")["pid"] == pid


@pytest.mark.slow
def test_a_question_that_cannot_be_interrupted_ends_the_daemon_and_nothing_that_was_kept(house):
    kept = house.ask("capture", "The heliotrope build runs at noon")["id"]
    pid = house.ask("status")["pid"]
    assert house.run("sql", large(1_000_000)).returncode == 3
    found = house.ask("sql", f"SELECT id FROM memories WHERE id = '{kept}'")
    assert found["rows"] == [{"id": kept}]
    assert house.ask("status")["pid"] != pid


def large(times):
    """A question that joins a text of ten times that to each of 2,048 rows in a single step."""
    text = f"SELECT string_agg('0123456789') AS v FROM range({times})"
    return f"SELECT max(length(v || i)) FROM ({text}), range(2048) AS r(i)"


def memory_mb(pid, field):
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024
