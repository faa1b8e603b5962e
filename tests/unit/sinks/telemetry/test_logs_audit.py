import json
from datetime import UTC, datetime

import pytest

from subcog.bus.signals import emit, redacted
from subcog.sinks.telemetry.logs import AuditLog

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = {
    "trace": "T",
    "memory": "mem_T",
    "rules": {"github-token": 2, "email": 1},
    "scope": "project",
    "decision": "redacted",
}


@pytest.fixture
def audit(tmp_path):
    audit = AuditLog(
        tmp_path / "state" / "audit.jsonl", clock=lambda: NOW, max_bytes=500, backups=2
    )
    audit.watch()
    yield tmp_path / "state"
    audit.unwatch()


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_redaction_leaves_one_line(audit):
    emit(redacted, "redact", **FACTS)
    assert lines(audit / "audit.jsonl") == [{"time": "2026-01-01T00:00:00Z", **FACTS}]


def test_it_is_for_its_owner_alone(audit):
    emit(redacted, "redact", **FACTS)
    assert (audit / "audit.jsonl").stat().st_mode & 0o777 == 0o600
    assert audit.stat().st_mode & 0o777 == 0o700


def test_it_does_not_grow_for_ever(audit):
    for number in range(40):
        emit(redacted, "redact", **FACTS | {"trace": str(number)})
    names = sorted(file.name for file in audit.iterdir())
    assert {"audit.jsonl.1", "audit.jsonl.2"} <= set(names) <= {"audit.jsonl", *names[-2:]}
    assert all(file.stat().st_size < 700 for file in audit.iterdir())
    kept = [line["trace"] for name in names[::-1] for line in lines(audit / name)]
    assert kept == [str(number) for number in range(40 - len(kept), 40)]


def test_a_line_that_cannot_be_written_hurts_nobody(audit, caplog):
    audit.write_text("a file where the folder should be")
    emit(redacted, "redact", **FACTS)
    assert [record.message for record in caplog.records] == ["cannot write an audit log entry"]


def test_nothing_is_written_after_the_watching_ended(tmp_path):
    audit = AuditLog(tmp_path / "audit.jsonl", clock=lambda: NOW)
    audit.watch()
    audit.unwatch()
    emit(redacted, "redact", **FACTS)
    assert list(tmp_path.iterdir()) == []
