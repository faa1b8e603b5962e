from subcog.sinks.indexes.topic_scope import TopicScope
from tests.fakes import make_memory


def shelf_of(*memories):
    shelf = TopicScope()
    for number, (namespace, *keys) in enumerate(memories):
        shelf.put(make_memory(id=f"m{number}", namespace=namespace), keys)
    return shelf


def test_the_memories_about_a_topic_come_latest_first():
    shelf = shelf_of(("context", "redis"), ("context", "celery"), ("context", "redis", "celery"))
    assert shelf.ids_about("redis") == ["m2", "m0"]
    assert shelf.ids_about("nothing") == []


def test_a_topic_has_the_namespaces_of_its_memories_as_they_come_and_go():
    shelf = shelf_of(("context", "redis"), ("decisions", "redis"), ("gotchas", "celery"))
    assert shelf.namespaces("redis") == {"context", "decisions"}
    shelf.remove("m1")
    assert shelf.namespaces("redis") == {"context"}
    shelf.put(make_memory(id="m1", namespace="patterns"), ["redis"])
    assert shelf.namespaces("redis") == {"context", "patterns"}


def test_a_newer_version_takes_the_topics_of_the_older_away():
    shelf = shelf_of(("context", "redis", "celery"))
    shelf.put(make_memory(id="m0", version=2), ["celery", "queue"])
    shelf.put(make_memory(id="m0", version=1), ["redis"])
    assert (shelf.count("redis"), shelf.count("celery"), shelf.count("queue")) == (0, 1, 1)
    assert shelf.ids_about("redis") == []


def test_what_is_beside_a_topic_comes_once_for_each_of_its_memories():
    shelf = shelf_of(("context", "redis", "cache"), ("context", "redis", "cache"), ("context", "x"))
    assert sorted(shelf.keys_beside("cache")) == ["cache", "cache", "redis", "redis"]


def test_renumbered_it_is_the_same_without_what_was_taken_out():
    shelf = shelf_of(("context", "redis", "cache"), ("decisions", "redis"), ("context", "queue"))
    shelf.remove("m0")
    anew = shelf.renumbered()
    assert len(anew) == 2
    assert dict(anew.counts()) == {"redis": 1, "queue": 1}
    assert anew.namespaces("redis") == {"decisions"}
    assert list(anew.keys_beside("queue")) == ["queue"]


def test_the_topics_with_a_word_in_them_are_found_whatever_was_added_since():
    shelf = shelf_of(("context", "redis-cache", "celery"), ("context", "cache"))
    assert sorted(shelf.having(["cach"])) == ["cache", "redis-cache"]
    shelf.put(make_memory(id="m2"), ["cache-cache"])
    assert set(shelf.having(["cache", "celery"])) == {
        "redis-cache", "cache", "cache-cache", "celery",
    }  # fmt: skip
    assert list(shelf.having(["queue"])) == []


def test_nothing_is_in_no_topic():
    shelf = shelf_of(("context", "redis"))
    assert list(shelf.having([""])) == []
