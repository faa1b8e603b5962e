from subcog.sinks.indexes.topic_scope import TopicScope
from tests.fakes import make_memory


def topics_of(*memories):
    topics = TopicScope()
    for number, (namespace, *keys) in enumerate(memories):
        topics.put(make_memory(id=f"m{number}", namespace=namespace), keys)
    return topics


def test_the_memories_about_a_topic_come_latest_first():
    topics = topics_of(("context", "redis"), ("context", "celery"), ("context", "redis", "celery"))
    assert topics.ids_about("redis") == ["m2", "m0"]
    assert topics.ids_about("nothing") == []


def test_a_topic_has_the_namespaces_of_its_memories_as_they_come_and_go():
    topics = topics_of(("context", "redis"), ("decisions", "redis"), ("gotchas", "celery"))
    assert topics.namespaces("redis") == {"context", "decisions"}
    topics.remove("m1")
    assert topics.namespaces("redis") == {"context"}
    topics.put(make_memory(id="m1", namespace="patterns"), ["redis"])
    assert topics.namespaces("redis") == {"context", "patterns"}


def test_a_newer_version_takes_the_topics_of_the_older_away():
    topics = topics_of(("context", "redis", "celery"))
    topics.put(make_memory(id="m0", version=2), ["celery", "queue"])
    topics.put(make_memory(id="m0", version=1), ["redis"])
    assert (topics.count("redis"), topics.count("celery"), topics.count("queue")) == (0, 1, 1)
    assert topics.ids_about("redis") == []


def test_what_is_beside_a_topic_comes_once_for_each_of_its_memories():
    topics = topics_of(
        ("context", "redis", "cache"), ("context", "redis", "cache"), ("context", "x")
    )
    assert sorted(topics.keys_beside("cache")) == ["cache", "cache", "redis", "redis"]


def test_renumbered_it_is_the_same_without_what_was_taken_out():
    topics = topics_of(("context", "redis", "cache"), ("decisions", "redis"), ("context", "queue"))
    topics.remove("m0")
    anew = topics.renumbered()
    assert len(anew) == 2
    assert anew.counts_of(anew._keys) == {"redis": 1, "queue": 1}
    assert anew.namespaces("redis") == {"decisions"}
    assert list(anew.keys_beside("queue")) == ["queue"]


def test_the_topics_with_a_word_in_them_are_found_whatever_was_added_since():
    topics = topics_of(("context", "redis-cache", "celery"), ("context", "cache"))
    assert sorted(topics.having(["cach"])) == ["cache", "redis-cache"]
    topics.put(make_memory(id="m2"), ["cache-cache"])
    assert set(topics.having(["cache", "celery"])) == {
        "redis-cache", "cache", "cache-cache", "celery",
    }  # fmt: skip
    assert list(topics.having(["queue"])) == []


def test_nothing_is_in_no_topic():
    topics = topics_of(("context", "redis"))
    assert list(topics.having([""])) == []
