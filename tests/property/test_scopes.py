"""Whatever is stored where: no read ever leaves the scopes that it names."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path
from typing import Any

import anyio
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog.bus.values import Query, Scope
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.api.dispatch import Calls
from subcog.pipeline.app.app import App
from subcog.pipeline.entrance.handler import HookHandler
from subcog.sinks.indexes.topic_index import TopicIndex
from subcog.sinks.models.analyzer import Analyzer, text_encoding
from subcog.sinks.search.index import Index
from subcog.sinks.search.retriever import Search
from tests.stores import FakeClock, make_row, opened
from tests.thorough import times

# Names that a careless comparison, prefix or pattern would take for one another.
identities = st.sampled_from(["a", "A", "a:b", "b", "a%", "a_", "", "a'", "a\0", "ä", "a "])
scopes = st.builds(Scope, st.sampled_from(["project", "user", "org"]), identities)
places = st.lists(scopes, min_size=1, max_size=12)
readers = st.lists(scopes, min_size=1, max_size=3, unique=True)


async def check(where: list[Scope], reader: list[Scope], forgotten: int) -> None:
    rows = [
        make_row(number, scope=scope, content_hash="same", namespace="tasks")
        for number, scope in enumerate(where)
    ]
    ids = [row.memory.id for row in rows]
    with tempfile.TemporaryDirectory() as directory:
        async with opened(Path(directory) / "s.duckdb") as store:
            await store.put(rows)
            gone = ids[forgotten % len(ids)]
            removed = await store.forget(gone, reader)
            mine = [
                row.memory
                for row in rows
                if row.memory.scope in reader and not (removed and row.memory.id == gone)
            ]

            assert removed == (where[forgotten % len(ids)] in reader)
            assert list(await store.get(ids, reader)) == mine
            assert list(await asyncio.to_thread(store.get_now, ids, reader)) == mine
            assert list(await store.latest(reader, limit=99)) == mine[::-1]
            for memory_id in ids:
                history = await store.history(memory_id, reader)
                assert list(history) == [each for each in mine if each.id == memory_id]
            for scope in reader:
                found = await store.find_hash("same", scope, "tasks")
                assert found == next((each for each in mine if each.scope == scope), None)
            counts = await store.counts()
            assert sum(counts.values()) == len(rows) - removed


@settings(max_examples=times(10))
@given(places, readers, st.integers(0, 11))
def test_no_read_crosses_scopes(where, reader, forgotten):
    asyncio.run(check(where, reader, forgotten))


WORDS = Analyzer()


@settings(max_examples=times(50))
@given(places, readers, st.integers(0, 11))
def test_no_search_and_no_topic_crosses_scopes(where, reader, forgotten):
    memories = [
        make_row(number, scope=scope, content="the quokka deploys", tags=("quokka",)).memory
        for number, scope in enumerate(where)
    ]
    index, topics = Index(), TopicIndex()
    index.extend((memory, text_encoding(memory.content, WORDS)) for memory in memories)
    for memory in memories:
        topics.add(memory)
    gone = memories[forgotten % len(memories)]
    index.remove(gone.id)
    topics.remove(gone.id)
    mine = {m.id for m in memories if m.scope in reader and m.id != gone.id}
    by_id = {memory.id: memory for memory in memories}
    search = Search(
        index,
        None,
        fetch=lambda ids, scopes: [by_id[each] for each in ids if by_id[each].scope in scopes],
        latest=None,
        clock=FakeClock(),
    )

    recalled = search.recall_now(Query(text="quokka", scopes=tuple(reader), limit=99))

    assert {hit.memory.id for hit in recalled.hits} == mine
    assert recalled.total == len(mine)
    assert set(topics.lookup("quokka", tuple(reader))) == mine
    listed = {info.name: info.memory_count for info in topics.list(tuple(reader))}
    assert listed.get("quokka", 0) == len(mine)
    assert bool(topics.search("quokka", tuple(reader))) == bool(mine)
    assert bool(topics.related("quokka", tuple(reader))) == bool(mine)


def test_no_call_that_a_client_can_make_crosses_projects(tmp_path):
    """What the command line and MCP ask comes through these calls; each names only a project."""
    projects = [tmp_path / name for name in ("one", "two", "one-more")]
    for project in projects:
        project.mkdir()
    anyio.run(_ask_from_everywhere, tmp_path, [str(project) for project in projects])


async def _ask_from_everywhere(root: Path, projects: list[str]) -> None:
    env = {"SUBCOG_HOME": str(root / "home"), "HOME": str(root)}
    paths = find_paths(env)
    app = App(load_settings(paths.config_file, env).settings, paths)
    async with app.running():
        await app.load()
        calls = Calls(app, HookHandler(app), dict)
        kept = await _keep_at_random(calls, projects)
        for project in projects:
            await _see_nothing_else(calls, project, kept)
        await app.unload()


async def _call(calls: Calls, project: str, name: str, **params: Any) -> tuple[bool, Any]:
    fields = {"project": project, "cwd": "", "client": "cli"}
    done, answer = await calls.handle(name, fields, msgspec.json.encode(params))
    return done, msgspec.json.decode(answer)


async def _keep_at_random(calls: Calls, projects: list[str]) -> dict[str, str]:
    """The memories by id, each with the project that alone may read it, or "" for all."""
    dice = random.Random(11)
    kept = {}
    for number in range(30):
        project, scope = dice.choice(projects), dice.choice(["project", "project", "user", "org"])
        text = f"quokka number {number} lives in the {dice.choice(['red', 'blue'])} cellar"
        params = {"text": text, "scope": scope, "tags": ["quokka"], "namespace": "context"}
        _, answer = await _call(calls, project, "capture", **params)
        kept[answer["id"]] = project if scope == "project" else ""
    return kept


async def _see_nothing_else(calls: Calls, project: str, kept: dict[str, str]) -> None:
    mine = {each for each, owner in kept.items() if owner in {"", project}}
    _, recalled = await _call(calls, project, "recall", query="quokka cellar", limit=100)
    assert {memory["id"] for memory in recalled["memories"]} == mine
    _, topic = await _call(calls, project, "topics", topic="quokka")
    assert {memory["id"] for memory in topic["memories"]} == mine
    _, page = await _call(calls, project, "export", after="", limit=100)
    assert {memory["id"] for memory in page["memories"]} == mine
    for stranger in kept.keys() - mine:
        for name in ("get", "history", "why", "forget", "expire", "restore"):
            done, _ = await _call(calls, project, name, id=stranger)
            assert not done, name
        done, _ = await _call(calls, project, "update", id=stranger, text="mine now")
        assert not done
        done, _ = await _call(calls, project, "supersede", old=stranger, text="mine now")
        assert not done
