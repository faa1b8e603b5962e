"""What the tools take and give: structs, from which the schemas and the checks are made."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ...bus.results import MemoryResult, Result, Topic
from ...bus.sessions import FoundSessions
from ...bus.triggers import MAX_TRIGGER_CHARS, MOST_TRIGGERS, MOST_UNLESS
from ...bus.values import MAX_QUESTION_CHARS, MOST_QUESTIONS, Mode
from ...config.patterns import regex
from ...config.settings import MOST_TEXT_CHARS, Namespace

MAX_QUERY = 2000
MAX_TOPICS = 100

Query = Annotated[str, Meta(min_length=1, max_length=MAX_QUERY)]
Id = Annotated[str, Meta(min_length=1, max_length=200, description="A memory's id: mem_…")]
Text = Annotated[
    str, Meta(min_length=1, max_length=MOST_TEXT_CHARS, description="One fact, with its reason.")
]
Tag = Annotated[str, Meta(min_length=1, max_length=100)]
Question = Annotated[str, Meta(min_length=1, max_length=MAX_QUESTION_CHARS)]
Questions = Annotated[
    list[Question],
    Meta(
        max_length=MOST_QUESTIONS,
        description=(
            "Up to three short questions that it answers, as somebody may type them months later "
            "who does not remember how it was put: in other words than its own (a synonym, the "
            "symptom, the purpose, the everyday name). It is found by them. Where the user speaks "
            "another language than the text, one of them in that."
        ),
    ),
]
_TriggerText = Annotated[str, Meta(min_length=1, max_length=MAX_TRIGGER_CHARS)]


# What tools take is before the model all the time: only `capture` explains what it has in common
# with the others.
class BriefTrigger(Struct, frozen=True, forbid_unknown_fields=True, rename={"within": "in"}):
    """An action or an order."""

    run: _TriggerText | UnsetType = UNSET
    write: _TriggerText | UnsetType = UNSET
    edit: _TriggerText | UnsetType = UNSET
    within: _TriggerText | UnsetType = UNSET
    unless: Annotated[list[_TriggerText], Meta(max_length=MOST_UNLESS)] = []
    order: _TriggerText | UnsetType = UNSET


class TriggerArgument(BriefTrigger, frozen=True, forbid_unknown_fields=True):
    """One of ``run``, ``write``, ``edit``, where * is any text, or ``order``."""

    run: Annotated[
        _TriggerText | UnsetType,
        Meta(
            description=(
                "A shell command with these words in this order, others may stand between: "
                "'npm install', 'git push --force'."
            )
        ),
    ] = UNSET
    write: Annotated[
        _TriggerText | UnsetType,
        Meta(
            description=(
                "A change of a file that adds this text, in one line, whole words, case counts: "
                "'datetime.utcnow(', 'import requests'."
            )
        ),
    ] = UNSET
    edit: Annotated[
        _TriggerText | UnsetType,
        Meta(description="Any change of such a file that is there (generated, frozen): 'gen/**'."),
    ] = UNSET
    within: Annotated[
        _TriggerText | UnsetType,
        Meta(description="With write: only in such files, 'src/server/**'."),
    ] = UNSET
    unless: Annotated[
        list[_TriggerText],
        Meta(
            max_length=MOST_UNLESS,
            description=(
                "Not where the command, or what the change adds, has one of these texts too: the "
                "right way, a harmless place or option."
            ),
        ),
    ] = []
    order: Annotated[
        _TriggerText | UnsetType,
        Meta(
            description=(
                "Work that somebody may order months later, which goes wrong or is sent back where "
                "this is not known: as people type it, in other words than the text's: 'add a "
                "refund endpoint', 'speed up the nightly import'. Up to three, each from a "
                "different side; none for background, reasons and plans."
            )
        ),
    ] = UNSET


Triggers = Annotated[
    list[TriggerArgument],
    Meta(
        max_length=MOST_TRIGGERS,
        description=(
            "Up to five actions and three orders right before which somebody has to be reminded of "
            "it, because they go against it or go wrong without it, as people would type or write "
            "them. Of ten actions that match, nine should: a harmless neighbour (another "
            "environment, a test, what it recommends) must not match. Rather none than a broad one."
        ),
    ),
]
_BRIEFLY = "As `capture` takes them."
BriefQuestions = Annotated[list[Question], Meta(max_length=MOST_QUESTIONS, description=_BRIEFLY)]
BriefTriggers = Annotated[list[BriefTrigger], Meta(max_length=MOST_TRIGGERS, description=_BRIEFLY)]
InNamespace = Annotated[Namespace | None, Meta(description="What kind of memory.")]


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what a tool takes."""


class RecallArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``recall`` takes."""

    query: Annotated[
        Query | None,
        Meta(description="What to look for; without it, all of since … until, newest first."),
    ] = None
    namespace: InNamespace = None
    limit: Annotated[int, Meta(ge=1, le=50, description="At most so many.")] = 10
    mode: Annotated[Mode, Meta(description="How to search.")] = "hybrid"
    since: Annotated[date | None, Meta(description="Made on this day or later.")] = None
    until: Annotated[date | None, Meta(description="Made on this day or earlier.")] = None


class Entry(Result, frozen=True, kw_only=True):
    """One line of an index. ``score`` is absolute: 0.3 and more is likely to answer.

    What answers in other words than the query may have less.
    ``author`` is the colleague who wrote it; missing where it was written on this machine.
    ``buried`` is there where the user does not want it shown unasked. ``replaced_by`` is a newer
    one of the index that says otherwise, where there is one.
    """

    id: str
    namespace: str
    summary: str
    created_at: str
    author: str | UnsetType = UNSET
    buried: bool | UnsetType = UNSET
    replaced_by: str | UnsetType = UNSET
    score: float | None = None


class RecallResult(Result, frozen=True, kw_only=True):
    """Best first. ``degraded`` says why a search was a lesser one."""

    notice: str
    query: str
    mode: str
    memories: list[Entry]
    topics: list[str]
    total_count: Annotated[
        int, Meta(description="How many the filters let through, whether they match or not.")
    ]
    degraded: str | None = None


class SearchSessionsArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``search_sessions`` takes."""

    query: Annotated[Query, Meta(description="What was settled or spoken of, as a question.")]
    limit: Annotated[int, Meta(ge=1, le=10, description="At most so many sessions.")] = 3


class SearchSessionsResult(FoundSessions, frozen=True, kw_only=True):
    """Best first; where two sessions differ, the one that ``replaces`` the other holds."""

    notice: str


class CaptureArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``capture`` takes."""

    text: Text
    namespace: Annotated[
        Namespace | None, Meta(description="What kind of memory; found in the text if left out.")
    ] = None
    tags: Annotated[list[Tag], Meta(max_length=20)] = []
    questions: Questions = []
    triggers: Triggers = []
    scope: Annotated[
        Literal["project", "user", "org"],
        Meta(description="Whose memory: this project's, the user's everywhere, the team's."),
    ] = "project"
    confidence: Annotated[
        float, Meta(ge=0.0, le=1.0, description="How sure it is; 1.0 if the user said it.")
    ] = 0.8


class CaptureResult(Result, frozen=True, kw_only=True):
    """What became of it. ``contradicts`` is a memory that seems to say otherwise.

    ``was_forgotten``: this text had been forgotten, and is kept again.
    """

    outcome: Literal["stored", "merged", "declined", "pending", "failed"]
    namespace: str
    id: str | None = None
    summary: str = ""
    reason: str = ""
    redactions: tuple[str, ...] = ()
    version: int | None = None
    contradicts: str | None = None
    was_forgotten: bool = False


class IdArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``get`` and ``forget`` take."""

    id: Id


class Memory(MemoryResult, frozen=True, kw_only=True):
    """A memory whole, as the daemon answers ``get``, with the notice that it is data."""

    notice: str


class UpdateArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``update`` takes.

    What is left out stays as it is; questions and triggers only if the text mostly does.
    """

    id: Id
    text: Text | None = None
    namespace: InNamespace = None
    tags: Annotated[list[Tag], Meta(max_length=20)] | None = None
    questions: BriefQuestions | None = None
    triggers: BriefTriggers | None = None


class ForgetResult(Result, frozen=True, kw_only=True):
    """What was deleted."""

    id: str
    forgotten: bool


class TopicsArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``topics`` takes."""

    topic: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="One topic, to see its memories."),
    ] = None
    limit: Annotated[int, Meta(ge=1, le=MAX_TOPICS)] = 30


class TopicsResult(Result, frozen=True, kw_only=True):
    """All topics, or one: its memories and what goes with it. Unknown topics have none."""

    notice: str
    topic: str | None
    topics: list[Topic]
    memories: list[Entry]
    related_topics: list[str]
    total_count: int


class SupersedeArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``supersede`` takes: ``new`` or ``text``."""

    old: Id
    new: Annotated[Id | None, Meta(description="The id of the memory that holds now.")] = None
    text: Annotated[Text | None, Meta(description="Or what holds now, to be kept.")] = None
    questions: BriefQuestions | None = None
    triggers: BriefTriggers | None = None


class SupersedeResult(Result, frozen=True, kw_only=True):
    """``old`` stays readable by its id and is no longer found."""

    outcome: Literal["superseded", "stored", "merged", "declined", "pending", "failed"]
    old: str
    new: str | None
    reason: str = ""


class StatusArguments(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``status`` takes: nothing."""


class StatusResult(Result, frozen=True, kw_only=True):
    """Whether memories can be searched and kept, and how many of them ``scopes`` have."""

    ready: bool
    version: str
    scopes: list[str]
    memories: int | None = None
    problem: str | None = None


Json = dict[str, Any]
S = TypeVar("S", bound=msgspec.Struct)
_AT = regex(r" - at `\$\.?([\w-]*)[^`]*`$")


def schema_of(kind: type[msgspec.Struct], text_chars: int = MOST_TEXT_CHARS) -> Json:
    """The schema of ``kind`` in one piece: its root is the object, and nothing is referred to.

    ``text_chars`` is the longest text of a memory, which is a setting.
    """
    (root,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    whole: Json = _inlined(root, parts)
    for of_the_struct in ("title", "description"):
        whole.pop(of_the_struct, None)
    limited: Json = _limited(whole, text_chars)
    return limited


def _limited(schema: Any, text_chars: int) -> Any:
    if isinstance(schema, list):
        return [_limited(each, text_chars) for each in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {name: _limited(each, text_chars) for name, each in schema.items()}
    if whole.get("maxLength") == MOST_TEXT_CHARS:
        whole["maxLength"] = text_chars
    return whole


def _inlined(schema: Any, parts: Json) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = {**parts[schema["$ref"]], **schema}
        del schema["$ref"]
    whole = {name: _inlined(each, parts) for name, each in schema.items()}
    # Some clients' models take no list of values without its type.
    return {"type": "string"} | whole if "enum" in whole else whole


def read_arguments(kind: type[S], given: Json, text_chars: int = MOST_TEXT_CHARS) -> S:
    """``given`` as ``kind``. Raises ``ValueError``, which names the argument and what is right.

    A text of more than ``text_chars`` is only refused where it is very long: what is kept of it is
    shorter than what is given.
    """
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), kind, text_chars)) from None


def _explained(message: str, kind: type[msgspec.Struct], text_chars: int) -> str:
    known = schema_of(kind, text_chars)["properties"]
    message = message.replace(f"<= {MOST_TEXT_CHARS}", f"<= {text_chars}")
    place = _AT.search(message)
    name = place[1] if place else ""
    what = _AT.sub("", message)
    what = f"{what[:1].lower()}{what[1:]}"
    if name in known:
        allowed = _allowed(known[name])
        return f"{name}: {what}" + (f"; allowed: {allowed}" if allowed else "")
    return f"{what}; arguments: {', '.join(known) or 'none'}"


def _allowed(schema: Json) -> str:
    """What a property takes, in words; empty where its type says it."""
    for each in (schema, *schema.get("anyOf", ())):
        if "enum" in each:
            return ", ".join(map(str, each["enum"]))
        if "minimum" in each:
            return f"{each['minimum']} to {each['maximum']}"
        if "maxLength" in each:
            return f"{each.get('minLength', 0)} to {each['maxLength']} characters"
    return ""
