"""The map: which stage consumes and produces which event. Docs and ``subcog routes`` use it."""

from __future__ import annotations

from msgspec import Struct

from ...bus import events as e
from ...bus.inbox import Overflow


class Route(Struct, frozen=True):
    """One subscriber. ``publishes_during`` are events that it publishes while it handles one.

    ``concurrency`` above 1 is for a stage that waits for something else. So many events wait in
    its inbox at most, and what happens beyond that is its ``overflow``.
    """

    stage: str
    consumes: type[e.Event]
    about: str
    produces: tuple[type[e.Event], ...] = ()
    publishes_during: tuple[type[e.Event], ...] = ()
    concurrency: int = 1
    capacity: int = 1024
    overflow: Overflow = Overflow.WAIT


ROUTES: tuple[Route, ...] = (
    # a prompt
    Route(
        "parse",
        e.PromptSubmitted,
        "take the prompt apart: markers, entities, words to search for",
        produces=(e.PromptParsed,),
    ),
    Route(
        "enrich",
        e.PromptParsed,
        "gather what is known, and keep what is marked",
        produces=(e.PromptEnriched,),
        publishes_during=(e.CaptureRequested,),
        concurrency=64,
    ),
    Route(
        "classify",
        e.PromptEnriched,
        "decide whether the prompt searches, and for what",
        produces=(e.IntentClassified,),
        publishes_during=(e.IntentRefined,),
        concurrency=256,
    ),
    Route(
        "inject",
        e.IntentClassified,
        "choose what goes to the model, possibly nothing",
        produces=(e.ContextBuilt,),
    ),
    Route(
        "respond", e.ContextBuilt, "say it in the client's own words", produces=(e.ResponseReady,)
    ),
    Route(
        "refine",
        e.IntentRefined,
        "let what the model said too late wait for the session's next hook",
    ),
    # other moments
    Route(
        "greet",
        e.SessionStarted,
        "tell a new session what matters now",
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
    ),
    Route(
        "remind",
        e.ToolUsed,
        "remind of what is known about a file that was changed",
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
    ),
    Route(
        "remedy",
        e.ToolFailed,
        "bring up what is known about a failure",
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
    ),
    Route(
        "preserve",
        e.CompactionStarted,
        "tell a compaction what to keep",
        produces=(e.ResponseReady,),
        publishes_during=(e.ReviewRequested,),
        concurrency=16,
    ),
    Route(
        "finish_turn",
        e.TurnEnded,
        "have what was said in a turn looked through",
        produces=(e.ReviewRequested,),
    ),
    Route(
        "finish_session",
        e.SessionEnded,
        "have the end of a session looked through",
        produces=(e.ReviewRequested,),
    ),
    Route(
        "review",
        e.ReviewRequested,
        "keep what was said that is worth it, and record what was done",
        publishes_during=(e.CaptureRequested,),
        concurrency=4,
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route(
        "trace",
        e.ResponseReady,
        "note what was decided, for who asks later",
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route("warm", e.SessionStarted, "read what guides work here, before somebody asks"),
    Route("use", e.ContextBuilt, "count what went into a context"),
    Route("use_shown", e.MemoriesShown, "count what went into a context at another moment"),
    Route("reasons_shown", e.MemoriesShown, "remember why it went in, for whoever asks"),
    Route("reasons", e.ContextBuilt, "remember why it went in, for whoever asks"),
    # a capture
    Route(
        "detect",
        e.CaptureRequested,
        "settle namespace, tags and text",
        produces=(e.CaptureDetected, e.CaptureSettled),
    ),
    Route(
        "redact",
        e.CaptureDetected,
        "take out secrets and personal data",
        produces=(e.StoreRequested, e.CaptureSettled),
    ),
    Route(
        "store",
        e.StoreRequested,
        "commit, or merge into what is there",
        produces=(e.MemoriesStored, e.CaptureSettled),
        concurrency=256,
    ),
    Route(
        "forget",
        e.ForgetRequested,
        "delete for good",
        produces=(e.MemoryForgotten, e.ForgetSettled),
    ),
    # the life of a memory
    Route(
        "supersede",
        e.SupersedeRequested,
        "mark one memory as replaced by another",
        produces=(e.MemoriesStored, e.ChangeSettled),
    ),
    Route(
        "expire",
        e.ExpireRequested,
        "end the validity of a memory",
        produces=(e.MemoriesStored, e.ChangeSettled),
    ),
    Route(
        "restore",
        e.RestoreRequested,
        "bring a memory back into force",
        produces=(e.MemoriesStored, e.ChangeSettled),
    ),
    # many at once
    Route(
        "admit",
        e.ImportRequested,
        "take secrets and personal data out of what is imported",
        produces=(e.ImportAdmitted,),
    ),
    Route(
        "import",
        e.ImportAdmitted,
        "commit many at once",
        produces=(e.MemoriesStored, e.ImportSettled),
    ),
    # what follows a commit
    Route("settle", e.CaptureSettled, "tell who waits for a capture"),
    Route("index", e.MemoriesStored, "make them findable"),
    Route("unindex", e.MemoryForgotten, "make it unfindable"),
    Route("topics", e.MemoriesStored, "note what they are about"),
    Route("untopic", e.MemoryForgotten, "note that it is gone"),
    Route("guides", e.MemoriesStored, "keep those at hand that guide work"),
    Route("unguide", e.MemoryForgotten, "drop it from what guides work"),
    Route("load_reranker", e.MemoriesStored, "load the reranker when the first memory is stored"),
    Route("announce", e.MemoriesStored, "notify open MCP sessions"),
    Route("announce_gone", e.MemoryForgotten, "notify open MCP sessions"),
    # to the team
    Route(
        "push",
        e.MemoriesStored,
        "have them sent to the team, where they are shared",
        overflow=Overflow.DROP,
    ),
    Route("push_gone", e.MemoryForgotten, "have the team delete it too", overflow=Overflow.DROP),
    # a query
    Route("answer", e.QueryRequested, "search", produces=(e.QueryAnswered,), concurrency=16),
)

# What comes in from outside, and what goes out.
ENTRANCES: tuple[type[e.Event], ...] = (
    e.PromptSubmitted,
    e.SessionStarted,
    e.ToolUsed,
    e.ToolFailed,
    e.CompactionStarted,
    e.TurnEnded,
    e.SessionEnded,
    e.CaptureRequested,
    e.ForgetRequested,
    e.SupersedeRequested,
    e.ExpireRequested,
    e.RestoreRequested,
    e.ImportRequested,
    e.QueryRequested,
)
EXITS: tuple[type[e.Event], ...] = (
    e.ResponseReady,
    e.CaptureSettled,
    e.ForgetSettled,
    e.ChangeSettled,
    e.ImportSettled,
    e.QueryAnswered,
)


def diagram() -> str:
    """The map as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    for route in ROUTES:
        heard = route.consumes.__name__
        lines.append(f"    {heard}([{heard}]) --> {route.stage}")
        lines += [f"    {route.stage} --> {s.__name__}([{s.__name__}])" for s in route.produces]
        lines += [
            f"    {route.stage} -.-> {s.__name__}([{s.__name__}])" for s in route.publishes_during
        ]
    return "\n".join(lines)
