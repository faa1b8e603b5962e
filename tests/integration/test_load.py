"""Ten agent sessions at once on one daemon: no event is lost, and no session sees another's.

The events come over the daemon's socket in the frames that the hook pipe writes; afterwards five
real hook processes at once ask in five projects.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from perf.load import Load, wait_for_metrics
from tests import thorough

PROMPTS = thorough.times(12)  # of each session: every subject is asked about at least once


@pytest.mark.slow
def test_ten_sessions_at_once_lose_nothing_and_never_cross(house):
    house.start()
    wait_for_metrics(house)
    load = Load(house, sessions=10, prompts=PROMPTS, tools=PROMPTS)
    load.capture()

    load.run()

    assert load.sent == {"UserPromptSubmit": 10 * PROMPTS, "PostToolUse": 10 * PROMPTS}
    assert list(load.problems()) == []
    with ThreadPoolExecutor(5) as agents:
        fresh = [f"fresh-{number}" for number in range(5)]
        folders = [load.project(word) for word in ("heron", "otter", "badger", "lynx", "falcon")]
        asked = agents.map(lambda pair: ask(house, *pair), zip(fresh, folders, strict=True))
        for folder, context in zip(folders, asked, strict=True):
            assert f"In {folder.name} we use argon2id" in context


def ask(house, session, folder):
    """What a real hook process of that session and project prints."""
    payload = {"session_id": session, "prompt": "how do we hash passwords here?"}
    answer = house.hook("UserPromptSubmit", payload, CLAUDE_PROJECT_DIR=str(folder))
    return answer["hookSpecificOutput"]["additionalContext"]
