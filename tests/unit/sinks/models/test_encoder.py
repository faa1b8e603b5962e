import pytest
from msgspec.structs import replace

from subcog.sinks.models.embedder import Embedder, Encoder
from tests.stores import make_row


@pytest.fixture(scope="module")
def embedder():
    return Embedder.load(None)


def test_without_a_model_there_are_terms_alone():
    made = Encoder().encode(make_row().memory)
    assert (made.model, made.vectors) == ("", b"")
    assert made.terms


def test_many_are_encoded_as_each_would_be(embedder):
    encoder = Encoder()
    encoder.embedder = embedder
    memories = [make_row(number).memory for number in range(3)]
    assert encoder.encode_many(memories) == [encoder.encode(memory) for memory in memories]


def test_what_comes_from_another_model_is_encoded_anew(embedder):
    encoder = Encoder()
    encoder.embedder = embedder
    stale, memory = make_row(1), make_row(2).memory
    current = encoder.encode(memory)
    refreshed = encoder.refresh([(stale.memory, stale.encoding), (memory, current)])
    assert refreshed[0] == (stale.memory, encoder.encode(stale.memory))
    assert refreshed[1][1] is current


def test_without_a_model_what_is_stored_is_taken_as_it_is():
    row = make_row()
    of_another = (row.memory, replace(row.encoding, model="another"))
    assert Encoder().refresh([of_another]) == [of_another]
