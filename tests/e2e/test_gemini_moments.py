"""A whole session of Gemini CLI: its tools, one that fails, its end, a resume."""

from __future__ import annotations

import pytest

from .other_agents import FAIL, JWT, PORTS, REFUSED, busy, counts_of_hooks
from .other_apis import said_in

ORDER = "please write the handler"

pytestmark = pytest.mark.slow


def test_tools_and_a_resume_reach_the_model(wired_gemini):
    gemini, project = wired_gemini, busy(wired_gemini)
    before = counts_of_hooks(gemini)
    file = str(project / "jwt_handler.py")
    edit = {"file_path": file, "old_string": "x = 1", "new_string": "x = 2", "instruction": "two"}
    gemini.api.commands += [
        {"name": "write_file", "input": {"file_path": file, "content": "x = 1\n"}},
        {"name": "replace", "input": edit},
        {"name": "run_shell_command", "input": {"command": FAIL, "description": "test"}},
    ]
    gemini.run(project, ORDER)

    first, written, replaced, failed = map(said_in, gemini.api.prompts)
    assert JWT not in first
    assert "<hook_context>Related memories for jwt_handler.py" in written
    assert written.count(JWT) == replaced.count(JWT) == failed.count(JWT) == 1
    assert REFUSED not in replaced
    assert failed.count(REFUSED) == 1

    gemini.run(project, "which port does the payment service listen on?", resume=True)

    resumed = said_in(gemini.api.prompts[-1])
    assert resumed.count(PORTS) == 1
    assert JWT not in said_in(gemini.api.prompts[-1]["contents"][-1])
    assert resumed.count("response_guidance detail") == 1, "it was greeted already"
    assert ORDER in resumed, "what stands behind a hook's words is left out of a resumed session"
    counts = counts_of_hooks(gemini) - before
    assert counts["PostToolUse"] == 2
    assert counts["PostToolUseFailure"] == 1
    assert counts["SessionStart"] == counts["SessionEnd"] == 2
