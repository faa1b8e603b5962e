import pytest

from subcog.pipeline.agents.agent import is_our_hook
from subcog.pipeline.agents.install import AGENTS, hooks_for, our_parts
from subcog.pipeline.agents.transport import Http, Mcp, why_not

CLAUDE = AGENTS["claude"]
NEW = (2, 1, 330)
HTTP = Http(client="claude", port=4711, token="t")
MCP = Mcp(client="claude")


@pytest.mark.parametrize(
    ("agent", "version", "why"),
    [
        ("claude", NEW, ""),
        ("claude", (2, 0, 14), "may drop all hooks"),
        ("claude", (), "could not be found out"),
        ("codex", (0, 169, 0), "no other hooks"),
        ("gemini", (0, 61, 0), "no other hooks"),
    ],
)
def test_other_ways_are_for_versions_that_were_seen_to_take_them(agent, version, why):
    assert why in why_not(AGENTS[agent], version)
    assert bool(why_not(AGENTS[agent], version)) == bool(why)


@pytest.mark.parametrize("way", [HTTP, MCP])
def test_what_a_way_cannot_carry_stays_a_command(way):
    kinds = {hook.event: hook.entry["type"] for hook in hooks_for(CLAUDE, our_parts(), NEW, way)}

    assert kinds["SessionStart"] == kinds["PreCompact"] == "command"
    assert kinds["UserPromptSubmit"] == way.entry("UserPromptSubmit", 1)["type"] != "command"
    assert kinds["SessionEnd"] == ("http" if way is HTTP else "command")


@pytest.mark.parametrize("way", [HTTP, MCP])
def test_our_hooks_are_recognised_and_those_of_others_are_not(way):
    entry = way.entry("UserPromptSubmit", 10)

    assert is_our_hook(entry)
    assert not is_our_hook({**entry, "server": "docs", "headers": {"Authorization": "x"}})
    assert not is_our_hook({**entry, "tool": "recall", "url": "http://elsewhere/hooks/Stop"})


def test_hook_of_codex_asks_for_no_more_time_than_it_grants():
    timeouts = {h.event: h.entry["timeout"] for h in hooks_for(AGENTS["codex"], our_parts(), ())}
    assert timeouts["SessionEnd"] <= 3
