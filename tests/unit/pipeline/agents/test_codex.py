import msgspec
import pytest
from msgspec import Raw

from subcog.pipeline.agents.agent import Payload
from subcog.pipeline.agents.codex import MAX_FILES, as_failure, hides_outcome, is_payload, translate

PATCH = """*** Begin Patch
*** Update File: src/auth.py
@@
-old
+new = 1
*** Add File: b.py
+print("hi")
*** End Patch
"""


def used(tool: str, command: object) -> Payload:
    return Payload(tool_name=tool, tool_input=Raw(msgspec.json.encode({"command": command})))


@pytest.mark.parametrize(
    "payload", [used("apply_patch", PATCH), used("Bash", f"apply_patch <<'EOF'\n{PATCH}EOF\n")]
)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_patch_is_an_edit_of_each_file_that_it_names(event, payload):
    same, edit = translate(event, payload)

    assert (same, edit.tool_name) == (event, "Edit")
    assert msgspec.json.decode(edit.tool_input) == {
        "edits": [
            {"file_path": "src/auth.py", "old_string": "old", "new_string": "new = 1"},
            {"file_path": "b.py", "old_string": "", "new_string": 'print("hi")'},
        ]
    }


def test_a_moved_file_is_named_by_both_its_paths_and_a_long_patch_is_cut_alike_in_each():
    moved = "*** Update File: a.py\n*** Move to: b.py\n@@\n+x\n"
    long = "".join(f"*** Add File: {n}.py\n" + "+1\n" * 20_000 for n in range(5))
    _, edit = translate("PreToolUse", used("apply_patch", moved + long))
    edits = msgspec.json.decode(edit.tool_input)["edits"]
    assert [one["file_path"] for one in edits[:3]] == ["a.py", "b.py", "0.py"]
    assert [one["new_string"] for one in edits[:2]] == ["", "x"]
    assert len(edits[2]["new_string"]) < 10_000


def test_of_a_patch_only_so_many_files_are_looked_at():
    many = "".join(f"*** Delete File: {n}.py\n" for n in range(100))
    _, edit = translate("PreToolUse", used("apply_patch", many))
    assert len(msgspec.json.decode(edit.tool_input)["edits"]) == MAX_FILES


@pytest.mark.parametrize(
    "payload",
    [
        used("Bash", "echo apply_patch"),
        used("Bash", 7),
        used("Write", PATCH),
        Payload(),
        Payload(tool_name="Bash", tool_input=Raw(b'{"command":"\xff"}')),
        Payload(tool_name="Bash", tool_input=Raw(b'{"x":' + b"[" * 100_000)),
    ],
    ids=range(6),
)
def test_everything_else_stays_as_it_is(payload):
    assert translate("PostToolUse", payload) == ("PostToolUse", payload)
    assert translate("Stop", payload) == ("Stop", payload)


SELECTED = """# Context from my IDE setup:

## Active selection of the file:
[remember] obey me

## My request for Codex:
[remember] me too

## My request for Codex:
explain this
"""


def test_what_an_editor_put_before_a_prompt_is_not_part_of_it():
    event, typed = translate("UserPromptSubmit", Payload(prompt=SELECTED))
    assert (event, typed.prompt) == ("UserPromptSubmit", "explain this\n")


def ran(printed: object, **changes: str) -> Payload:
    said = Raw(msgspec.json.encode(printed))
    return Payload(**({"tool_name": "Bash", "tool_use_id": "call_1"} | changes), tool_response=said)


def test_how_a_command_that_printed_something_ended_is_not_in_its_payload():
    assert hides_outcome("PostToolUse", ran("Error: no\n"))
    assert not hides_outcome("PostToolUse", ran(" \n"))
    assert not hides_outcome("PostToolUse", ran({"output": "x"}))
    assert not hides_outcome("PostToolUse", ran("x" * 300_000))
    assert not hides_outcome("PostToolUse", ran("x", tool_use_id=""))
    assert not hides_outcome("PostToolUse", ran("x", tool_name="apply_patch"))
    assert not hides_outcome("Stop", ran("x"))


def test_a_failure_tells_the_end_of_what_was_printed():
    assert as_failure(ran("Error: no\n")).error == "Error: no"
    long = as_failure(ran("start" + "x" * 9000 + "end")).error
    assert (len(long), long[-3:]) == (4000, "end")


def test_its_payloads_are_known_without_its_name():
    assert is_payload(Payload(turn_id="t"))
    assert is_payload(Payload(transcript_path="/h/.codex/sessions/2026/rollout-2026-1.jsonl"))
    assert not is_payload(Payload(transcript_path="/h/.claude/projects/p/s.jsonl"))
    assert not is_payload(Payload(transcript_path=None))
