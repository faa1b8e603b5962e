"""The map: who hears what, and says what; the docs and ``subcog routes`` are made from it."""

from __future__ import annotations

from msgspec import Struct

from ...bus import events as e
from ...bus.inbox import Overflow


class Route(Struct, frozen=True, kw_only=True):
    """One subscriber. ``asks`` are events that it publishes while it handles one.

    ``concurrency`` above 1 is for a stage that waits for something else. So many events wait in
    its inbox at most, and what happens beyond that is its ``overflow``.
    """

    stage: str
    hears: type[e.Event]
    says: tuple[type[e.Event], ...] = ()
    asks: tuple[type[e.Event], ...] = ()
    concurrency: int = 1
    capacity: int = 1024
    overflow: Overflow = Overflow.WAIT
    about: str


ROUTES: tuple[Route, ...] = (
    # a prompt
    Route(
        stage="parse",
        hears=e.PromptSubmitted,
        says=(e.PromptParsed,),
        about="take the prompt apart: markers, entities, words to search for",
    ),
    Route(
        stage="enrich",
        hears=e.PromptParsed,
        says=(e.PromptEnriched,),
        asks=(e.CaptureRequested,),
        concurrency=64,
        about="gather what is known, and keep what is marked",
    ),
    Route(
        stage="classify",
        hears=e.PromptEnriched,
        says=(e.IntentClassified,),
        asks=(e.IntentRefined,),
        concurrency=256,
        about="decide whether the prompt searches, and for what",
    ),
    Route(
        stage="inject",
        hears=e.IntentClassified,
        says=(e.ContextBuilt,),
        about="choose what goes to the model, possibly nothing",
    ),
    Route(
        stage="respond",
        hears=e.ContextBuilt,
        says=(e.ResponseReady,),
        about="say it in the client's own words",
    ),
    Route(
        stage="refine",
        hears=e.IntentRefined,
        about="let what the model said too late wait for the session's next hook",
    ),
    # other moments
    Route(
        stage="greet",
        hears=e.SessionStarted,
        says=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="tell a new session what matters now",
    ),
    Route(
        stage="remind",
        hears=e.ToolUsed,
        says=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="remind of what is known about a file that was changed",
    ),
    Route(
        stage="remedy",
        hears=e.ToolFailed,
        says=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="bring up what is known about a failure",
    ),
    Route(
        stage="preserve",
        hears=e.CompactionStarted,
        says=(e.ResponseReady,),
        asks=(e.ReviewRequested,),
        concurrency=16,
        about="tell a compaction what to keep",
    ),
    Route(
        stage="finish_turn",
        hears=e.TurnEnded,
        says=(e.ReviewRequested,),
        about="have what was said in a turn looked through",
    ),
    Route(
        stage="finish_session",
        hears=e.SessionEnded,
        says=(e.ReviewRequested,),
        about="have the end of a session looked through",
    ),
    Route(
        stage="review",
        hears=e.ReviewRequested,
        asks=(e.CaptureRequested,),
        concurrency=4,
        capacity=256,
        overflow=Overflow.DROP,
        about="keep what was said that is worth it, and record what was done",
    ),
    Route(
        stage="trace",
        hears=e.ResponseReady,
        capacity=256,
        overflow=Overflow.DROP,
        about="note what was decided, for who asks later",
    ),
    Route(
        stage="warm",
        hears=e.SessionStarted,
        about="read what guides work here, before somebody asks",
    ),
    Route(
        stage="use",
        hears=e.ContextBuilt,
        about="count what went into a context",
    ),
    Route(
        stage="use_shown",
        hears=e.MemoriesShown,
        about="count what went into a context at another moment",
    ),
    Route(
        stage="reasons_shown",
        hears=e.MemoriesShown,
        about="remember why it went in, for whoever asks",
    ),
    Route(
        stage="reasons",
        hears=e.ContextBuilt,
        about="remember why it went in, for whoever asks",
    ),
    # a capture
    Route(
        stage="detect",
        hears=e.CaptureRequested,
        says=(e.CaptureDetected, e.CaptureSettled),
        about="settle namespace, tags and text",
    ),
    Route(
        stage="redact",
        hears=e.CaptureDetected,
        says=(e.StoreRequested, e.CaptureSettled),
        about="take out secrets and personal data",
    ),
    Route(
        stage="store",
        hears=e.StoreRequested,
        says=(e.MemoryStored, e.CaptureSettled),
        concurrency=256,
        about="commit, or merge into what is there",
    ),
    Route(
        stage="forget",
        hears=e.ForgetRequested,
        says=(e.MemoryForgotten, e.ForgetSettled),
        about="delete for good",
    ),
    # the life of a memory
    Route(
        stage="supersede",
        hears=e.SupersedeRequested,
        says=(e.MemoryStored, e.ChangeSettled),
        about="mark one memory as replaced by another",
    ),
    Route(
        stage="expire",
        hears=e.ExpireRequested,
        says=(e.MemoryStored, e.ChangeSettled),
        about="end the validity of a memory",
    ),
    Route(
        stage="restore",
        hears=e.RestoreRequested,
        says=(e.MemoryStored, e.ChangeSettled),
        about="bring a memory back into force",
    ),
    # many at once
    Route(
        stage="admit",
        hears=e.ImportRequested,
        says=(e.ImportAdmitted,),
        about="take secrets and personal data out of what is imported",
    ),
    Route(
        stage="import",
        hears=e.ImportAdmitted,
        says=(e.MemoriesStored, e.ImportSettled),
        about="commit many at once",
    ),
    Route(stage="index_many", hears=e.MemoriesStored, about="make them findable"),
    Route(stage="topics_many", hears=e.MemoriesStored, about="note what they are about"),
    # what follows a commit
    Route(stage="settle", hears=e.CaptureSettled, about="tell who waits for a capture"),
    Route(stage="index", hears=e.MemoryStored, about="make it findable"),
    Route(stage="unindex", hears=e.MemoryForgotten, about="make it unfindable"),
    Route(stage="topics", hears=e.MemoryStored, about="note what it is about"),
    Route(stage="untopic", hears=e.MemoryForgotten, about="note that it is gone"),
    Route(stage="lore", hears=e.MemoryStored, about="have it at hand where it guides work"),
    Route(stage="lore_many", hears=e.MemoriesStored, about="have what guides work at hand"),
    Route(stage="reader", hears=e.MemoryStored, about="load what reads it, if it is the first"),
    Route(stage="reader_many", hears=e.MemoriesStored, about="load what reads them"),
    Route(stage="unlore", hears=e.MemoryForgotten, about="have it at hand no longer"),
    Route(stage="announce", hears=e.MemoryStored, about="tell open MCP sessions"),
    Route(stage="announce_many", hears=e.MemoriesStored, about="tell open MCP sessions"),
    Route(stage="announce_gone", hears=e.MemoryForgotten, about="tell open MCP sessions"),
    # to the team
    *(
        Route(stage=stage, hears=hears, overflow=Overflow.DROP, about=about)
        for stage, hears, about in (
            ("push", e.MemoryStored, "have it sent to the team, where it is shared"),
            ("push_many", e.MemoriesStored, "have them sent to the team, where they are shared"),
            ("push_gone", e.MemoryForgotten, "have the team forget it too"),
        )
    ),
    # a query
    Route(
        stage="answer",
        hears=e.QueryRequested,
        says=(e.QueryAnswered,),
        concurrency=16,
        about="search",
    ),
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
        lines.append(f"    {route.hears.__name__}([{route.hears.__name__}]) --> {route.stage}")
        lines += [f"    {route.stage} --> {s.__name__}([{s.__name__}])" for s in route.says]
        lines += [f"    {route.stage} -.-> {s.__name__}([{s.__name__}])" for s in route.asks]
    return "\n".join(lines)
