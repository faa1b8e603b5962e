import pytest

from subcog.bus.values import Scope
from subcog.config.paths import find_paths
from subcog.pipeline.app.app import INDEXING
from subcog.pipeline.app.archives import LazyArchive
from subcog.pipeline.app.conversations import Conversations
from subcog.pipeline.app.team import Team
from subcog.pipeline.daemon.http_endpoint import Gauges
from subcog.sinks.indexes.topic_index import TopicIndex
from subcog.sinks.search.index import IndexStats
from tests.fakes import PROJECT, make_memory, make_quoting


class Archive:
    """What the gauges read of an archive."""

    def __init__(self, *memories):
        self.topics = TopicIndex()
        self.add(*memories)

    def add(self, *memories):
        self.topics.build(memories)
        self.index = self
        self.stats = IndexStats(
            memories={str(m.scope): 1 for m in memories}, bytes=1000, unencoded=0
        )
        self.count = len(memories)


class AnApp:
    """What the gauges read of an app."""

    def __init__(self, paths):
        self.paths = paths
        self.archive = LazyArchive()
        self.passages = Conversations(make_quoting())
        self.llm = None
        self.team = Team(
            "", archive=self.archive, publish=None, redactor=None, new_id=None, clock=None
        )
        self.bus = self

    def depths(self):
        return dict.fromkeys(INDEXING, 1)


@pytest.fixture
def app(tmp_path):
    return AnApp(find_paths({"SUBCOG_HOME": str(tmp_path)}))


@pytest.fixture
def gauges(app):
    return Gauges(app, app.paths, clients=lambda: 2, mcp_sessions=lambda: 1)


async def test_before_anything_is_loaded_every_gauge_has_a_value(gauges):
    read = gauges.read()
    assert read["subcog_ready"][1] is False
    assert read["subcog_clients"][1] == 2
    assert read["subcog_index_waiting"][1] == len(INDEXING)
    assert read["subcog_database_bytes"][1] == {"database": 0, "log": 0}
    for name in ("subcog_memories", "subcog_topics", "subcog_scopes"):
        assert read[name][1] == {"project": 0, "user": 0, "org": 0}


async def test_scopes_are_counted_by_kind_and_never_named(app, gauges):
    other = Scope("project", "other")
    app.archive.arrive(Archive(make_memory(1), make_memory(2, scope=other)))
    read = gauges.read()
    assert read["subcog_scopes"][1] == {"project": 2, "user": 0, "org": 0}
    assert read["subcog_memories"][1]["project"] == 2
    assert read["subcog_topics"][1]["project"] > 0
    assert PROJECT.id not in str(read)


async def test_topics_are_counted_anew_only_when_the_index_has_changed(app, gauges, monkeypatch):
    archive = Archive(make_memory(1, "the ledger needs a migration of its schema"))
    app.archive.arrive(archive)
    first = gauges.read()["subcog_topics"][1]["project"]
    asked = []
    monkeypatch.setattr(TopicIndex, "count", lambda self, scopes: asked.append(scopes) or 7)
    assert gauges.read()["subcog_topics"][1]["project"] == first
    assert asked == []
    archive.add(make_memory(1), make_memory(2, scope=Scope("user", "u")))
    assert gauges.read()["subcog_topics"][1] == {"project": 7, "user": 7, "org": 0}


class Passages:
    """What the gauges read of an archive of passages."""

    sessions, count, nbytes = 2, 9, 4096


async def test_what_is_kept_of_sessions_is_counted_and_is_nothing_while_it_loads(app, gauges):
    names = ("subcog_sessions", "subcog_passages", "subcog_passages_bytes")
    assert [gauges.read()[name][1] for name in names] == [0, 0, 0]
    app.passages.arrive(Passages())
    assert [gauges.read()[name][1] for name in names] == [2, 9, 4096]


async def test_the_spool_is_counted_by_whether_it_could_be_read(app, gauges):
    app.paths.spool.mkdir(parents=True)
    for name in ("a.json", "b.json", "c.bad", "d.tmp"):
        (app.paths.spool / name).touch()
    assert gauges.read()["subcog_spool_entries"][1] == {"waiting": 2, "unreadable": 1}
