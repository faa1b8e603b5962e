"""What the daemon answers about a memory."""

from msgspec.structs import replace

from subcog.bus.anchors import Anchor
from subcog.bus.values import Provenance
from subcog.pipeline.api.results import history_answer
from tests.fakes import make_memory


def test_a_version_that_only_notes_something_says_what():
    said = make_memory(1, "The cache lives in S3", provenance=Provenance(gate="explicit"))
    updated = replace(said, version=2, provenance=Provenance(gate="updated"))
    denying = replace(updated, version=3, contradicts="mem_2")
    found = replace(denying, version=4, anchors=(Anchor(path="a.py", digest="d"),))
    assert [one.reason for one in history_answer((said, updated, denying, found)).versions] == [
        "explicit",
        "updated",
        "noted that it contradicts mem_2",
        "noted where its code is",
    ]
