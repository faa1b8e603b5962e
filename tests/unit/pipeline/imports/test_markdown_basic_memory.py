from datetime import UTC, datetime

import pytest

from subcog.pipeline.imports.formats import recognise
from tests.waiting import ends_soon

NOTE = """\
---
title: Auth design
type: note
permalink: notes/auth-design
tags:
- security
created: 2026-01-02T03:04:05+02:00
modified: 2026-01-03 10:00:00
---

# Auth design

Sessions live for a day.

## Observations
- [decision] Passwords are hashed with argon2id #auth #hash (see the audit)
- [tech] Tokens are signed with Ed25519
- [problem] bcrypt #1 truncates at 72 bytes
- [ ] a task that is no observation
- [docs](https://example.org)

## Relations
- implements [[Security policy]]
- relates_to [[Login]] (both need it)
- [[Audit]]
"""


def read(folder, text, name="auth.md"):
    (folder / name).write_text(text)
    source = recognise(folder / name, project=None)
    return source.format, list(source.read())


def test_each_observation_is_a_memory_with_its_category_and_the_notes_title(tmp_path):
    form, items = read(tmp_path, NOTE)
    assert form == "basic memory"
    decided, tech, problem = (item for item in items if item.namespace)
    assert decided.content == ("Auth design\n\nPasswords are hashed with argon2id (see the audit)")
    assert decided.summary.startswith("Passwords are hashed")
    assert decided.namespace == "decisions"
    assert decided.tags == ("security", "auth", "hash", "decision")
    assert (tech.namespace, problem.namespace) == ("context", "gotchas")
    assert problem.content.endswith("bcrypt #1 truncates at 72 bytes")
    assert decided.provenance.client == "basic-memory"


def test_its_times_are_kept_as_utc(tmp_path):
    _, items = read(tmp_path, NOTE)
    assert {item.created_at for item in items} == {datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)}
    assert {item.updated_at for item in items} == {datetime(2026, 1, 3, 10, tzinfo=UTC)}


def test_prose_is_kept_and_relations_and_links_are_not(tmp_path):
    _, items = read(tmp_path, NOTE)
    prose = [item.content for item in items if not item.namespace]
    assert prose == [
        "Auth design\n\nSessions live for a day.",
        "Auth design / Observations\n\n- [ ] a task that is no observation",
    ]


def test_observations_in_a_block_of_code_are_code(tmp_path):
    text = "---\ntitle: T\npermalink: t\n---\n```\n- [a] b\n```\n"
    _, [item] = read(tmp_path, text)
    assert item.content == "T\n\n```\n- [a] b\n```"


def test_a_folder_of_such_notes_is_told(tmp_path):
    (tmp_path / "auth.md").write_text(NOTE)
    assert recognise(tmp_path, project=None).format == "basic memory"


@pytest.mark.parametrize(
    "line",
    [
        "- [tech] a " + "#b " * 30_000 + "c",
        "- [tech] a" + " " * 100_000 + "c",
        "- [[A]]" + " " * 100_000 + "c",
    ],
    ids=["tags", "spaces", "relation"],
)
def test_a_hostile_line_is_read_in_linear_time(tmp_path, line):
    with ends_soon():
        _, [item] = read(tmp_path, f"---\ntitle: T\npermalink: t\n---\n{line}\n")
        assert item.content.endswith("c")
