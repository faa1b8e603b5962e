"""What a memory says of code that changed, and of what was amended, in the real agent's request."""

from __future__ import annotations

import pytest

from .messages_api import texts_of

RENEW = "`renew_lease()` in depot/lease.py retries three times, since etcd drops the first call"
EXPIRE = "`expire_lease()` in depot/lease.py runs in one transaction, or a tram is booked twice"
CODE = """def renew_lease(worker):
    return worker.renew(tries=3)


def expire_lease(worker):
    with worker.transaction():
        worker.expire()
"""
LABEL = "UserPromptSubmit hook"

pytestmark = pytest.mark.slow


def added_to(request) -> str:
    return texts_of(request).rpartition(LABEL)[2]


def test_code_that_changed_is_told_and_code_that_is_gone_is_left_out(same_agent):
    here = same_agent.remembering()
    code = here / "depot" / "lease.py"
    code.parent.mkdir()
    code.write_text(CODE)
    for text in (RENEW, EXPIRE):
        same_agent.subcog("capture", text, "--namespace", "learnings", "--project", str(here))
    code.write_text("def renew_lease(worker):\n    return worker.renew(tries=5, pause=1)\n")

    renewed = added_to(same_agent.ask(here, "why does renew_lease retry three times?"))
    expired = texts_of(same_agent.ask(here, "why does expire_lease run in one transaction?"))

    assert "retries three times" in renewed
    assert "since then depot/lease.py" in renewed
    assert "booked twice" not in expired


def test_of_a_memory_that_is_outdated_in_part_the_newer_one_comes_before_it(same_agent):
    here = same_agent.remembering(
        ("The orders database is PostgreSQL 15, and it is backed up each night", "decisions"),
        ("We moved from PostgreSQL to MySQL for the orders database", "decisions"),
    )

    asked = added_to(same_agent.ask(here, "which database do the orders use, and why?"))

    # The session's start has shown the newer one as well.
    newer, older = asked.index("moved from PostgreSQL to MySQL"), asked.index("PostgreSQL 15")
    assert newer < asked.index("partly outdated by") < older
