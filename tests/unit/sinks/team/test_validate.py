from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from msgspec.structs import replace

from subcog.bus.anchors import Anchor
from subcog.bus.triggers import Trigger
from subcog.bus.values import Encoding, Memory, Provenance, Scope
from subcog.sinks.models.embedder import Embedder, Encoder
from subcog.sinks.store.rows import Row, content_hash
from subcog.sinks.team.validate import OTHERS, InvalidChange, check_found, validate
from tests.stores import ME, START, make_row
from tests.teams import ORG, SHOP, change, tombstone

SCOPES = (ORG, SHOP)
HALF = "half a pair \ud800"


@pytest.fixture(scope="module")
def encoder():
    encoder = Encoder()
    encoder.embedder = Embedder.load()
    return encoder


def org(**fields: object) -> Row:
    return make_row(scope=ORG, **fields)


def look(encoder, *changes, member="alice", scopes=SCOPES):
    return validate(changes, scopes, member=member, encoder=encoder)


def encoded(encoder, **fields: object) -> Row:
    memory = org(content="Redis keeps the sessions", **fields).memory
    return Row(memory, encoder.encode(memory))


def test_a_memory_of_another_member_arrives_as_theirs(encoder):
    row = encoded(encoder, provenance=Provenance(author="mallory"), sources=(Provenance(),))

    [arrival], refused = look(encoder, change(row, "bob"))

    assert not refused
    assert arrival.is_foreign
    assert arrival.record.memory.provenance.author == "bob"
    assert arrival.record.memory.sources == (Provenance(author=OTHERS),)
    assert arrival.record.memory == replace(
        row.memory,
        provenance=Provenance(author="bob"),
        sources=arrival.record.memory.sources,
    )
    assert arrival.record.vectors == row.encoding.vectors


def test_a_hash_that_claims_another_text_is_not_believed(encoder):
    """Else what is captured here would be taken for known, and not be kept."""
    true = encoded(encoder, content_hash=content_hash("Redis keeps the sessions"))
    forged = encoded(encoder, content_hash=content_hash("what only we know"))

    [believed], _ = look(encoder, change(true))
    [doubted], _ = look(encoder, change(forged))

    assert believed.record.memory.content_hash == true.memory.content_hash
    assert doubted.record.memory.content_hash == ""


def test_a_memory_of_the_same_member_arrives_as_ones_own(encoder):
    [arrival], _ = look(encoder, change(encoded(encoder), "alice"))

    assert not arrival.is_foreign
    assert arrival.record.memory.provenance.author == ""


@pytest.mark.parametrize("author", ["", "\x1b[31m", "\u202e"])
def test_a_name_that_says_nothing_is_another_member(encoder, author):
    [arrival], _ = look(encoder, change(encoded(encoder), author))

    assert arrival.is_foreign
    assert "\x1b" not in arrival.record.memory.provenance.author
    assert arrival.record.memory.provenance.author


def test_a_long_name_is_cut(encoder):
    [arrival], _ = look(encoder, change(encoded(encoder), "b" * 100_000))

    assert len(arrival.record.memory.provenance.author) == 100


@pytest.mark.parametrize("scope", [ME, Scope("project", "theirs"), Scope("org", "other")])
def test_what_is_of_no_shared_scope_is_not_even_looked_at(encoder, scope):
    arrived, refused = look(encoder, change(make_row(scope=scope)), tombstone("mem_1", scope))

    assert arrived == []
    assert refused == {"scope": 2}


def test_a_user_scope_is_refused_though_it_were_on_the_list(encoder):
    assert look(encoder, change(make_row(scope=ME)), scopes=[ME]) == ([], {"scope": 1})


HOSTILE = [
    ("id", {"id": "mem_1"}),
    ("id", {"id": "mem_" + "0" * 25 + "U"}),
    ("id", {"id": "../../../../etc/passwd/mem_abc"}),
    ("id", {"id": "mem_" + "9" * 26}),
    ("version", {"version": 2**60}),
    ("version", {"version": -1}),
    ("namespace", {"namespace": "system"}),
    ("namespace", {"namespace": ""}),
    ("confidence", {"confidence_percent": 101}),
    ("confidence", {"confidence_percent": -1}),
    ("link", {"supersedes": "mem_x"}),
    ("link", {"superseded_by": ""}),
    ("link", {"contradicts": "a" * 10_000_000}),
    ("size", {"content": "x" * 10_000_000}),
    ("size", {"summary": "x" * 10_000}),
    ("size", {"tags": tuple(map(str, range(1_000)))}),
    ("size", {"tags": ("x" * 1_000,)}),
    ("size", {"questions": ("why?",) * 4}),
    ("size", {"questions": ("x" * 201,)}),
    ("size", {"triggers": (Trigger(run="a", edit="b"),)}),
    ("size", {"triggers": (Trigger(run="a"),) * 9}),
    ("size", {"triggers": (Trigger(run="a \u202e"),)}),
    ("text", {"questions": ("why \u202e?",)}),
    ("size", {"sources": (Provenance(),) * 1_000}),
    ("size", {"provenance": Provenance(file="x" * 10_000)}),
    ("size", {"provenance": Provenance(said="x" * 10_000)}),
    ("text", {"content": HALF}),
    ("text", {"tags": (HALF,)}),
    ("text", {"sources": (Provenance(session=HALF),)}),
    ("text", {"content": "hidden \x00 \x1b[2J"}),
    ("text", {"summary": "turned \u202e round"}),
    ("text", {"provenance": Provenance(said="passage \x1b[2J")}),
    ("text", {"content": "tags \U000e0041\U000e0042"}),
    ("anchors", {"anchors": (Anchor(path="../../etc/passwd", digest=f"1:{'0' * 32}"),)}),
    ("anchors", {"anchors": (Anchor(path="a.py", digest=f"1:{'0' * 32}"),) * 9}),
    ("time", {"created_at": datetime(2026, 1, 1)}),  # noqa: DTZ001
    ("time", {"updated_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}),
    ("time", {"valid_to": datetime.max.replace(tzinfo=UTC)}),
]


@pytest.mark.parametrize(("reason", "fields"), HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_memory_of_ours_is_refused(encoder, reason, fields):
    good = encoded(encoder)

    arrived, refused = look(encoder, change(org(**fields)), change(good))

    assert refused == {reason: 1}
    assert [each.record.key for each in arrived if each.record] == [f"{good.memory.id}:1"]


@pytest.mark.parametrize(("reason", "fields"), HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_search_brought_is_looked_at_in_the_same_way(reason, fields):
    with pytest.raises(InvalidChange, match=reason):
        check_found(org(**fields).memory, SCOPES, member="alice")
    with pytest.raises(InvalidChange, match="scope"):
        check_found(make_row(scope=ME).memory, [ME], member="alice")


def test_what_a_search_brought_names_who_wrote_it():
    authors = [
        check_found(
            org(provenance=Provenance(author=author)).memory, SCOPES, member="alice"
        ).provenance.author
        for author in ("alice", "bob", "\x1b")
    ]
    assert authors == ["", "bob", OTHERS]


def test_a_row_under_another_name_than_its_own_is_refused(encoder):
    row = encoded(encoder)
    other = make_row(2).memory.id
    lies = [
        replace(change(row), id=other),
        replace(change(row), version=7),
        replace(change(row), scope=SHOP),
        replace(change(row), row=None),
    ]

    arrived, refused = look(encoder, *lies)

    assert all(each.record is None for each in arrived)
    assert refused == {"another memory": 3, "unreadable": 1}


def test_a_tombstone_needs_an_id_alone(encoder):
    arrived, refused = look(encoder, tombstone(org().memory.id, ORG), tombstone("'; --", ORG))

    assert [(each.id, each.is_tombstone) for each in arrived] == [(org().memory.id, True)]
    assert refused == {"id": 1}


LIES = [
    ("another model", lambda e: replace(e, model="other")),
    ("no vectors", lambda e: replace(e, vectors=b"")),
    ("half a vector", lambda e: replace(e, vectors=e.vectors[:-1])),
    ("more lengths than passages", lambda e: replace(e, lengths=e.lengths * 2)),
    ("lengths that count other words", lambda e: replace(e, lengths=b"\xff\xff")),
    ("a word beyond the vocabulary", lambda e: replace(e, words=b"\xff\xff" + e.words[2:])),
    ("more words than characters", lambda e: replace(e, **_swollen(e))),
    ("a loud vector", lambda e: replace(e, vectors=_times(e.vectors, 50))),
    ("no number", lambda e: replace(e, vectors=b"\x00\x7e" * (len(e.vectors) // 2))),
    ("an odd term", lambda e: replace(e, terms=e.terms + b"\x00")),
    ("terms in no order", lambda e: replace(e, terms=b"\xff" * 4 + e.terms)),
    ("every term there is", lambda e: replace(e, terms=_all_terms())),
]


def _times(vectors: bytes, factor: float) -> bytes:
    return (np.frombuffer(vectors, "<f2") * factor).astype("<f2").tobytes()


def _all_terms() -> bytes:
    return np.arange(5_000, dtype="<u4").tobytes()


def _swollen(encoding: Encoding) -> dict[str, bytes]:
    words = encoding.words * 100
    return {"words": words, "lengths": np.array([len(words) // 2], "<u2").tobytes()}


@pytest.mark.parametrize("lie", [lie for _, lie in LIES], ids=[name for name, _ in LIES])
def test_an_encoding_that_lies_is_made_anew_from_the_text(encoder, lie):
    row = encoded(encoder)

    [arrival], refused = look(encoder, change(Row(row.memory, lie(row.encoding))))

    assert not refused
    record = arrival.record
    assert Encoding(
        record.model, record.vectors, record.words, record.lengths, record.terms
    ) == encoder.encode(row.memory)


def test_a_text_without_a_known_word_keeps_its_empty_vector(encoder):
    memory = org(content="", summary="").memory
    row = Row(memory, encoder.encode(memory))

    [arrival], _ = look(encoder, change(row))

    assert arrival.record.vectors == row.encoding.vectors


def test_without_an_embedder_no_vector_is_believed():
    [arrival], _ = look(Encoder(), change(org()))

    assert arrival.record.vectors == b""
    assert arrival.record.terms


def test_everything_that_this_machine_would_write_is_let_through(encoder):
    """With line ends, accents, emoji, code and every field in use."""
    memory = Memory(
        id="mem_01jznp4qk8w3x9v5t2m7r6h0ya",
        version=12,
        scope=SHOP,
        namespace="tech-debt",
        content="Zeilen\n\tmit Tabs, Ümläuten, 日本語, 👩‍💻 and `code <tags>`",
        summary="Zeilen …",
        tags=("a/b", "c.d"),
        provenance=Provenance(file="/src/ä.py", session="s", gate="new: 0.31 alike to mem_x"),
        created_at=START,
        updated_at=START,
        valid_from=START,
        valid_to=START + timedelta(days=400),
        supersedes=make_row(2).memory.id,
        superseded_by=make_row(3).memory.id,
        contradicts=make_row(4).memory.id,
        sources=(Provenance(client="claude-code"),),
        content_hash="ab" * 32,
    )

    [arrival], refused = look(encoder, change(Row(memory, encoder.encode(memory)), "alice"))

    assert not refused
    assert arrival.record.memory.content == memory.content
