import pytest

from subcog.sinks.indexes.keyphrases import Keyphrases, display_name, lemma, topic_key
from tests.fakes import make_memory


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("migrations", "migration"),
        ("queries", "query"),
        ("classes", "class"),
        ("patches", "patch"),
        ("indexes", "index"),
        ("indices", "index"),
        ("caches", "cache"),
        ("repos", "repo"),
        ("apis", "api"),
        ("ids", "id"),
    ],
)
def test_plurals_become_singular(plural, singular):
    assert lemma(plural) == singular


@pytest.mark.parametrize(
    "word", ["redis", "kubernetes", "postgres", "status", "nextjs", "css", "class", "v2.0.s", "dns"]
)
def test_names_that_end_in_s_are_left_alone(word):
    assert lemma(word) == word


def test_a_key_is_a_key_of_itself():
    for name in ("Tech debt", "Database_Migrations", "C++", "c#", "node.js", "größen"):
        assert topic_key(topic_key(name)) == topic_key(name)


def test_a_namespace_keeps_its_name():
    assert display_name(topic_key("Decisions")) == "decisions"
    assert display_name(topic_key("tech_debt")) == "tech-debt"
    assert display_name("migration") == "migration"


def test_a_memory_is_about_its_subjects():
    words = Keyphrases().words(
        "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
    )
    assert words[0] == "argon2id"
    assert {"password", "bcrypt"} <= set(words)
    assert not {"we", "use", "for", "because", "at", "72"} & set(words)


def test_names_of_things_outweigh_plain_words():
    words = Keyphrases().words("the handler for uploads calls S3Client and then parse_report fails")
    assert set(words[:2]) == {"s3client", "parse-report"}


def test_phrases_do_not_cross_punctuation_or_small_words():
    words = Keyphrases().words("Redis cluster, worker queue. Broker of messages")
    assert {"redis-cluster", "worker-queue"} <= set(words)
    assert not {"cluster-worker", "queue-broker", "broker-message"} & set(words)


def test_hashes_numbers_and_single_letters_are_no_topics():
    text = "deadbeef0123 4711 x 2026-11-21 ___ 357f06412 é"
    assert Keyphrases().words(text) == []


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "''''", "a" * 10_000, "語" * 3000, "— … «»"])
def test_odd_text_is_no_trouble(text):
    assert all(0 < len(key) <= 130 for key in Keyphrases().words(text))


def test_tags_come_before_words_and_empty_ones_are_dropped():
    memory = make_memory(1, "Backups run at night", tags=("", "--", "Ops"), namespace="context")
    assert list(Keyphrases().topics(memory))[:3] == ["context", "ops", "backup"]


def test_a_memory_has_few_topics_however_long_it_is():
    text = " ".join(f"subject{number}y thing{number}z." for number in range(5000))
    assert len(Keyphrases().topics(make_memory(1, text, tags=tuple(map(str, range(99)))))) <= 21
