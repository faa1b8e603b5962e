"""What was settled in talk alone reaches a later session, the newer word first."""

from __future__ import annotations

import time

import pytest

from .claude import RUN_S
from .messages_api import texts_of

pytestmark = pytest.mark.slow

SETTLED = (
    ("The upstream blocks us with 429s, look at the retrier", "It tries ten times. Five, then?"),
    ("No, we measured the window. Seven attempts. Eight trips it.", "So: exactly 7 attempts."),
)
AMENDED = (
    ("About the retrier: they widened the window, nine attempts fit now", "Nine attempts, then?"),
    ("yes, nine attempts before the retrier gives up", "So the retrier makes exactly 9 attempts."),
)
ASKED = "how many attempts does the retrier make before it gives up?"


def talk(agent, project, turns):
    """A session in which nothing is done, and everything is said."""
    session = agent.start(project)
    for said, answered in turns:
        agent.api.commands.append({"text": answered})
        session.prompt(said)
    session.close()


def wait_for_passages(agent, project, count):
    """The sessions are read in the background of the agent's hooks."""
    deadline = time.monotonic() + RUN_S / 4
    while time.monotonic() < deadline:
        kept = agent.subcog("sessions", "list", "--project", str(project))["sessions"]
        if sum(one["passages"] for one in kept) >= count:
            return
        time.sleep(0.1)
    raise AssertionError("what was said was not kept")


def ask(agent, project):
    """What the model reads in the request that the question leads to."""
    return texts_of(agent.ask(project, ASKED))


def test_a_rule_settled_in_talk_reaches_who_asks_and_its_amendment_comes_first(same_agent):
    agent, here = same_agent, same_agent.remembering()
    talk(agent, here, SETTLED)
    wait_for_passages(agent, here, 4)
    request = ask(agent, here)
    assert "> user: No, we measured the window. Seven attempts. Eight trips it." in request
    assert "> agent: So: exactly 7 attempts." in request

    talk(agent, here, AMENDED)
    wait_for_passages(agent, here, 10)
    request = ask(agent, here)
    newer, older = request.index("nine attempts before"), request.find("Eight trips it")
    assert older == -1 or newer < older
    assert agent.subcog("list", "--project", str(here))["memories"] == []
