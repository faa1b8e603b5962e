import json

import pytest

from subcog.pipeline.imports.formats import recognise
from subcog.pipeline.imports.item import BadImport

LINES = {
    "claude": {"type": "user", "sessionId": "s", "message": {"content": "hi"}, "content": "x"},
    "summary": {"type": "summary", "summary": "x", "leafUuid": "u"},
    "codex": {"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}},
    "gemini": {"sessionId": "s", "projectHash": "h", "startTime": "t"},
}


@pytest.mark.parametrize("client", LINES)
def test_a_transcript_is_not_imported_and_the_command_for_it_is_told(tmp_path, client):
    file = tmp_path / "a b" / "s.jsonl"
    file.parent.mkdir()
    file.write_text("\n" + json.dumps(LINES[client]) + "\n")
    for path in (file, tmp_path):
        with pytest.raises(BadImport, match="subcog learn --all"):
            recognise(path, project=None)


def test_the_command_names_the_one_project_of_the_transcripts(tmp_path):
    project = tmp_path / "my shop"
    project.mkdir()
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "memory").mkdir()
    (folder / "memory" / "MEMORY.md").write_text("")
    (folder / "s.jsonl").write_text(json.dumps(LINES["claude"] | {"cwd": str(project)}))
    with pytest.raises(BadImport) as refused:
        recognise(folder, project=None)
    assert f"subcog learn --project '{project}'" in str(refused.value)
    assert f"`subcog import {folder / 'memory'}`" in str(refused.value)


def test_a_transcript_may_name_a_folder_that_no_system_can_have(tmp_path):
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(LINES["claude"] | {"cwd": "/" + "a" * 300}))
    with pytest.raises(BadImport, match="subcog learn --all"):
        recognise(file, project=None)


def test_other_jsonl_is_no_transcript(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"content": "x", "type": "note", "payload": {}}\n')
    assert recognise(file, project=None).format == "jsonl"
