import json
from pathlib import Path

import numpy as np
import pytest

from subcog.bus.values import NAMESPACES
from subcog.sinks.indexes.keyphrases import MAX_LISTED, choose_topics, is_own_label
from subcog.sinks.indexes.topic_index import TopicIndex
from tests.fakes import PROJECT, make_memory

QUESTIONS = Path(__file__).parents[4] / "perf" / "questions"
HERE = (PROJECT,)
NOT_SUBJECTS = frozenset(
    """
    about after again also always and because been before being both but can could did does
    during each every few first for from had has have how into its just last lost made many may
    more most must never new not now off once one only other our out over own same should since
    some still than that the their them then there these they this three through two until use
    used uses very was were what when where which while who why will with without would
    """.split()
)


def notes(count):
    """``count`` notes of invented projects, as somebody would write them, with their tags."""
    found = []
    for file in sorted(QUESTIONS.glob("*.memories.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            if "text" in note and len(found) < count:
                more = {"namespace": note["namespace"], "tags": tuple(note.get("tags", ()))}
                found.append(make_memory(len(found) + 1, note["text"], **more))
    return found


@pytest.fixture(scope="module")
def thousand():
    own = ("auto-captured", "choice", "outcome", "resolves-mem_01", "pre-compact", "sub-agent")
    index = TopicIndex()
    index.build(
        make_memory(number, note.content, namespace=note.namespace, tags=own)
        for number, note in enumerate(notes(1000), 1)
    )
    return index


def test_a_thousand_notes_have_tens_of_topics(thousand):
    listed = thousand.list(HERE)
    assert len(listed) == thousand.count(HERE) == MAX_LISTED
    words = [topic for topic in listed if topic.name not in NAMESPACES]
    assert all(2 <= topic.memory_count <= 400 for topic in words)


def test_no_topic_is_a_stop_word_or_a_label_of_ours(thousand):
    names = {topic.name for topic in thousand.list(HERE)}
    assert not names & NOT_SUBJECTS
    assert not {name for name in names if is_own_label(name)}


@pytest.mark.parametrize(
    "label",
    """
    auto-captured choice rationale outcome success failure resolved resolves-mem_01HX pre-compact
    sub-agent UserPromptSubmit stop
    """.split(),
)
def test_what_subcog_writes_on_a_memory_is_no_topic(label):
    index = TopicIndex()
    index.build(make_memory(number, "Redis queues", tags=(label,)) for number in range(1, 30))
    assert index.lookup(label, HERE) == ()


def test_tags_are_listed_as_they_were_written():
    index = TopicIndex()
    index.build(notes(500))
    index.add(make_memory(900, "Nothing of note", tags=("release-notes", "dns")))
    names = {topic.name for topic in index.list(HERE)}
    tagged = {}
    for note in notes(500):
        for tag in note.tags:
            tagged[tag] = tagged.get(tag, 0) + 1
    assert {tag for tag, count in tagged.items() if count > 12} <= names
    assert index.lookup("Release note", HERE) == (make_memory(900).id,)


def test_a_tag_of_one_memory_comes_before_any_word():
    plain = TopicIndex()
    plain.build(make_memory(n, note.content) for n, note in enumerate(notes(300), 1))
    plain.add(make_memory(999, "Nothing of note", tags=("quarterly-audits",)))
    assert "quarterly-audits" in {topic.name for topic in plain.list(HERE)}


def chosen(total, /, named=(), **frequency):
    keys = [key.replace("_", "-") for key in frequency]
    counts = np.array(list(frequency.values()), dtype=np.uint32)
    flags = np.array([key in named for key in keys])
    return [keys[number] for number in choose_topics(keys, counts, flags, total)]


def test_a_word_in_one_memory_or_in_nearly_all_divides_nothing():
    assert chosen(100, queue=30, rare=1, everywhere=60) == ["queue"]
    assert chosen(100, named={"everywhere", "rare"}, queue=30, rare=1, everywhere=60) == [
        "everywhere", "rare", "queue",
    ]  # fmt: skip


def test_what_is_in_a_third_of_the_memories_divides_best():
    assert chosen(100, several=9, third=35, few=3) == ["third", "several", "few"]


def test_a_phrase_takes_the_place_of_words_that_come_with_it_alone():
    assert chosen(100, rate=10, limit=20, rate_limit=10) == ["rate-limit", "limit"]


def test_of_few_memories_every_word_is_listed():
    assert sorted(chosen(3, redis=1, queue=3)) == ["queue", "redis"]
