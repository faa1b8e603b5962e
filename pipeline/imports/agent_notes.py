"""What people and agents wrote for agents: CLAUDE.md and its like, and Claude Code's own memory.

A file of instructions becomes a memory an item, paragraph or numbered list, under its heading. In
Claude Code's memory folder every file on a subject is a memory, and MEMORY.md is their index.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...bus.values import Provenance
from ...config.patterns import regex
from ...stages.capture.features import look
from ...stages.capture.records import find_records
from ...stages.capture.statement_classifier import detect_namespace
from ...stages.capture.statement_forms import SAYS
from ...stages.language.words import is_negation
from ...stages.text.notes import pieces
from ...stages.text.summary import summarise
from .item import Item, Items, category_namespace, lines_of, titled
from .markdown import Lines, dates_of, property_of

INSTRUCTIONS = frozenset(
    ("claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md")
)
"""The names of files that agents put into each session, in lower case."""

INDEX = "MEMORY.md"
"""What the memory folder of Claude Code begins with."""

MAX_WHOLE_CHARS = 4000
"""A file on one subject that is longer is taken apart by its headings and items."""

# What Claude Code calls the kinds of what it remembers.
_CLAUDE_KINDS = {
    "user": "preferences",
    "feedback": "patterns",
    "project": "context",
    "reference": "context",
}
# In which namespace that stands below a heading with such words, unless it says itself.
_HEADINGS = tuple(
    (namespace, regex(rf"\b(?:{words})", re.IGNORECASE))
    for namespace, words in (
        ("decisions", r"decisions?\b|decided|adrs?\b|rationale"),
        ("gotchas", r"gotchas?|pitfalls?|caveats?|known (?:issues?|bugs|problems)|quirks?"),
        ("tech-debt", r"tech(?:nical)?[ -]debt|deprecat|legacy"),
        ("preferences", r"preferences?|communication|tone\b|answers?\b"),
        ("tasks", r"to-?dos?\b|next steps|roadmap"),
        ("learnings", r"learnings?|lessons?|troubleshooting|debugging"),
        ("patterns", r"rules?\b|conventions?|guidelines?|standards?|style|patterns?|principles?"
         r"|practices|workflow|do'?s\b|don'?ts\b|never\b|always\b|must\b"),
    )
)  # fmt: skip
_RULE = regex(
    r"\W*(?:(?:please|important|note|critical)\W+)*(?:always|never|do not|don't|must|should|only"
    r"|avoid|prefer|ensure|make sure|keep|use|follow|write|add|put|name|ask|check|include|respect"
    r"|treat|wrap|validate|document|update|create|commit|return|handle|every|each|all|no)\b",
    re.IGNORECASE,
)
_OBLIGES = regex(
    r"\b(?:must(?: not)?|never|always|should(?: not)?|do not|don't|is required|are required"
    r"|mandatory|forbidden|not allowed)\b",
    re.IGNORECASE,
)
_TOLD_NAMESPACES = frozenset(("decisions", "gotchas", "tech-debt", "tasks", "blockers"))
_COMMAND = regex(  # "Test: `make test`"
    r"^[ \t]*(?:[\w /()-]{1,40}:[ \t]*)?`[^`\n]+`(?:[ \t]*[-\u2013\u2014:#(].*)?$"
    r"|^[ \t]*(?:run|start|build|test|lint|format|install|deploy)\b[^`\n]{0,60}`[^`\n]+`"
    r"|^[ \t]*(?:```|~~~)",
    re.IGNORECASE | re.MULTILINE,
)
_INDEX_LINE = regex(r"\s*[-*+]\s+\[[^\]\n]*\]\([^)\n]*\.md\)")


def is_memory_folder(folder: Path) -> bool:
    """Whether ``folder`` is one in which Claude Code keeps what it remembers of a project."""
    return (folder / INDEX).is_file()


def read_instructions(file: Path, *, name: str = "") -> Items:
    """What ``file`` says, item by item. Raises ``BadImport`` and ``OSError``."""
    yield from _items(_text(file), Provenance(hook="import", file=name))


def read_memory_file(file: Path, *, name: str = "") -> Items:
    """The memories of one file of such a folder. Raises ``BadImport`` and ``OSError``."""
    source = Provenance(hook="import", client="claude", file=name)
    if file.name == INDEX:
        kept = [line for line in _text(file).split("\n") if not _INDEX_LINE.match(line)]
        yield from _items("\n".join(kept), source)
        return
    lines = Lines(file)
    text = "\n".join(line for _, line in lines).strip()
    kind = property_of(lines.front, "type").lower()
    if not kind or len(text) > MAX_WHOLE_CHARS:
        yield from _items(text, source)
    elif text:
        title = property_of(lines.front, "description") or property_of(lines.front, "name")
        namespace = _CLAUDE_KINDS.get(kind) or category_namespace(kind)
        made, changed = dates_of(lines.front)
        yield Item(
            content=titled(title, text),
            namespace=namespace,
            summary=summarise(title or text),
            created_at=made,
            updated_at=changed,
            provenance=source,
        )


def _text(file: Path) -> str:
    return "".join(line for _, line in lines_of(file))


def _items(text: str, source: Provenance) -> Items:
    for piece in pieces(text):
        yield Item(
            content=titled(piece.title, piece.text),
            namespace=namespace_of_piece(piece.title, piece.text),
            summary=summarise(piece.text),
            provenance=source,
        )


def namespace_of_piece(title: str, text: str) -> str:
    """Where an instruction belongs: a decision, a rule, or else what there is to know.

    What it says itself comes before its heading, the nearest heading before those above.
    """
    named = next(_named(title), "")
    found = detect_namespace(text)
    if found in _TOLD_NAMESPACES and named in {"", "patterns"} and not _describes(text):
        return found
    if named and named != "patterns":
        return named
    if SAYS["decision"].search(text):
        return "decisions"
    if _COMMAND.search(text) and not _OBLIGES.search(text):
        return "context"
    if named or _RULE.match(text) or _OBLIGES.search(text):
        return "patterns"
    return "preferences" if found == "preferences" and _is_personal(text) else "context"


def _describes(text: str) -> bool:
    """Whether ``text`` only says what something is or does, and weighs, warns or denies nothing."""
    seen = look(text)
    return not (seen.cues or any(map(is_negation, seen.tokens)) or find_records(text, role="user"))


def _is_personal(text: str) -> bool:
    return re.search(r"\b(?:I|me|my)\b", text) is not None


def _named(title: str) -> Iterator[str]:
    """The namespaces that the headings name, the nearest first."""
    for heading in reversed(title.split(" / ")):
        for namespace, words in _HEADINGS:
            if words.search(heading):
                yield namespace
