"""How much of what was settled in sessions reaches the later prompts that need it.

``sessions.jsonl`` has {id, started_at, turns: [{role, text}]} a line, ``prompts.jsonl``
{id, prompt, kind, sessions: [ids], facts: [texts]}; kind is decided, amended or unknown. Each
session becomes a transcript and goes through the product as its hooks would send it; then each
prompt is a session of its own.

``shown`` is the share of the facts of which at least 60 % of the content words stand in one item of
their prompt's context, ``newest_first`` the share of the amended prompts whose first item from
their sessions is from the newest of them, ``silent`` the share of the unknown prompts that got
nothing, ``tokens`` the mean of the contexts that are not empty, at four characters a token, and
``notes`` what was kept as memories, by namespace.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import anyio
from msgspec import Struct

from ...bus.events import PromptSubmitted, ResponseReady, SessionEnded, TurnEnded
from ...bus.values import Place, Scope
from ...config.patterns import regex
from ...config.settings import Settings
from ..app.app import App
from .common import Progress, read_rows, scratch_app

FACT_SHARE = 0.6
"""Of the content words of a fact, for it to count as shown."""

_ITEM_WORDS = 60
_ITEM_SHARE = 0.8
_TURN_S = 40
_SETTLED_S = 600.0
_ANSWER_S = 60.0
_CHARS_A_TOKEN = 4
_PAGE = 1000
_WORD = regex(r"[a-z0-9_]+(?:\.[0-9]+)?")
_STOP = frozenset(
    "the a an of to and or is are be was were in on at for by with from as it its that this those"
    " these not no only never always than then so if else when where which who whom whose we our"
    " you your they their i me my do does did done must should would could can may might will"
    " shall have has had into onto over under per each every any all both either neither before"
    " after until while about exactly just also".split()
)


class Turn(Struct, frozen=True):
    """What one side said."""

    role: Literal["user", "assistant"]
    text: str


class JudgedSession(Struct, frozen=True):
    """A line of ``sessions.jsonl``."""

    id: str
    started_at: datetime
    turns: tuple[Turn, ...]

    @property
    def text(self) -> str:
        return " ".join(turn.text for turn in self.turns)


class JudgedPrompt(Struct, frozen=True):
    """A line of ``prompts.jsonl``."""

    id: str
    prompt: str
    kind: Literal["decided", "amended", "unknown"]
    sessions: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """What the contexts of the prompts come to."""

    sessions: int
    prompts: int
    facts: int
    shown: float
    newest_first: float
    silent: float
    tokens: int
    notes: dict[str, int]
    notes_per_session: float

    def lines(self) -> Iterator[str]:
        notes = ", ".join(f"{count} {name}" for name, count in sorted(self.notes.items()))
        yield f"{self.sessions} sessions, {self.prompts} prompts, {self.facts} facts"
        yield f"shown         {self.shown:.3f}"
        yield f"newest first  {self.newest_first:.3f}"
        yield f"silent        {self.silent:.3f}"
        yield f"tokens        {self.tokens}"
        yield f"notes         {self.notes_per_session:.2f} a session: {notes or 'none'}"


def evaluate(folder: Path, *, settings: Settings, progress: Progress) -> Report:
    """Evaluate sessions on ``folder`` under ``settings``, without team and language model."""
    sessions = read_rows(folder / "sessions.jsonl", JudgedSession)
    prompts = read_rows(folder / "prompts.jsonl", JudgedPrompt)
    if not sessions or not prompts:
        raise ValueError(f"{folder} holds no sessions, or no prompts")
    known = {session.id for session in sessions}
    for prompt in prompts:
        if not known.issuperset(prompt.sessions):
            raise ValueError(f"{folder}: prompt {prompt.id} names a session that is not there")
        if prompt.kind == "amended" and not prompt.sessions:
            raise ValueError(f"{folder}: prompt {prompt.id} is amended and names no session")
    return figures(sessions, prompts, *anyio.run(_run, sessions, prompts, settings, progress))


def figures(
    sessions: Sequence[JudgedSession],
    prompts: Sequence[JudgedPrompt],
    contexts: Sequence[str],
    notes: Counter[str],
) -> Report:
    """What the ``contexts`` of ``prompts`` come to."""
    items = [items_of(context) for context in contexts]
    texts = {session.id: session.text for session in sessions}
    facts = [(fact, got) for one, got in zip(prompts, items, strict=True) for fact in one.facts]
    shown = sum(any(share(fact, item) >= FACT_SHARE for item in got) for fact, got in facts)
    amended = [(p, got) for p, got in zip(prompts, items, strict=True) if p.kind == "amended"]
    unknown = [got for p, got in zip(prompts, items, strict=True) if p.kind == "unknown"]
    sizes = [len(context) / _CHARS_A_TOKEN for context in contexts if context]
    return Report(
        sessions=len(sessions),
        prompts=len(prompts),
        facts=len(facts),
        shown=_part(shown, len(facts)),
        newest_first=_part(sum(_is_newest(p, got, texts) for p, got in amended), len(amended)),
        silent=_part(sum(not got for got in unknown), len(unknown)),
        tokens=round(sum(sizes) / max(1, len(sizes))),
        notes=dict(notes),
        notes_per_session=round(notes.total() / len(sessions), 2),
    )


def items_of(context: str) -> list[str]:
    """The items of an envelope, without the marks of its quotations."""
    return [re.sub(r"(?m)^\s*>\s?", "", item) for item in re.split(r"(?m)^- ", context)[1:]]


def share(fact: str, text: str) -> float:
    """The share, 0-1, of the content words of ``fact`` that are in ``text``."""
    wanted = _words(fact)
    return len(wanted & _words(text)) / len(wanted) if wanted else 0.0


def _words(text: str) -> set[str]:
    found = {
        word
        for word in _WORD.findall(text.lower())
        if word not in _STOP and (len(word) > 1 or word.isdigit())
    }
    return {word[:-1] if word.endswith("s") and len(word) > len("was") else word for word in found}


def _is_newest(prompt: JudgedPrompt, items: Sequence[str], texts: dict[str, str]) -> bool:
    """Whether the first item that is from its sessions is from the newest of them."""
    for item in items:
        beginning = " ".join(item.split()[:_ITEM_WORDS])
        found = {name: share(beginning, texts[name]) for name in prompt.sessions}
        best = max(found, key=lambda name: found[name])
        if found[best] >= _ITEM_SHARE:
            return best == prompt.sessions[-1]
    return False


def _part(part: int, whole: int) -> float:
    return round(part / max(1, whole), 3)


# --- through the product -------------------------------------------------------------------------


async def _run(
    sessions: Sequence[JudgedSession],
    prompts: Sequence[JudgedPrompt],
    settings: Settings,
    progress: Progress,
) -> tuple[list[str], Counter[str]]:
    """The context of each prompt after all ``sessions``, and the memories by namespace."""
    total = len(sessions) + len(prompts)
    contexts = []
    async with scratch_app(settings) as (app, project):
        place = app.projects.place(project_dir="", cwd=str(project), user=app.user)
        for done, session in enumerate(sessions, 1):
            await _hold(app, session, place, project.with_name(f"session-{done}.jsonl"))
            progress(done, total)
        notes = await _notes(app, place.project)
        for done, prompt in enumerate(prompts, 1):
            contexts.append(await _ask(app, prompt, place))
            progress(len(sessions) + done, total)
    return contexts, notes


async def _hold(app: App, session: JudgedSession, place: Place, file: Path) -> None:
    """A session from its first word to the end of its review."""
    _write(session, file)
    told = {"session": session.id, "client": "claude", "place": place, "transcript": str(file)}
    await app.bus.publish(TurnEnded(trace=app.new_id(), **told))  # type: ignore[arg-type]
    await app.bus.publish(SessionEnded(trace=app.new_id(), **told))  # type: ignore[arg-type]
    if not await app.bus.settle(_SETTLED_S):
        raise ValueError(f"the review of {session.id} has not ended after {_SETTLED_S:.0f} s")


def _write(session: JudgedSession, file: Path) -> None:
    """The transcript of a session, as Claude Code writes it."""
    with file.open("w") as out:
        for number, turn in enumerate(session.turns, 1):
            at = session.started_at + timedelta(seconds=_TURN_S * number)
            said: Any = turn.text
            if turn.role == "assistant":
                said = [{"type": "text", "text": turn.text}]
            line = {
                "type": turn.role,
                "timestamp": at.isoformat(),
                "message": {"role": turn.role, "content": said},
            }
            out.write(f"{json.dumps(line)}\n")


async def _ask(app: App, prompt: JudgedPrompt, place: Place) -> str:
    event = PromptSubmitted(
        trace=app.new_id(), session=app.new_id(), client="claude", place=place, text=prompt.prompt
    )
    ready = await app.bus.request(event, ResponseReady, within_s=_ANSWER_S)
    return ready.built.text if ready.built else ""


async def _notes(app: App, scope: Scope) -> Counter[str]:
    store = (await app.archive.get()).store
    found: Counter[str] = Counter()
    after = ""
    while page := await store.page((scope,), after=after, limit=_PAGE):
        after = page[-1].id
        found.update(memory.namespace for memory in page)
    return found
