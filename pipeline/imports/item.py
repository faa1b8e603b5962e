"""One memory on its way into the store, and the JSON formats: our own JSONL, others', and mem0's.

Other programs write the same field in several ways; ``text_of`` and its neighbours read them all.
Half a character, where they cut a text in two, becomes a question mark.
Of mem0 it is what ``get_all`` and its exports give, as one JSON file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from ...bus.anchors import Anchor, are_sound
from ...bus.frames import read_json
from ...bus.triggers import Trigger, check_triggers
from ...bus.values import Provenance, Scope
from ...stages.text.markup import namespace_of

MemoryId = Annotated[str, Meta(pattern=r"^mem_[0-9a-z]{26}$")]
ZonedTime = Annotated[datetime, Meta(tz=True)]
# A number of seconds from here on is taken for milliseconds: it would be the year 5138.
_MILLISECONDS_FROM = 1e11
# Nothing was kept before the first of these years; what comes after the second is a mistake.
_YEARS = range(1970, 3000)
_TEXTS = ("content", "text", "memory")
# What other programs call a kind of memory, beside the names that a marker may have.
_KINDS = {
    word: namespace
    for namespace, words in {
        "decisions": "choice adr",
        "learnings": "fact insight finding discovery observation idea tip bugfix",
        "patterns": "rule principle guideline practice best-practice standard technique method"
        " workflow process style",
        "blockers": "issue obstacle",
        "context": "requirement constraint background architecture design overview config"
        " configuration setup command reference resource tech technology fact-sheet",
        "progress": "status milestone feature change done",
        "tech-debt": "refactor refactoring cleanup fixme",
        "gotchas": "warning caution pitfall caveat trap quirk limitation problem bug",
        "tasks": "action next-step",
        "preferences": "likes dislikes habit",
    }.items()
    for word in words.split()
}
_plain = msgspec.json.Decoder(dict[str, Any])


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory to import. With an ``id`` it is one of ours, without it its text is what it is.

    ``scope`` says of which kind it is; whose memory it becomes depends on who imports.
    """

    content: str
    id: MemoryId | None = None
    version: Annotated[int, Meta(ge=1, le=2**53 - 1)] = 1
    scope: Scope | None = None
    namespace: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    confidence_percent: Annotated[int, Meta(ge=0, le=100)] = 100
    provenance: Provenance = Provenance()
    created_at: ZonedTime | None = None
    updated_at: ZonedTime | None = None
    valid_from: ZonedTime | None = None
    valid_to: ZonedTime | None = None
    supersedes: MemoryId | None = None
    superseded_by: MemoryId | None = None
    contradicts: MemoryId | None = None
    sources: tuple[Provenance, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    questions: tuple[str, ...] = ()
    triggers: tuple[Trigger, ...] = ()

    def __post_init__(self) -> None:
        check_triggers(self.triggers)
        if not are_sound(self.anchors):
            raise ValueError('"anchors" are no places inside a project')
        for made in (self.created_at, self.updated_at):
            if made is not None and made.year not in _YEARS:
                raise ValueError(f"a memory is of no year {made.year}")
        check_in_utc(self.valid_from, self.valid_to)


def check_in_utc(*times: datetime | None) -> None:
    """Raise ``ValueError`` where one of ``times`` lies beyond all years in UTC."""
    for time in times:
        try:
            if time is not None:
                time.astimezone(UTC)
        except OverflowError:
            raise ValueError(f"{time} is no time in UTC") from None


class Ours(Item, frozen=True, kw_only=True):
    """A memory as we exported it: nothing of what makes it the same one may be missing."""

    id: MemoryId
    scope: Scope
    namespace: str
    created_at: ZonedTime
    updated_at: ZonedTime


class BadImport(ValueError):
    """A file cannot be imported. The message names file and line."""

    def __init__(self, file: Path, problem: str, line: int = 0) -> None:
        super().__init__(f"{file}, line {line}: {problem}" if line else f"{file}: {problem}")


Items = Iterator[Item]


def text_of(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of ``names`` that holds something. Raises ``ValueError`` if that is no string."""
    for name in names:
        value = fields.get(name)
        if value is not None and value != "":
            if not isinstance(value, str):
                raise ValueError(f'"{name}" is no string')
            return value
    return ""


def strings_of(value: Any) -> tuple[str, ...]:
    """A list of strings, also one that is written as JSON, or as words between commas."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            value = value.split(",")
    if not isinstance(value, list | tuple):
        return ()
    return tuple(each.strip() for each in value if isinstance(each, str) and each.strip())


def tags_of(*values: Any) -> tuple[str, ...]:
    """Every tag of ``values``, each once."""
    return tuple(dict.fromkeys(tag for value in values for tag in strings_of(value)))


def category_namespace(*categories: str) -> str:
    """The namespace that the first of ``categories`` with one means, in any number; "" for none."""
    for category in categories:
        name = re.sub(r"[\s_]+", "-", category.strip().lower())
        plain = name.removesuffix("s")
        if found := namespace_of(name) or _KINDS.get(name) or _KINDS.get(plain):
            return found
    return ""


def titled(title: str, text: str) -> str:
    """``text`` below its ``title``, unless it has none or begins with it."""
    title = " ".join(title.split())
    return text if not title or text.lstrip("#* ").startswith(title) else f"{title}\n\n{text}"


def moment_of(value: Any) -> datetime | None:
    """A moment, UTC, from ISO 8601 or seconds or milliseconds since 1970.

    Where no zone is told it is taken to be UTC already. None for what is none, or of a year in
    which no memory can have been made.
    """
    moment = _moment(value)
    return moment if moment and moment.year in _YEARS else None


def _moment(value: Any) -> datetime | None:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value >= _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, str) and value.strip():
            moment = datetime.fromisoformat(value.strip())
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


_ours = msgspec.json.Decoder(Ours)


def read_jsonl(file: Path) -> Items:
    """The memories of ``file``, one line at a time. Raises ``BadImport``, ``OSError``."""
    for number, line in lines_of(file):
        if line.strip():
            try:
                yield read_json(line, _item)
            except (ValueError, RecursionError) as error:
                raise BadImport(file, str(error), number) from None


def lines_of(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of ``file`` from 1, each with its newline. Raises ``BadImport``."""
    number = 0
    try:
        with file.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                yield number, line
    except UnicodeDecodeError:
        raise BadImport(file, "it is not UTF-8", number + 1) from None


def _item(line: str | bytes) -> Item:
    fields = _plain.decode(line)
    if {"id", "scope", "namespace", "created_at", "updated_at"} <= fields.keys():
        return _ours.decode(line)
    text = text_of(fields, _TEXTS)
    if not text.strip():
        raise ValueError('there is no text: "content" or "text" must hold one')
    categories = tags_of(fields.get("category"), fields.get("categories"))
    asked = fields.get("questions")
    return Item(
        content=titled(text_of(fields, ("title",)), text),
        namespace=str(fields.get("namespace") or "") or category_namespace(*categories),
        tags=tags_of(fields.get("tags"), categories),
        questions=strings_of([asked] if isinstance(asked, str) else asked),
        triggers=msgspec.convert(fields.get("triggers") or (), tuple[Trigger, ...]),
        created_at=moment_of(fields.get("created_at")),
        updated_at=moment_of(fields.get("updated_at")),
    )


# --- mem0 ---------------------------------------------------------------------------------------

_MEM0_LISTS = ("results", "memories", "data")
_MEM0_TEXTS = ("memory", "text", "data", "content")


def memories_in(value: Any) -> list[Any] | None:
    """The list of memories in a decoded file, whatever it is wrapped in; None for no such file."""
    if isinstance(value, dict):
        found = [value[name] for name in _MEM0_LISTS if isinstance(value.get(name), list)]
        value = found[0] if found else None
    return value if isinstance(value, list) else None


def read_mem0(file: Path) -> Items:
    """The memories of ``file``. Raises ``BadImport`` and ``OSError``."""
    try:
        value = read_json(file.read_bytes(), msgspec.json.decode)
    except (ValueError, RecursionError) as error:
        raise BadImport(file, f"it is no JSON: {error}") from None
    found = memories_in(value)
    if found is None:
        raise BadImport(file, f"it has no list of memories under {', '.join(_MEM0_LISTS)}")
    for number, fields in enumerate(found, 1):
        try:
            yield _mem0_item(fields)
        except ValueError as error:
            raise BadImport(file, f"memory {number}: {error}") from None


def _mem0_item(fields: Any) -> Item:
    if isinstance(fields, str):
        fields = {"memory": fields}
    if not isinstance(fields, dict):
        raise ValueError("it is no object")
    text = text_of(fields, _MEM0_TEXTS)
    if not text.strip():
        raise ValueError('there is no text under "memory"')
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    categories = tags_of(fields.get("categories"), metadata.get("category"))
    title = next((one for one in (fields.get("title"), metadata.get("title")) if one), "")
    return Item(
        content=titled(str(title), text),
        namespace=str(metadata.get("namespace") or "") or category_namespace(*categories),
        tags=tags_of(fields.get("categories"), metadata.get("tags"), metadata.get("category")),
        created_at=moment_of(fields.get("created_at")),
        updated_at=moment_of(fields.get("updated_at")),
        provenance=Provenance(
            hook="import", client="mem0", session=str(fields.get("run_id") or "")
        ),
    )
