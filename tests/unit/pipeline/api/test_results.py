"""What the daemon answers about a memory."""

from msgspec import UNSET
from msgspec.structs import replace

from subcog.bus.anchors import Anchor
from subcog.bus.events import CaptureSettled
from subcog.bus.values import Kept, Provenance
from subcog.pipeline.api.results import capture_answer, history_answer
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


def test_to_replace_is_not_offered_where_a_clause_of_the_contradicted_memory_is_still_shown():
    old = make_memory(1, "The backup runs at 01:15 and takes 40 minutes.")
    kept = Kept(outcome="stored", namespace="decisions", contradicts=old.id)
    new = make_memory(2, "the backup takes 70 minutes now")
    settled = CaptureSettled(trace="t", kept=kept, memory=new, other=old)
    assert capture_answer(settled).offer is UNSET


def test_to_replace_is_offered_only_where_nothing_of_the_contradicted_memory_may_hold():
    rule = make_memory(1, "All PRs need two approvals")
    offers = []
    for text in (
        "All PRs need three approvals",
        "Exception: docs-only PRs need one approval",
        "In March 2099 all PRs will need three approvals",
    ):
        kept = Kept(outcome="stored", namespace="decisions", contradicts=rule.id)
        settled = CaptureSettled(trace="t", kept=kept, memory=make_memory(2, text), other=rule)
        offers.append(capture_answer(settled).offer)
    assert offers == [f"subcog supersede {rule.id} {make_memory(2, '').id}", UNSET, UNSET]
