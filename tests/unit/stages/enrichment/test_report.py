import json

import msgspec

from subcog.bus.enrichment import Enrichment, SimilarTask
from subcog.bus.events import PromptEnriched
from subcog.bus.values import ProjectFacts
from subcog.stages.enrichment.report import enriched_intent
from subcog.stages.parse import parse
from tests.fakes import make_prompt


def enriched(text, enrichment=None, **facts):
    parsed = parse(make_prompt(text))
    return PromptEnriched(
        trace="t",
        prompt=parsed.prompt,
        parsed=parsed.parsed,
        project=ProjectFacts(**facts),
        enrichment=enrichment or Enrichment(),
    )


def test_what_is_unknown_is_there_and_empty():
    made = enriched_intent(enriched("hm"))
    assert made["primary_intent"] is None
    assert made["project"]["stack"] == made["project"]["test_cmd"] == ""
    assert made["memory"]["similar_tasks"] == made["suggestions"] == made["conflicts"] == []
    assert made["context_tokens"] == 0


def test_words_are_ordered_by_rarity_and_paths_say_whether_they_are_there():
    known = Enrichment(existing_paths=("a.py",), rarity=(("redis", 0.9), ("queue", 0.2)))
    made = enriched_intent(enriched("queue redis a.py b.py", known))
    assert [one["word"] for one in made["retrieval_words"]][:2] == ["redis", "queue"]
    assert [(one["value"], one.get("exists")) for one in made["entities"]] == [
        ("redis", None),
        ("a.py", True),
        ("b.py", False),
    ]


def test_the_tokens_are_those_of_what_is_known():
    few = enriched_intent(enriched("hm", name="shop"))["context_tokens"]
    task = SimilarTask(id="m", input="Implement OAuth", similarity=0.8, outcome="success")
    more = enriched_intent(enriched("hm", Enrichment(similar_tasks=(task,)), name="shop"))
    assert 0 < few < more["context_tokens"]


def test_whatever_a_prompt_holds_it_is_json():
    made = enriched_intent(enriched("fix \ud800 the a\ud800b.py thing #1 and add \udfff"))
    assert json.loads(msgspec.json.encode(made))["primary_intent"] == "BUGFIX"
