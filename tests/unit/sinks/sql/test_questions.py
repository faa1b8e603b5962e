import threading

import anyio
import duckdb
import pytest
import pytest_asyncio

from subcog.sinks.sql import questions
from subcog.sinks.sql.functions import FUNCTIONS
from subcog.sinks.sql.questions import QuestionRefused, ask
from subcog.sinks.sql.views import views
from subcog.sinks.store.errors import StoreUnavailable
from subcog.sinks.store.sql import spill_of
from tests.stores import ELSEWHERE, HERE, make_row, new, opened

FORMS = (
    "SELECT * FROM {}",
    "SELECT (SELECT count(*) FROM {})",
    "WITH a AS (SELECT * FROM {}) FROM a",
    "SELECT * FROM memories, {} AS t",
    "SELECT * FROM memories WHERE EXISTS (FROM {})",
    "SELECT 1 UNION ALL SELECT 2 FROM {}",
    "DESCRIBE SELECT * FROM {}",
    "FROM memory_bm25((SELECT list(1) FROM {}))",
)
# Functions that DuckDB says have effects, and that do no harm: they give another value each time.
HARMLESS = {"random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid"}
REFUSED = (
    # what waits, changes or tells something outside of the views
    "currval nextval setval setseed write_log sleep_ms pg_sleep getenv current_setting getvariable "
    "json_serialize_plan json_execute_serialized_sql query query_table error assert_true stats "
    "current_query current_query_id current_connection_id current_transaction_id txid_current "
    # what makes values of any size, alone or one inside another
    "range generate_series generate_subscripts repeat replace regexp_replace lpad rpad bar format "
    "printf list_resize array_resize bin to_binary hex to_hex to_base64 base64 to_base bitstring "
    "bitstring_agg list_reduce array_reduce reduce list_select array_to_string list_string_agg "
    "list_aggregate url_encode regexp_escape to_json json_quote json_pretty nosuch"
).split()
MOST_MB = 512


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def store(tmp_path_factory):
    """One for all tests, which write nothing."""
    async with opened(tmp_path_factory.mktemp("sql") / "s.duckdb") as store:
        await store.put([make_row(1), make_row(2), make_row(3, scope=ELSEWHERE)])
        await store.forget(make_row(2).memory.id, [HERE])  # so that there is a digest and its key
        yield store


def asked(store, question, limit=10, most_mb=MOST_MB, **parameters):
    def work(cursor):
        return ask(
            cursor, question, [str(HERE)], limit=limit, parameters=parameters, most_mb=most_mb
        )

    return store.read(work)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM memories",
        "FROM memories SELECT count(*);",
        "WITH mine AS (FROM memories) SELECT count(*) FROM mine",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1) FROM n",
        "SELECT count(*) FILTER (namespace = 'decisions') OVER () FROM memories",
        "SELECT 1 WHERE 'project:elsewhere' NOT IN (SELECT scope FROM versions)",
        "SELECT count(*) FROM range(1)",
        "VALUES (1)",
        "SELECT list_sum([x FOR x IN [1]])",
    ],
)
async def test_a_question_on_the_views_is_answered(store, text):
    assert (await asked(store, text)).rows == ((1,),)


@pytest.mark.parametrize(
    "text",
    ["DESCRIBE memories", "DESCRIBE SELECT id FROM memories", "SHOW TABLES", "SUMMARIZE memories"],
)
async def test_what_there_is_can_be_asked_for(store, text):
    assert (await asked(store, text)).rows


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO store.memories (id) VALUES ('x')",
        "UPDATE store.memories SET scope = 'user:me'",
        "DELETE FROM store.versions",
        "DROP VIEW memories",
        "CREATE TABLE t (a INTEGER)",
        "CREATE OR REPLACE VIEW memories AS SELECT 1",
        "COPY memories TO '/tmp/out.csv'",
        "COPY (FROM memories) TO '/tmp/out.csv'",
        "EXPORT DATABASE '/tmp/out'",
        "ATTACH '/tmp/x.duckdb'",
        "DETACH store",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1TB'",
        "SET VARIABLE subcog_scopes = ['project:elsewhere']",
        "RESET threads",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "CHECKPOINT store",
        "BEGIN",
        "EXPLAIN ANALYZE DELETE FROM store.versions",
        "PREPARE p AS SELECT 1",
        "USE store",
        "PIVOT memories ON namespace USING count(*)",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP VIEW memories",
        "",
        ";",
    ],
)
async def test_only_one_statement_and_only_a_select_is_let_through(store, text):
    with pytest.raises(QuestionRefused, match="only one statement"):
        await asked(store, text)


@pytest.mark.parametrize(
    "source",
    [
        "store.memories",
        "store.main.forgotten_texts",
        "forgotten_texts",
        "merged_texts",
        "memory.main.memories",
        "information_schema.tables",
        "sqlite_master",
        "duckdb_settings()",
        "'/etc/passwd'",
        "'data.csv'",
        "'https://example.com/data.parquet'",
        "read_csv('/etc/passwd')",
        "read_text('/etc/passwd')",
        "read_blob('/etc/passwd')",
        "read_json('x.json')",
        "parquet_scan('x')",
        "glob('/*')",
        "query('SELECT * FROM store.forgotten_texts')",
        "query_table('store.forgotten_texts')",
        "json_execute_serialized_sql('{}')",
        "pragma_storage_info('store.versions')",
        "pragma_table_info('store.versions')",
        "duckdb_secrets()",
        "sniff_csv('/etc/passwd')",
    ],
)
async def test_nothing_but_the_views_can_be_read(store, source):
    for form in FORMS:
        with pytest.raises(QuestionRefused, match=r"there are memories|there is no view"):
            await asked(store, form.format(source))


@pytest.mark.parametrize(
    "text",
    [
        "SHOW ALL TABLES",
        "SHOW DATABASES",
        "DESCRIBE store.forgotten_texts",
        "SUMMARIZE store.forgotten_texts",
        "SUMMARIZE '/etc/passwd'",
    ],
)
async def test_nothing_but_the_views_is_shown(store, text):
    with pytest.raises(QuestionRefused):
        await asked(store, text)


async def test_a_name_that_a_question_gives_itself_opens_no_file(store):
    with pytest.raises(QuestionRefused, match="cannot name"):
        await asked(store, """SELECT * FROM (WITH "a.csv" AS (SELECT 1) SELECT 1), 'a.csv'""")


async def test_a_name_that_a_question_gives_itself_reads_nothing_of_duckdbs_own(store):
    def names(cursor):
        found = cursor.execute(
            "SELECT view_name FROM duckdb_views() WHERE internal "
            "UNION SELECT table_name FROM duckdb_tables()"
        )
        return {name for (name,) in found.fetchall()} - set(views())

    for name in await store.read(names):
        with pytest.raises(QuestionRefused):
            await asked(store, f"SELECT * FROM {name}, (WITH {name} AS (SELECT 1) SELECT 1)")


@pytest.mark.parametrize("name", REFUSED)
async def test_functions_that_wait_or_tell_or_grow_are_refused(store, name):
    for text in (f"SELECT {name}('x', 1)", f"SELECT main.{name}('x')", f"SELECT {name}() OVER ()"):
        with pytest.raises(QuestionRefused, match=r"cannot be used|Parser Error"):
            await asked(store, text)


async def test_each_function_with_effects_is_refused_or_known_to_be_harmless(store):
    assert await functions(store, "has_side_effects") & FUNCTIONS <= HARMLESS


async def test_each_function_that_is_allowed_is_one_of_duckdbs(store):
    assert await functions(store, "true") >= FUNCTIONS


async def functions(store, which):
    def names(cursor):
        found = cursor.execute(
            f"SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE {which}"
        )
        return {name for (name,) in found.fetchall()}

    return await store.read(names)


@pytest.mark.parametrize(
    "value",
    [
        "content || ' · ' || namespace",
        "content ILIKE '%x%' OR content SIMILAR TO 'x.*' OR content ~ 'x'",
        "extract(year FROM created_at) + date_part('month', created_at)",
        "date_trunc('week', created_at) - INTERVAL 3 DAY",
        "strftime(created_at, '%Y-%m-%d') || created_at AT TIME ZONE 'UTC'",
        "tags[1] || tags[1:2][1]",
        "list_contains(tags, 'ops') OR len(tags) > 1",
        "list_filter(tags, lambda t: t != 'ops')",
        "[upper(t) FOR t IN tags IF length(t) > 1]",
        "{'id': id, 'n': 1}.n + MAP {'a': 1}['a']",
        "('{\"a\": [1]}'::JSON -> '$.a') || ('{\"a\": 1}'::JSON ->> '$.a')",
        "row_number() OVER (PARTITION BY namespace ORDER BY created_at DESC)",
        "lag(id) OVER (ORDER BY id) || first_value(id) OVER (ORDER BY id)",
        "position('x' IN content) + length(trim(both 'x' FROM content))",
        "split_part(content, ' ', 1) || regexp_extract(content, '(a)', 1)",
        "CASE WHEN confidence BETWEEN 0 AND 1 THEN coalesce(author, hook) ELSE nullif(id, '') END",
        "round(confidence * 100 / 2 ** 2 % 7, 1)",
        "greatest(created_at, now()::TIMESTAMP)",
        "if(confidence >= 1, 1, 0) + (SELECT median(length(content)) FROM memories)",
        "(SELECT string_agg(namespace, ', ' ORDER BY namespace) FROM memories)",
    ],
)
async def test_what_one_computes_with_is_allowed(store, value):
    assert len((await asked(store, f"SELECT {value} FROM memories")).rows) == 1


LARGE = (
    # a row at a time: the list of each holds the whole list again
    "SELECT len([l FOR x IN l]) FROM (SELECT list(i) AS l FROM range(12_000) t(i))",
    # in a single step, which no interrupt ends
    "SELECT max(length(v || i)) FROM (SELECT string_agg('0123456789') AS v FROM range(30_000)), "
    "range(2048) AS r(i)",
)


@pytest.mark.parametrize("question", LARGE)
async def test_a_question_that_makes_the_process_grow_is_interrupted(store, question):
    with pytest.raises(QuestionRefused, match="needs more memory"):
        await asked(store, question, most_mb=100)
    assert (await asked(store, "SELECT 1")).rows == ((1,),)


async def test_no_scope_but_those_given_is_seen(store):
    found = await asked(store, "SELECT DISTINCT scope FROM versions")
    assert found.rows == ((str(HERE),),)


async def test_parameters_are_bound_where_the_question_names_them(store):
    found = await asked(store, "SELECT $text, id FROM memory_bm25($terms)", text="x", terms=[7])
    assert found.columns[1:] == ("id",)
    assert (await asked(store, "SELECT $text", text="x", terms=[7])).rows == (("x",),)
    with pytest.raises(QuestionRefused, match=r"nothing is given for \$vector"):
        await asked(store, "FROM memory_cosine($vector)", terms=[7])


async def test_what_duckdb_says_of_a_mistake_is_told(store):
    with pytest.raises(QuestionRefused, match='syntax error at or near "SELEC"'):
        await asked(store, "SELEC 1")
    with pytest.raises(QuestionRefused, match="nope"):
        await asked(store, "SELECT nope FROM memories")


async def test_a_question_may_go_on_after_one_that_failed(store):
    for text in ("SELECT nope FROM memories", "SELECT 'x'::INTEGER FROM memories"):
        with pytest.raises(QuestionRefused):
            await asked(store, text)
    assert (await asked(store, "SELECT 1")).rows == ((1,),)


async def test_the_rows_are_limited(store):
    found = await asked(store, "SELECT range FROM range(1000000000000)", limit=3)
    assert (found.rows, found.more) == (((0,), (1,), (2,)), True)
    assert not (await asked(store, "SELECT range FROM range(3)", limit=3)).more


async def test_the_size_of_an_answer_is_limited(store, monkeypatch):
    monkeypatch.setattr(questions, "MOST_RESULT_BYTES", 50)
    with pytest.raises(QuestionRefused, match="ask for fewer rows"):
        await asked(store, "SELECT content FROM versions, range(100)", limit=100)


@pytest.mark.parametrize(
    "value",
    ["list(i)", "{'a': {'b': list(i)}}", "MAP {'a': list(i)}", "array_agg(i)::JSON", "[list(i)]"],
)
async def test_what_is_nested_counts_with_all_that_is_in_it(store, value):
    assert (await asked(store, f"SELECT {value} FROM range(9) t(i)")).rows
    with pytest.raises(QuestionRefused, match="more than 2,500,000 bytes"):
        await asked(store, f"SELECT {value} FROM range(500_000) t(i)")


async def test_no_column_is_measured_in_place_of_its_row(store):
    large = "SELECT NULL AS subcog_row, string_agg(i) FROM range(500_000) t(i)"
    with pytest.raises(QuestionRefused, match="more than 2,500,000 bytes"):
        await asked(store, large)
    assert (await asked(store, "SELECT NULL AS subcog_row")).rows == ((None,),)


async def test_names_count_with_each_row_that_has_them(store):
    question = f'SELECT 1 AS "{"n" * 10_000}" FROM range(1000)'
    with pytest.raises(QuestionRefused, match="ask for fewer rows"):
        await asked(store, question, limit=1000)


@pytest.mark.parametrize("end", ["", ";", " ; -- ä; ü", "/* ; */", "\n;\n", " -- ;"])
async def test_a_question_may_end_as_a_statement_does(store, end):
    assert (await asked(store, f"SELECT 'ä;'{end}")).rows == (("ä;",),)


async def test_rows_come_in_the_order_that_was_asked_for(store):
    found = await asked(store, "SELECT range AS n FROM range(5000) ORDER BY n DESC", limit=2)
    assert (found.rows, found.more) == (((4999,), (4998,)), True)


async def test_a_list_of_any_size_is_refused_where_rows_are_not(store):
    with pytest.raises(QuestionRefused, match="range cannot be used"):
        await asked(store, "SELECT len(range(1000000000))")
    assert (await asked(store, "SELECT count(*) FROM range(3), unnest([1, 2])")).rows == ((6,),)


async def test_nested_too_deeply_is_refused(store):
    with pytest.raises(QuestionRefused, match=r"nested too deeply|depth|Parser Error"):
        await asked(store, "SELECT " + "(" * 900 + "1" + ")" * 900 + " + 1" * 2000)


async def test_a_question_cannot_write_even_if_it_passes(store):
    """The transaction that it runs in is one for reading."""

    def work(cursor):
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        cursor.execute("DELETE FROM store.versions")

    with pytest.raises((duckdb.Error, ConnectionError)):
        await store.read(work)
    assert (await asked(store, "SELECT count(*) FROM versions")).rows == ((1,),)


async def test_a_question_is_interrupted_where_a_write_needs_its_memory(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        await interrupt_a_question(store)


async def interrupt_a_question(store):
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"
    began, reasons = threading.Event(), []

    def work(cursor):
        began.set()
        return ask(cursor, endless, [], limit=1, parameters={}, most_mb=MOST_MB)

    async def question():
        with pytest.raises(StoreUnavailable) as raised:
            await store.ask(work)
        reasons.append(raised.value.reason)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(question)
        await anyio.to_thread.run_sync(began.wait)
        assert await anyio.to_thread.run_sync(store.database.interrupt_questions)
    assert reasons == ["closed"]
    assert not await anyio.to_thread.run_sync(store.database.interrupt_questions)
    assert await store.put([make_row(9)]) == (True,)


async def test_what_does_not_fit_into_memory_lies_beside_the_database_and_is_gone_at_the_end(
    tmp_path,
):
    file = tmp_path / "data" / "s.duckdb"
    async with new(file) as store:
        [(spill,)] = await store.read(
            lambda cursor: cursor.execute("SELECT current_setting('temp_directory')").fetchall()
        )
        assert spill == str(spill_of(file))
        spill_of(file).mkdir()
        (spill_of(file) / "part").write_text("a text")
    assert [each.name for each in file.parent.iterdir()] == ["s.duckdb"]


async def test_a_length_of_time_that_python_has_no_value_for_is_refused(store):
    with pytest.raises(QuestionRefused, match="beyond what can be shown"):
        await asked(store, "SELECT [INTERVAL 90000000 YEARS]")
