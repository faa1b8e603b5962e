"""Checks the agents: what is installed in them, whether it still works, which hooks ran.

``fly`` sends a memory all the way: captured, recalled, injected through each hook, forgotten.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep

from ...bus.prompt_results import ExplainResult
from ...bus.results import CaptureResult, ForgetResult, RecallResult
from ...bus.service_results import HookActivity
from ...config.load import SettingsError, load_settings
from ...config.paths import Paths
from ..agents.agent import NEVER_FAILS, Agent, Env, Hook, Wiring, command_words
from ..agents.install import (
    AGENTS,
    Http,
    Mcp,
    Parts,
    Transport,
    find_agent,
    http_of,
    install,
    our_parts,
    plugin_enabled,
    wired,
)
from ..agents.settings_file import SettingsMalformed, SettingsUnreadable
from ..cli.client import CallFailed, Client, DaemonUnreachable
from ..cli.wording import local_time
from .findings import Finding, Unrepaired, failed, passed

TEXT = "The canary lives in the blue aviary behind the observatory"
QUESTION = "where does the canary live?"
PROJECT = "subcog-canary-"
"""How the name of the project begins that the test memory is kept in."""
WIRED_ONCE = "wired once"
# The setting that withholds the test memory, by what the answer says of why nothing is injected.
_WITHHOLDING = {
    "disabled": "search_intent.enabled",
    "low_confidence": "search_intent.min_confidence",
    "no_room": "search_intent.context.max_tokens",
    "nothing_relevant": "search_intent.context.min_relevance",
}
HOOK_S = 20
AGAIN_S = 2.0
Commands = Mapping[str, Sequence[str]]


def examine(paths: Paths, env: Env, project: Path) -> Iterator[Finding]:
    """A finding for each agent that is here or wired, and one if something runs twice.

    Another one for what is wired in ``project`` alone, a path without links.
    """
    hooked = False
    for agent in AGENTS.values():
        try:
            users, locals_ = wired(agent, env), wired(agent, env, project=project)
        except SettingsUnreadable as error:
            yield _unreadable(agent, error, env)
            continue
        wiring = _joined(users)
        # The user's home may be the project, and some agents have the same file for both.
        here = Wiring() if locals_.keys() <= users.keys() else _joined(locals_)
        if wiring or not here:
            yield _agent(agent, wiring, paths, env, project)
        if here:
            yield _installed(agent, here, paths, env, project)
            yield from _in_two_ways(agent, wiring, here)
        hooked = hooked or (agent.name == "claude" and bool(wiring.hooks or here.hooks))
    if hooked and plugin_enabled(env, project):
        yield failed(
            WIRED_ONCE,
            "Claude Code has subcog as a plugin and in its settings: everything runs twice",
            "keep one: `subcog uninstall claude`, or `claude plugin uninstall subcog`",
        )


def _unreadable(agent: Agent, error: SettingsUnreadable, env: Env) -> Finding:
    """Who has no such agent, and never installed subcog for it, need not correct its settings."""
    is_strange = isinstance(error, SettingsMalformed) and not error.names_us
    if is_strange and find_agent(agent, env).program is None:
        return passed(agent.title, "not on this machine")
    return failed(agent.title, str(error), "correct that file")


def _joined(found: Mapping[Path, Wiring]) -> Wiring:
    """What is ours in all files of an agent."""
    servers = [each.server for each in found.values() if each.server is not None]
    hooks = tuple(hook for each in found.values() for hook in each.hooks)
    return Wiring(hooks=hooks, server=servers[0] if servers else None)


def _agent(agent: Agent, wiring: Wiring, paths: Paths, env: Env, project: Path) -> Finding:
    if not wiring:
        if agent.name == "claude" and plugin_enabled(env, project):
            return passed(agent.title, "installed as a plugin")
        found_agent = find_agent(agent, env)
        if found_agent.program is None:
            return passed(agent.title, "not on this machine")
        how = f"`subcog install {agent.name}` installs subcog"
        return passed(agent.title, f"{found_agent.program}, not installed; {how}")
    return _installed(agent, wiring, paths, env)


def _installed(
    agent: Agent, wiring: Wiring, paths: Paths, env: Env, project: Path | None = None
) -> Finding:
    """What is installed for the user, or in ``project``, and whether it leads anywhere."""
    title = agent.title if project is None else f"{agent.title} in this project"
    parts = [*wiring.events, *(["MCP"] if wiring.server is not None else [])]
    seen = f"installed for {', '.join(parts)}"
    if lost := sorted({*_lost(wiring), *_fallible(wiring), *_astray(wiring, paths, env)}):
        how = f"subcog install {agent.name}{' --project' if project else ''}"
        return failed(
            title,
            f"{seen}, but {', '.join(lost)}",
            f"`{how}` or `subcog doctor --repair` fixes it",
            partial(_wire_anew, agent, wiring, paths, env, project),
        )
    return passed(title, seen)


def _lost(wiring: Wiring) -> Iterator[str]:
    """Files that the commands name and that no longer exist."""
    commands = [command_words(hook.entry.get("command")) for hook in wiring.hooks]
    if wiring.server is not None:
        command = [wiring.server.get("command", ""), *wiring.server["args"]]
        commands.append([str(word) for word in command])
    yield from (f"{word} is gone" for words in commands for word in missing(words))


def _fallible(wiring: Wiring) -> Iterator[str]:
    """Commands of an older version: with them an agent stands still when subcog is removed."""
    commands = [hook.entry.get("command") for hook in wiring.hooks]
    if any(not str(command).endswith(NEVER_FAILS) for command in commands if command):
        yield "without subcog the agent would refuse prompts"


def missing(words: Sequence[str]) -> list[str]:
    """The files that a command names and that are not there."""
    return [word for word in words if word.startswith("/") and not Path(word).exists()]


def _astray(wiring: Wiring, paths: Paths, env: Env) -> Iterator[str]:
    """Hooks that call a server that is not installed, or post to another door than the daemon's."""
    if _needs_server(wiring.hooks) and wiring.server is None:
        yield "the MCP server that they call is not installed"
    posted = [hook.entry for hook in wiring.hooks if hook.entry.get("type") == "http"]
    if not posted:
        return
    way = _http(paths, env)
    if way is None:
        yield "the daemon serves no HTTP (http.enabled)"
        return
    wanted = way.entry("", 0)
    if any(not str(entry["url"]).startswith(wanted["url"]) for entry in posted):
        yield "the daemon has another port"
    keys = {entry["headers"].get("Authorization") for entry in posted}
    if keys != {wanted["headers"]["Authorization"]}:
        yield "the daemon has another token"


def _http(paths: Paths, env: Env) -> Http | None:
    with suppress(SettingsError, OSError):
        return http_of("claude", paths, env)
    return None


def _wire_anew(
    agent: Agent, wiring: Wiring, paths: Paths, env: Env, project: Path | None
) -> tuple[str, ...]:
    try:
        changes = install(
            agent,
            our_parts(),
            env,
            project=project,
            version=find_agent(agent, env).version,
            transport=_way(agent, wiring.hooks, paths, env),
            server=wiring.server is not None or _needs_server(wiring.hooks),
        )
    except SettingsUnreadable as error:
        raise Unrepaired(str(error)) from None
    return tuple(
        f"{change.file}: {change.action}" + (f", backup: {change.backup}" if change.backup else "")
        for change in changes
    )


def _way(agent: Agent, hooks: Sequence[Hook], paths: Paths, env: Env) -> Transport | None:
    """The way to the daemon that the hooks took."""
    if _needs_server(hooks):
        return Mcp(client=agent.name)
    is_posted = any(hook.entry.get("type") == "http" for hook in hooks)
    return _http(paths, env) if is_posted else None


def _needs_server(hooks: Sequence[Hook]) -> bool:
    """Whether some of ``hooks`` call a tool of our MCP server."""
    return any(hook.entry.get("type") == "mcp_tool" for hook in hooks)


def _in_two_ways(agent: Agent, users: Wiring, here: Wiring) -> Iterator[Finding]:
    """A finding where the hooks of the user and of the project reach the daemon differently.

    Of equal ones an agent runs one.
    """
    ways = {hook.event: _way_of(hook) for hook in users.hooks}
    if any(ways.get(hook.event, way) != way for hook in here.hooks if (way := _way_of(hook))):
        yield failed(
            WIRED_ONCE,
            f"{agent.title} has hooks for the user and others in this project: they run twice",
            f"keep one: `subcog uninstall {agent.name}`, or add `--project .` to that",
        )


def _way_of(hook: Hook) -> dict[str, object]:
    return {key: value for key, value in hook.entry.items() if key != "timeout"}


def hook_activity(pairs: Sequence[HookActivity]) -> Finding:
    """When each hook of each agent was received last, the latest first."""
    named = {name: agent.title for name, agent in AGENTS.items()}
    told = [
        f"{named.get(each.client, 'an unknown agent')} {each.event} {local_time(each.at)}"
        for each in pairs
    ]
    return passed("hooks received last", ", ".join(reversed(told)) or "no hook has run yet")


def hook_commands(env: Env, parts: Parts) -> dict[str, list[str]]:
    """For each agent that is wired by commands, the one that it runs for a prompt.

    Ours, as an agent would be wired, where none is.
    """
    found: dict[str, list[str]] = {}
    for agent in AGENTS.values():
        try:
            hooks = _joined(wired(agent, env)).hooks
        except SettingsUnreadable:
            continue
        for hook in hooks:
            words = command_words(hook.entry.get("command"))
            if agent.events.get(hook.event) == "UserPromptSubmit" and words:
                found[agent.title] = words
    pipe = [str(parts.interpreter), "-I", "-S", str(parts.hooks / "client.py")]
    return found or {"the pipe": [*pipe, "UserPromptSubmit", str(parts.launcher)]}


def fly(paths: Paths, env: Env, commands: Commands) -> Iterator[Finding]:
    """A finding for each of ``commands`` (by title) that cannot run, and one for all others."""
    grounded = {title: missing(words) for title, words in commands.items()}
    for title, lost in grounded.items():
        if lost:
            yield _grounded(title, lost)
    able = {title: words for title, words in commands.items() if not grounded[title]}
    if able:
        yield _fly(paths, env, able)


def _grounded(title: str, lost: Sequence[str]) -> Finding:
    """What a hook runs is not there any more: a moved checkout, a removed environment."""
    names = [agent.name for agent in AGENTS.values() if agent.title == title]
    mend = f"`subcog install {names[0]}` writes it anew" if names else "install subcog once more"
    return failed(
        "test memory", f"the hook of {title} runs {', '.join(lost)}, and that is gone", mend
    )


def _fly(paths: Paths, env: Env, commands: Commands) -> Finding:
    """How far the memory came."""
    with (
        tempfile.TemporaryDirectory(prefix=PROJECT) as folder,
        closing(Client(paths, {"project": os.path.realpath(folder)})) as client,
    ):
        project = os.path.realpath(folder)
        try:
            kept = client.call("capture", CaptureResult, {"text": TEXT, "namespace": "context"})
            if kept.id is None:
                return failed("test memory", "the test memory could not be stored", kept.reason)
            try:
                found = client.call("recall", RecallResult, {"query": QUESTION}).memories
                flights = {name: _try_hook(words, project, env) for name, words in commands.items()}
                silent = {name: ms for name, ms in flights.items() if ms is not None}
                setting = _withholding(client, paths, env) if silent else ""
            finally:
                client.call("forget", ForgetResult, {"id": kept.id})
        except (DaemonUnreachable, CallFailed, OSError, ValueError) as error:
            return failed("test memory", "the test failed", str(error))
        except subprocess.SubprocessError as error:
            return failed(
                "test memory", f"the hook failed ({type(error).__name__})", f"see {paths.log}"
            )
    if kept.id not in {memory.id for memory in found}:
        mend = "`subcog status` shows whether memories can be searched"
        return failed("test memory", "stored, but not found", mend)
    if silent:
        return _withheld(setting) if setting else _silent(silent, paths, env)
    return passed(
        "test memory", f"captured, recalled, injected through {', '.join(commands)}, forgotten"
    )


def _withholding(client: Client, paths: Paths, env: Env) -> str:
    """The setting, with its value, that keeps the test memory from a prompt; "" where none does.

    One that has its default does not: what is withheld then is a defect.
    """
    with suppress(SettingsError, CallFailed):
        told = client.call("explain", ExplainResult, {"text": QUESTION}).inject.abstained
        for origin in load_settings(paths.config_file, env).origins:
            if origin.key == _WITHHOLDING.get(told or "") and origin.source != "default":
                return f"{origin.key} = {json.dumps(origin.value)}"
    return ""


def _withheld(setting: str) -> Finding:
    """What was stored and found was not injected, as the user's settings have it."""
    return passed(
        "test memory", f"captured, recalled, not injected because of {setting}, forgotten"
    )


def _try_hook(words: Sequence[str], project: str, env: Env) -> float | None:
    """None where a hook injects the test memory, else how long its last run took (milliseconds).

    The first run counts for nothing: what it needs may not have been loaded yet. One that is silent
    after that is run again when the machine had time to finish something else.
    """
    _context(words, project, env)
    took_ms = 0.0
    for pause_s in (0.0, AGAIN_S):
        sleep(pause_s)
        began = monotonic()
        if TEXT in _context(words, project, env):
            return None
        took_ms = (monotonic() - began) * 1000
    return took_ms


def _silent(silent: Mapping[str, float], paths: Paths, env: Env) -> Finding:
    """What it means that hooks did not inject what was stored and found: no time, or a defect."""
    seen = f"the hook of {', '.join(silent)} did not inject the test memory, twice"
    mend = f"see {paths.log}"
    with suppress(SettingsError):
        budget_ms = load_settings(paths.config_file, env).settings.hook.total_ms
        if (took_ms := max(silent.values())) >= budget_ms:
            seen += f"; it took {took_ms:.0f} ms, and its budget is {budget_ms} (hook.total_ms)"
            mend = (
                "the memory was stored and found, so nothing is lost, but prompts get no context "
                "while the machine is as busy as now: run this again later, or raise hook.total_ms"
            )
    return failed("test memory", seen, mend)


def _context(words: Sequence[str], project: str, env: Env) -> str:
    """What a hook adds to the model's context, run as an agent runs it."""
    # Without a session, so that it is not taken for a hook of an agent that was heard.
    payload = {"session_id": "", "cwd": project, "prompt": QUESTION}
    done = subprocess.run(  # noqa: S603 - what we wrote into the agent's settings
        list(words),
        input=json.dumps(payload).encode(),
        stdout=subprocess.PIPE,
        env={**env, "CLAUDE_PROJECT_DIR": project, "CLAUDECODE": "1"},
        cwd=Path(project),
        timeout=HOOK_S,
        check=True,
    )
    answer = json.loads(done.stdout or b"{}")
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
