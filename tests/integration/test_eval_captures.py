import json

DECISION = "We decided to use argon2id instead of bcrypt, because bcrypt truncates at 72 bytes."


def test_the_command_measures_a_file_of_labelled_messages(fresh, tmp_path):
    label = {"type": "decision", "namespace": "decisions", "span": DECISION}
    rows = (
        {
            "id": "1",
            "role": "assistant",
            "text": f"Done.\n\n**Decision**: {DECISION}",
            "captures": [label],
        },
        {"id": "2", "role": "user", "text": "run the tests again", "captures": []},
    )
    file = tmp_path / "messages.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    report = fresh.ask("eval", "captures", str(file), "--json")
    assert report["messages"] == 2
    assert report["precision"] == report["recall"] == report["high_confidence_recall"] == 1.0
    assert report["junk_rate"] == 0.0
    assert "high_confidence_recall" in fresh.run("eval", "captures", str(file)).stdout

    file.write_text('{"id": "1"}\n')
    wrong = fresh.run("eval", "captures", str(file))
    assert wrong.returncode != 0
    assert "line 1" in wrong.stderr


def test_a_prompt_shows_what_in_it_is_worth_keeping(fresh):
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": DECISION}
    out = fresh.run("hook", "UserPromptSubmit", "--explain", stdin=json.dumps(payload))
    (signal,) = json.loads(out.stdout)["metadata"]["signals"]
    assert signal["kind"] == "decision"
