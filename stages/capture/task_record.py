"""The record of a task: what was asked, what the agent did, and how it ended.

It reads like this, so that people and programs find each part:

    Hash passwords with argon2id
    Approach: bcrypt cut passwords at 72 bytes. Replaced it by argon2id in the user model.
    Outcome: success (tests passed)
    Files: src/user.py, src/hash.py
    Tests: pytest -q tests/test_user.py: passed
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ...bus.sessions import Message, ToolResult
from ...bus.values import AUTO_CAPTURED
from ...config.ids import ulid_of
from ...config.patterns import regex
from ..language.words import words
from ..statements.open_work import OUTCOME
from ..text.markup import is_machine, own_text
from ..text.unicode import cut, one_line
from .task_prose import (
    MAX_CONCLUSION_CHARS,
    Left,
    Verdict,
    asked_for,
    conclusion_of,
    first_words,
    left_as,
    offers_more,
    verdict_of,
    with_cause,
)
from .task_turns import Spoken, asks_reason, goes_on, stems_in, stems_of, wanted

MAX_TEXT_CHARS = 200_000
"""A longer message was pasted or generated, and is not read."""

NAMESPACE = "tasks"
CONFIDENCE_PERCENT = 80

MAX_ASKED_CHARS = 200
_MAX_FILES = 8
_MAX_FILES_KNOWN = 200
_MAX_COMMAND_CHARS = 80
_MAX_RUNNING = 64
_READ_CHARS = 4000

_TESTS = regex(
    r"(?:\w+=\S* +|(?:timeout \S+|(?:uv|poetry|hatch|pdm|bundle|pnpm|yarn) (?:run|exec)|npx|sudo"
    r"|(?:pnpm|yarn|bunx?)(?= (?:jest|vitest|mocha|ava)\b)"
    r"|time|env|(?:ba|z)?sh -l?c) +['\"]?)*(?:\S*/)?"
    r"(?:(?:python[\d.]* (?:-\S+ )*-m )?(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava"
    r"|rspec|phpunit|ctest|behave)"
    r"|(?:npm|yarn|pnpm|bun|deno|cargo|go|mix|rake|swift|dotnet|mvn|gradlew?|bazel|make|just"
    r"|composer|rails|flutter|dart|zig|lein|sbt)(?: run)?(?: -\S+)* (?:tests?|check|verify)"
    r"(?::\S+)?)(?![\w.-])"
)
_NEXT_COMMAND = regex(r"(?:;|&&?|\|\|?|\n)\s*")
_FAILED = regex(r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAILED?\b|^FAIL:", re.M)
_INTERRUPTED = regex(r"\[Request interrupted by user")
_VERDICTS = {
    "works": "the user said so",
    "fails": "the user said so",
    "undone": "the user had it undone",
    "later": "the user left it for later",
}

Outcome = Literal["success", "failure", "unfinished"]
_OUTCOMES: dict[Verdict, Outcome] = {"works": "success", "later": "unfinished"}


class Work(Struct, kw_only=True):
    """A task while it goes on. ``tests`` is how the last run of tests ended, or empty.

    ``closing`` is what the agent said last of it, ``heard`` the stems of its last words at all,
    ``offers`` whether they end with an offer of something else. ``tells`` says whether an answer is
    about what was done: since the user's last words something was, they ask for its reason, or it
    was interrupted. ``concluded`` is what was told of cause and fix, ``cause`` what goes before a
    fix that is told alone, ``told`` the first sentence of an earlier answer. ``verdict`` is the
    user's own on what was done so far, or empty. ``said_at_ms`` is when it was asked for first, 0
    where unknown. ``version`` is that of its record as it was last written, None where unknown.
    """

    id: str
    asked: str
    said_at_ms: int = 0
    stems: frozenset[str] = frozenset()
    files: dict[str, None] = {}
    tests: Literal["", "passed", "failed"] = ""
    command: str = ""
    closing: str = ""
    heard: frozenset[str] = frozenset()
    offers: bool = False
    tells: bool = False
    told: str = ""
    concluded: str = ""
    cause: str = ""
    verdict: Verdict = ""
    interrupted: bool = False
    ended: bool = False
    running: dict[str, str] = {}
    memory_id: str = ""
    version: int | None = None
    recorded: str = ""

    @property
    def is_worth_recording(self) -> bool:
        """Whether something was done: files changed, or tests run."""
        return bool(self.files or self.tests)


def follow(
    work: Work | None,
    message: Message,
    *,
    session: str,
    root: str,
    clean: Callable[[str], str] = str,
) -> Work | None:
    """The task that goes on after ``message``: ``work`` with what was done, or another one.

    What is taken over is cut, so ``clean`` redacts it before: of half a secret nobody can tell what
    it was.
    """
    if message.text and not message.aside:
        work = _read_message(work, message, session, clean)
    if work is None:
        return None
    for call in message.calls:
        changed = dict.fromkeys(filter(None, (within(path, root) for path in call.paths)))
        work.files |= changed
        if changed:
            _note_progress(work)
        if _runs_tests(call.command) and len(work.running) < _MAX_RUNNING:
            work.running[call.id] = call.command
    while len(work.files) > _MAX_FILES_KNOWN:
        del work.files[next(iter(work.files))]
    for result in message.results:
        _note_tests(work, result, clean)
    return work


def _runs_tests(command: str) -> bool:
    return any(_TESTS.match(part) for part in _NEXT_COMMAND.split(command.strip()))


def _read_message(
    work: Work | None, message: Message, session: str, clean: Callable[[str], str]
) -> Work | None:
    if _INTERRUPTED.match(message.text.lstrip()):
        if work is not None:
            work.interrupted = True
        return work
    text = own_text(message.text[:MAX_TEXT_CHARS])
    if not text or (message.role == "user" and is_machine(text)):
        return work
    if message.role == "user":
        asked = clean(text[: 2 * _READ_CHARS])[:_READ_CHARS]
        return _asked(work, asked, message.said_at_ms, session)
    if work is not None:
        _note_answer(work, clean(text[-2 * _READ_CHARS :])[-_READ_CHARS:])
    return work


def _note_answer(work: Work, said: str) -> None:
    """What the agent tells of how it is left, of cause and fix; what it says besides is talk.

    A cause stands until another one is told.
    """
    work.heard = stems_of(said)
    work.offers = offers_more(said)
    if work.tells or left_as(said):
        work.closing = said
    if not (work.tells and work.is_worth_recording):
        return
    text, cause = conclusion_of(work.closing)
    if text:
        work.concluded = text if cause else with_cause(work.cause, text)
        work.cause = cause or work.cause


def _asked(work: Work | None, text: str, said_at_ms: int, session: str) -> Work:
    if work is not None and goes_on(text, _spoken(work)):
        work.stems |= stems_of(text)
        kept = work.verdict if work.verdict in ("fails", "later") else ""
        said = verdict_of(text)
        is_of_offer = said == "later" and work.offers
        work.verdict = kept if is_of_offer else said or kept
        work.told = _told(work)
        work.cause = "" if work.verdict in ("fails", "undone") else work.cause or work.told
        work.tells = work.interrupted or asks_reason(text, _told_of(work))
        work.interrupted = False
        return work
    asked = cut(asked_for(wanted(text)), MAX_ASKED_CHARS)
    digest = hashlib.sha256(f"{session} {asked}".encode()).digest()
    identity = f"mem_{ulid_of(said_at_ms, digest)}"
    return Work(id=identity, asked=asked, said_at_ms=said_at_ms, stems=stems_of(text))


def _spoken(work: Work) -> Spoken:
    names = (name for path in work.files for name in path.casefold().split("/"))
    return Spoken(
        asked=work.asked,
        said=work.stems,
        named=stems_in(names),
        told=stems_of(work.closing) | work.heard,
        is_begun=work.is_worth_recording,
    )


def _told_of(work: Work) -> Spoken:
    """What was spoken of that is certainly of ``work``: no question beside it, nor its answer."""
    spoken = _spoken(work)
    told = stems_of(f"{work.closing} {work.told} {work.concluded}")
    return replace(spoken, said=stems_of(work.asked), told=told)


def _note_progress(work: Work) -> None:
    """Something was done since: whether that works the user has not said yet."""
    work.tells = True
    if work.verdict != "undone":
        work.verdict = ""


def _note_tests(work: Work, result: ToolResult, clean: Callable[[str], str]) -> None:
    command = work.running.pop(result.id, None)
    if command is None:
        return
    _note_progress(work)
    failed = result.failed or _FAILED.search(result.text) is not None
    work.tests = "failed" if failed else "passed"
    work.command = cut(one_line(clean(command)), _MAX_COMMAND_CHARS)


def outcome(work: Work) -> tuple[Outcome, str]:
    """How ``work`` ended, as far as can be seen, and why that is thought."""
    if work.interrupted:
        return "unfinished", "interrupted"
    if work.verdict:
        return _OUTCOMES.get(work.verdict, "failure"), _VERDICTS[work.verdict]
    left = left_as(work.closing)
    if work.tests == "failed":
        over = left == Left.GIVEN_UP or (work.ended and not left)
        return ("failure" if over else "unfinished"), "tests failed"
    if work.tests == "passed" and left != Left.UNSOLVED:
        return "success", "tests passed"
    if left:
        return ("failure" if left == Left.GIVEN_UP else "unfinished"), "the agent said so"
    return ("success", "not tested") if work.closing else ("unfinished", "no last word")


def tags_of(work: Work) -> tuple[str, ...]:
    """How the record of ``work`` is marked; the outcome first."""
    return (outcome(work)[0], AUTO_CAPTURED)


def record(work: Work) -> str:
    """The record of ``work``, a part a line."""
    result, why = outcome(work)
    lines = [work.asked]
    if approach := _approach(work):
        lines.append(f"Approach: {approach}")
    lines.append(f"Outcome: {result} ({why})")
    if work.files:
        files = [one_line(path) for path in work.files]
        more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
        lines.append(f"Files: {', '.join(files[:_MAX_FILES])}{more}")
    if work.tests:
        lines.append(f"Tests: {work.command}: {work.tests}")
    return "\n".join(lines)


def is_record_of(work: Work, text: str) -> bool:
    """Whether ``text`` is the record of a task for which the same was asked, word for word."""
    asked, _, rest = text.partition("\n")
    return list(words(asked)) == list(words(work.asked)) and OUTCOME.search(rest) is not None


def _approach(work: Work) -> str:
    """Cause and fix as the agent told them; else what it told first, "" if only that it is done."""
    return cut(work.concluded or _told(work), MAX_CONCLUSION_CHARS)


def _told(work: Work) -> str:
    """The first sentence of the agent's last words about what was done."""
    return (first_words(work.closing) if work.tells else "") or work.told


def within(path: str, root: str) -> str:
    """``path`` from ``root`` on; "" if it is not in it."""
    inside = PurePath(path)
    if inside.is_absolute():
        if not root or not inside.is_relative_to(root):
            return ""
        inside = inside.relative_to(root)
    return "" if ".." in inside.parts else inside.as_posix()
