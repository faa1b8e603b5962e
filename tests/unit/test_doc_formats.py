"""The documented formats are those of the code: answers, status, frames."""

import json
import re
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec import inspect

from subcog.bus import frames, results, service_results, sessions
from subcog.bus.events import CaptureSettled, IntentClassified, PromptEnriched, PromptSubmitted
from subcog.bus.prompts import IntentType, Parsed, ProjectFacts, SearchIntent
from subcog.bus.values import Hit, Kept, Memory, Place, Query, Recalled, Scope
from subcog.pipeline.api import results as answers
from tests.fakes import make_result

from .written import HOUSE, WRITTEN, fences, of_each

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHOP = Scope("project", "shop")
MEMORY = Memory(
    id="mem_1",
    scope=SHOP,
    namespace="decisions",
    content="x",
    summary="x",
    created_at=NOW,
    updated_at=NOW,
)


def _documented(heading):
    text = (HOUSE / "docs" / "formats.md").read_text()
    found = re.search(rf"^### {heading}\n(.*?)(?=^##)", text, re.DOTALL | re.MULTILINE)
    return json.loads(re.search(r"```json\n(.*?)```", found[1], re.DOTALL)[1])


def _given():
    """What the code answers, by the heading under which it is documented."""
    query = Query(text="x", scopes=(SHOP,))
    hit = Hit(memory=MEMORY, text=1.0, late=1.0, vector=1.0, order=1.0, relevance=1.0)
    recalled = Recalled(hits=(hit,), mode="hybrid", total=1, took_ms=1.0)
    kept = Kept(outcome="stored", namespace="decisions", memory_id="mem_1")
    place = Place(project=SHOP, root="/x", user=Scope("user", "x"))
    prompt = PromptSubmitted(trace="x", session="", client="", place=place, text="x")
    enriched = PromptEnriched(
        trace="x", prompt=prompt, parsed=Parsed(text="x", query="x"), project=ProjectFacts()
    )
    intent = SearchIntent(intent_type=IntentType.HOWTO, confidence_percent=50)
    classified = IntentClassified(trace="x", enriched=enriched, intent=intent)
    use = make_result(results.UseResult)
    given = {
        "capture": answers.capture_answer(CaptureSettled(trace="x", kept=kept, memory=MEMORY)),
        "recall": answers.recall_answer(query, recalled, (), lambda _: False),
        "get": answers.memory_answer(MEMORY),
        "why": answers.why_answer((MEMORY,), None, use, None, now=NOW),
        "topics": answers.topics_answer((), 0, NOW),
        "topics TOPIC": answers.topic_answer("x", (MEMORY,), (), 1),
        "classify": answers.classify_answer("x", classified),
    }
    return {name: msgspec.json.decode(msgspec.json.encode(each)) for name, each in given.items()}


@pytest.mark.parametrize("heading", list(_given()))
def test_documented_answers_have_the_fields_of_the_code(heading):
    documented, given = _documented(heading), _given()[heading]
    assert list(documented) == list(given)
    if given.get("memories"):
        assert list(documented["memories"][0]) == list(given["memories"][0])


def test_the_documented_status_has_the_fields_of_the_code():
    assert list(_documented("status")) == list(service_results.StatusResult.__struct_fields__)


ROWS = {
    "list": results.ListResult,
    "sessions list": sessions.SessionsResult,
    "sessions show": sessions.SessionResult,
    "sessions forget": sessions.ForgetSessionsResult,
    "recall --sessions": sessions.FoundSessions,
    "learn": sessions.LearnedAll,
    "learn --dry-run": sessions.LearnPlan,
    "team join": service_results.JoinResult,
    "team share": service_results.ShareResult,
    "team unshare": service_results.UnshareResult,
    "team leave": service_results.LeaveResult,
    "team status": service_results.TeamStatusResult,
    "backup": service_results.BackupResult,
    "copies": results.CopiesResult,
    "restore FILE": service_results.RestoreResult,
    "daemon stop": service_results.StopResult,
}


def _field_names(kind):
    """The names of all fields of ``kind`` and of the structs in them."""
    found = set()
    waiting = [inspect.type_info(kind)]
    while waiting:
        match waiting.pop():
            case inspect.StructType(fields=fields):
                found |= {field.encode_name for field in fields}
                waiting += [field.type for field in fields]
            case inspect.UnionType(types=types):
                waiting += types
            case inspect.VarTupleType(item_type=item):
                waiting.append(item)
    return found


@pytest.mark.parametrize("command", ROWS)
def test_the_row_of_a_command_names_the_fields_of_its_answer(command):
    text = (HOUSE / "docs" / "formats.md").read_text()
    row = re.search(rf"^\|.* `{command}` \| `(.*?)`", text, re.MULTILINE)[1]
    assert set(re.findall(r'"(\w+)"', row)) == _field_names(ROWS[command])


@of_each(WRITTEN)
def test_every_json_example_is_json(document):
    for example in fences(document, "json"):
        json.loads(example)


def test_the_documented_frame_is_one():
    text = (HOUSE / "docs" / "formats.md").read_text()
    example = re.search(rf"```text\n({frames.PROTOCOL} call .*?)\n```", text, re.DOTALL)[1].encode()
    line, _, rest = example.partition(b"\n")
    head = frames.read_head(line)
    assert (head.kind, head.fields + head.body) == ("call", len(rest))
    assert frames.read_fields(rest[: head.fields]) == {"version": "0.1.0"}
    for name, limit in (
        ("the first line", frames.MAX_LINE),
        ("fields", frames.MAX_FIELDS),
        ("body", frames.MAX_BODY),
    ):
        assert f"| {name} | {limit:,} |" in text
