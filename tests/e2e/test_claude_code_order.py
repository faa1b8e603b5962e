"""In the real agent: the question decides which memory comes first, and none comes twice."""

from __future__ import annotations

import re

import pytest

from .messages_api import texts_of

STORED = {
    "patterns": "Failed webhooks are retried by the delivery worker with growing pauses",
    "blockers": "Failed webhooks are stuck in the delivery worker since the retry queue is full",
    "decisions": "Failed webhooks go to the delivery worker and not to cron",
}
HOWTO = "how do I retry failed webhooks?"
TROUBLESHOOT = "why do failed webhooks fail to retry? I get an error"
LABEL = "UserPromptSubmit hook"

pytestmark = pytest.mark.slow


@pytest.fixture
def asking(same_agent):
    """An agent whose project has the same subject in three namespaces, none of it greeted with."""
    same_agent.settings = {
        "SUBCOG_HOOK_SESSION_START_ENABLED": "false",
        "SUBCOG_SEARCH_INTENT_CONTEXT_MIN_RELEVANCE": "0",
    }
    here = same_agent.remembering(*((text, namespace) for namespace, text in STORED.items()))
    return same_agent, here


def namespaces(request):
    """Those of the memories added to the newest prompt, in their order."""
    added = texts_of(request).rpartition(LABEL)[2]
    return re.findall(r"- mem_\w+ · (\w+) ·", added)


@pytest.mark.parametrize(("prompt", "first"), [(HOWTO, "patterns"), (TROUBLESHOOT, "blockers")])
def test_the_same_memories_come_in_the_order_of_what_is_asked(asking, prompt, first):
    agent, here = asking
    found = namespaces(agent.ask(here, prompt))
    assert found[0] == first
    assert {"patterns", "blockers"} <= set(found)


def test_the_second_identical_prompt_of_a_session_brings_nothing_again(asking):
    agent, here = asking
    session = agent.start(here)
    session.prompt(HOWTO)
    assert texts_of(agent.api.prompts[-1]).count("- mem_") >= 2
    before = texts_of(agent.api.prompts[-1]).count("- mem_")
    session.prompt(HOWTO)
    session.close()
    assert texts_of(agent.api.prompts[-1]).count("- mem_") == before
