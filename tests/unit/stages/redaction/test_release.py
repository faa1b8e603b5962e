import pytest

from subcog.bus.values import Provenance
from subcog.stages.redaction.redact import Redactor
from subcog.stages.redaction.release import release
from tests.fakes import make_memory

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HARMLESS = "We hash passwords with argon2id, since bcrypt truncates at 72 bytes"


@pytest.fixture(scope="module")
def redactor():
    return Redactor.load()


def test_what_holds_no_secret_leaves_as_it_is(redactor):
    memory = make_memory(1, HARMLESS)
    assert release(memory, redactor=redactor) == memory


def test_what_was_stored_before_there_was_a_rule_is_cleaned_everywhere(redactor):
    origin = Provenance(file=f"/src/{TOKEN}.py", gate=f"merged: {TOKEN}", author="ann")
    memory = make_memory(
        1,
        f"The token {TOKEN} is for <private>my own notes</private> the mirror",
        summary=f"The token {TOKEN}",
        tags=("mirror", TOKEN),
        provenance=origin,
        sources=(origin,),
    )
    clean = release(memory, redactor=redactor)
    said = (clean.content, clean.summary, clean.tags, clean.provenance.file, clean.sources[0].file)
    assert TOKEN not in str(said)
    assert "my own notes" not in clean.content
    assert clean.tags == ("mirror",)
    # What is ours is no text, and a mark that says who and why would be no use redacted.
    assert (clean.provenance.gate, clean.provenance.author) == (origin.gate, "ann")


def test_a_second_look_changes_nothing(redactor):
    once = release(make_memory(1, f"The token {TOKEN} is for the mirror"), redactor=redactor)
    assert release(once, redactor=redactor) == once


def test_what_would_be_nothing_but_a_secret_stays_here(redactor):
    assert release(make_memory(1, TOKEN), redactor=redactor) is None


def test_what_block_declines_stays_here(redactor):
    blocking = Redactor.load(mode="block")
    assert release(make_memory(1, f"The token {TOKEN} is old"), redactor=blocking) is None
    assert release(make_memory(1, HARMLESS), redactor=blocking) is not None
