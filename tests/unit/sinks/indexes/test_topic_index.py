import threading
from datetime import timedelta

import pytest

from subcog.bus.results import Topic
from subcog.bus.values import Scope
from subcog.sinks.indexes.topic_index import TopicIndex
from tests.fakes import NOW, PROJECT, make_memory

HERE = (PROJECT,)
OTHER = Scope("project", "other")
TAGS = ("alembic-tool", "Schemas")


def ids(*numbers):
    return tuple(make_memory(number).id for number in numbers)


@pytest.fixture
def index():
    index = TopicIndex()
    index.build(
        [
            make_memory(
                1, "Database migrations run before the deploy", tags=("alembic-tool", "Schemas")
            ),
            make_memory(2, "A migration must be reversible", namespace="patterns"),
            make_memory(3, "Authentication uses JWT", tags=("auth", "jwt"), namespace="patterns"),
            make_memory(4, "JWT expiry is 15 minutes", tags=("auth",), namespace="gotchas"),
        ]
    )
    return index


def names(topics):
    return [topic.name for topic in topics]


@pytest.mark.parametrize("spelling", ["migration", "Migrations", "MIGRATION ", "#migrations"])
def test_one_topic_has_all_its_spellings(index, spelling):
    assert index.lookup(spelling, HERE) == ids(2, 1)


@pytest.mark.parametrize(
    "spelling", ["database-migration", "Database Migrations", "database_migrations"]
)
def test_a_phrase_is_a_topic(index, spelling):
    assert index.lookup(spelling, HERE) == ids(1)


def test_namespaces_and_tags_are_topics_by_their_own_name(index):
    assert index.lookup("patterns", HERE) == ids(3, 2)
    assert index.lookup("pattern", HERE) == ids(3, 2)
    assert index.lookup("Alembic tools", HERE) == index.lookup("schema", HERE) == ids(1)
    assert {"patterns", "decisions", "alembic-tool", "Schemas"} <= set(names(index.list(HERE)))


def test_the_list_is_by_count_and_knows_the_namespaces(index):
    listed = index.list(HERE)
    assert [topic.memory_count for topic in listed] == sorted(
        (topic.memory_count for topic in listed), reverse=True
    )
    assert Topic(name="jwt", memory_count=2, namespaces=("gotchas", "patterns")) in listed
    assert index.count(HERE) == len(listed)


def test_the_list_can_be_limited_to_the_largest(index):
    assert index.list(HERE, limit=3) == index.list(HERE)[:3]
    assert index.list(HERE, limit=0) == ()


def test_an_unknown_topic_has_no_memories(index):
    assert index.lookup("kubernetes", HERE) == ()
    assert index.lookup("", HERE) == ()
    assert index.related("kubernetes", HERE) == ()


def test_another_scope_sees_nothing(index):
    assert index.list((OTHER,)) == ()
    assert index.lookup("migration", (OTHER,)) == ()
    assert index.search("migration", (OTHER,)) == ()
    assert index.related("jwt", (OTHER,)) == ()
    assert index.list(()) == ()


def test_a_name_is_shown_as_it_was_written(index):
    index.add(make_memory(11, "We publish with NATS JetStream, and Jonas renews the keys of ADFS"))
    index.add(make_memory(12, "Jonas prüft jeden Entwurf für die Kasse"))
    for written in ("nats", "jonas", "adfs"):
        assert [topic.name for topic in index.search(written, (PROJECT,), limit=1)] == [written]
    assert index.lookup("Jonas", (PROJECT,)) == ids(12, 11)


def test_small_words_of_another_language_are_no_topics(index):
    index.add(make_memory(11, "Les webhooks arrivent parfois deux fois, faites attention avec ça"))
    index.add(make_memory(12, "Die Datenbank wird jede Nacht zurückgesetzt, wir sichern vorher"))
    for word in ("les", "faites", "deux", "avec", "parfois", "die", "wir", "jede"):
        assert index.count_about(word, (PROJECT,)) == 0
    assert index.count_about("Webhooks", (PROJECT,)) == 1


def test_scopes_are_read_together_and_each_once(index):
    index.add(make_memory(5, "Migrations of the other team", scope=OTHER))
    assert index.lookup("migration", (PROJECT, OTHER, PROJECT)) == ids(5, 2, 1)
    (migration,) = [t for t in index.list((PROJECT, OTHER)) if t.name == "migration"]
    assert (migration.memory_count, migration.namespaces) == (3, ("decisions", "patterns"))


def test_a_new_version_replaces_the_old_one(index):
    index.add(make_memory(1, "Backups run at night", version=2, namespace="context"))
    assert index.lookup("migration", HERE) == ids(2)
    assert index.lookup("backup", HERE) == ids(1)
    assert index.lookup("alembic-tool", HERE) == ()


def test_the_namespaces_of_a_topic_follow_what_becomes_of_its_memories(index):
    def namespaces():
        (jwt,) = [topic for topic in index.list(HERE) if topic.name == "jwt"]
        return jwt.namespaces

    assert namespaces() == ("gotchas", "patterns")
    index.add(make_memory(4, "JWT expiry is an hour", version=2, namespace="decisions"))
    assert namespaces() == ("decisions", "patterns")
    index.remove(make_memory(3).id)
    assert namespaces() == ("decisions",)
    index.add(make_memory(5, "JWT keys rotate", namespace="patterns"))
    assert namespaces() == ("decisions", "patterns")


def test_an_older_version_changes_nothing(index):
    index.add(make_memory(1, "Backups run at night", version=2))
    index.add(make_memory(1, "Database migrations run before the deploy"))
    assert index.lookup("backup", HERE) == ids(1)
    assert index.lookup("migration", HERE) == ids(2)


def test_a_superseded_memory_is_taken_out(index):
    index.add(make_memory(2, "A migration must be reversible", superseded_by="mem_x"))
    assert index.lookup("migration", HERE) == ids(1)


def test_a_removed_memory_is_gone_from_everything(index):
    for number in (3, 4):
        index.remove(make_memory(number).id)
    index.remove("mem_unknown")
    assert index.lookup("jwt", HERE) == ()
    assert "jwt" not in names(index.list(HERE))
    assert index.search("jwt", HERE) == ()
    assert index.related("auth", HERE) == ()


def test_search_puts_the_topic_itself_first_then_beginnings_then_parts(index):
    index.add(make_memory(6, "Authorization and migration tooling", tags=("authz", "oauth")))
    found = names(index.search("AUTH", HERE))
    starts = [name.startswith("auth") for name in found]
    assert found[0] == "auth"
    assert {"authz", "authentication", "oauth"} <= set(found)
    assert starts == sorted(starts, reverse=True)
    assert "migration" in names(index.search("how do database migrations work", HERE))
    assert index.search(" ", HERE) == ()


def test_related_topics_are_those_of_the_same_memories_without_namespaces(index):
    related = index.related("JWT", HERE)
    assert related[0] == "auth"
    assert "authentication" in related
    assert not {"jwt", "patterns", "gotchas", "migration"} & set(related)


def test_removing_and_adding_for_ever_does_not_grow(index):
    for version in range(2, 4000):
        index.add(make_memory(1, f"Database migrations, word{version}y", version=version))
        index.remove(make_memory(1).id)
    (topics,) = index._scopes.values()
    assert len(topics._ids) < 1200
    assert len(topics._keys) < 4000
    assert index.lookup("migration", HERE) == ids(2)


def test_many_new_versions_do_not_grow_either(index):
    for version in range(2, 4000):
        index.add(make_memory(1, f"Database migrations, word{version}y", version=version))
    (topics,) = index._scopes.values()
    assert len(topics._ids) < 1200
    assert index.lookup("migration", HERE) == ids(2, 1)


def test_what_is_removed_during_a_build_does_not_come_back():
    index = TopicIndex()
    reached, removed = threading.Event(), threading.Event()

    def memories():
        yield make_memory(1, "Migrations first")
        reached.set()
        assert removed.wait(5)
        yield make_memory(2, "Migrations second")

    builder = threading.Thread(target=index.build, args=(memories(),))
    builder.start()
    assert reached.wait(5)
    index.remove(make_memory(2).id)
    index.add(make_memory(1, "Backups now", version=2))
    removed.set()
    builder.join(5)
    assert index.lookup("migration", HERE) == ()
    assert index.lookup("backup", HERE) == ids(1)
    index.add(make_memory(2, "Migrations again"))
    assert index.lookup("migration", HERE) == ids(2)


def test_it_knows_when_the_newest_was_written(index):
    assert TopicIndex().last_indexed is None
    assert index.last_indexed == make_memory(1).updated_at
    index.add(make_memory(7, updated_at=NOW + timedelta(days=1)))
    index.add(make_memory(8))
    assert index.last_indexed == NOW + timedelta(days=1)


def test_the_index_says_which_and_how_many_memories_it_has(index):
    assert index.memories == 4
    assert make_memory(1).id in index
    index.remove(make_memory(1).id)
    assert index.memories == 3
    assert make_memory(1).id not in index


def test_a_topic_of_one_memory_can_lose_it_and_get_another(index):
    assert index.lookup("expiry", HERE) == ids(4)
    index.remove(make_memory(4).id)
    assert index.lookup("expiry", HERE) == ()
    index.add(make_memory(7, "The expiry is one hour", namespace="decisions"))
    index.add(make_memory(8, "The expiry moved", namespace="gotchas"))
    assert index.lookup("expiry", HERE) == ids(8, 7)
    [info] = [info for info in index.list(HERE) if info.name == "expiry"]
    assert (info.memory_count, info.namespaces) == (2, ("decisions", "gotchas"))


def test_of_very_many_topics_the_largest_the_newest_and_the_named_one_are_searched(monkeypatch):
    monkeypatch.setattr("subcog.sinks.indexes.topic_scope._SEARCHED", 3)
    index = TopicIndex()
    index.build(make_memory(number, "webhook retries") for number in range(1, 9))
    index.build(make_memory(number, f"webhook{number} oddity") for number in range(9, 40))
    assert names(index.search("webhook", HERE))[0] == "webhook"
    assert names(index.search("webhook20", HERE)) == ["webhook20"], "by its name, though it is rare"

    index.add(make_memory(50, "the quokka-webhook is new"))

    assert "quokka-webhook" in names(index.search("webhook", HERE))


def test_a_query_that_is_cut_between_two_words_ends_and_finds_the_first():
    index = TopicIndex()
    word = "k" * 59
    index.add(make_memory(content=f"The {word} is full."))
    [found] = index.search(f"{word} behind", (PROJECT,))
    assert found.name == word
