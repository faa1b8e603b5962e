"""The map: which stage consumes and produces which event. Docs and ``subcog routes`` use it."""

from __future__ import annotations

from msgspec import Struct

from ...bus import events as e
from ...bus.inbox import Overflow


class Route(Struct, frozen=True, kw_only=True):
    """One subscriber. ``publishes_during`` are events that it publishes while it handles one.

    ``concurrency`` above 1 is for a stage that waits for something else. So many events wait in
    its inbox at most, and what happens beyond that is its ``overflow``.
    """

    stage: str
    consumes: type[e.Event]
    produces: tuple[type[e.Event], ...] = ()
    publishes_during: tuple[type[e.Event], ...] = ()
    concurrency: int = 1
    capacity: int = 1024
    overflow: Overflow = Overflow.WAIT
    about: str


ROUTES: tuple[Route, ...] = (
    # a prompt
    Route(
        stage="parse",
        consumes=e.PromptSubmitted,
        produces=(e.PromptParsed,),
        about="take the prompt apart: markers, entities, words to search for",
    ),
    Route(
        stage="enrich",
        consumes=e.PromptParsed,
        produces=(e.PromptEnriched,),
        publishes_during=(e.CaptureRequested,),
        concurrency=64,
        about="gather what is known, and keep what is marked",
    ),
    Route(
        stage="classify",
        consumes=e.PromptEnriched,
        produces=(e.IntentClassified,),
        publishes_during=(e.IntentRefined,),
        concurrency=256,
        about="decide whether the prompt searches, and for what",
    ),
    Route(
        stage="inject",
        consumes=e.IntentClassified,
        produces=(e.ContextBuilt,),
        about="choose what goes to the model, possibly nothing",
    ),
    Route(
        stage="respond",
        consumes=e.ContextBuilt,
        produces=(e.ResponseReady,),
        about="say it in the client's own words",
    ),
    Route(
        stage="refine",
        consumes=e.IntentRefined,
        about="let what the model said too late wait for the session's next hook",
    ),
    # other moments
    Route(
        stage="greet",
        consumes=e.SessionStarted,
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="tell a new session what matters now",
    ),
    Route(
        stage="remind",
        consumes=e.ToolUsed,
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="remind of what is known about a file that was changed",
    ),
    Route(
        stage="remedy",
        consumes=e.ToolFailed,
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="bring up what is known about a failure",
    ),
    Route(
        stage="preserve",
        consumes=e.CompactionStarted,
        produces=(e.ResponseReady,),
        publishes_during=(e.ReviewRequested,),
        concurrency=16,
        about="tell a compaction what to keep",
    ),
    Route(
        stage="finish_turn",
        consumes=e.TurnEnded,
        produces=(e.ReviewRequested,),
        about="have what was said in a turn looked through",
    ),
    Route(
        stage="finish_session",
        consumes=e.SessionEnded,
        produces=(e.ReviewRequested,),
        about="have the end of a session looked through",
    ),
    Route(
        stage="review",
        consumes=e.ReviewRequested,
        publishes_during=(e.CaptureRequested,),
        concurrency=4,
        capacity=256,
        overflow=Overflow.DROP,
        about="keep what was said that is worth it, and record what was done",
    ),
    Route(
        stage="trace",
        consumes=e.ResponseReady,
        capacity=256,
        overflow=Overflow.DROP,
        about="note what was decided, for who asks later",
    ),
    Route(
        stage="warm",
        consumes=e.SessionStarted,
        about="read what guides work here, before somebody asks",
    ),
    Route(stage="use", consumes=e.ContextBuilt, about="count what went into a context"),
    Route(
        stage="use_shown",
        consumes=e.MemoriesShown,
        about="count what went into a context at another moment",
    ),
    Route(
        stage="reasons_shown",
        consumes=e.MemoriesShown,
        about="remember why it went in, for whoever asks",
    ),
    Route(
        stage="reasons", consumes=e.ContextBuilt, about="remember why it went in, for whoever asks"
    ),
    # a capture
    Route(
        stage="detect",
        consumes=e.CaptureRequested,
        produces=(e.CaptureDetected, e.CaptureSettled),
        about="settle namespace, tags and text",
    ),
    Route(
        stage="redact",
        consumes=e.CaptureDetected,
        produces=(e.StoreRequested, e.CaptureSettled),
        about="take out secrets and personal data",
    ),
    Route(
        stage="store",
        consumes=e.StoreRequested,
        produces=(e.MemoriesStored, e.CaptureSettled),
        concurrency=256,
        about="commit, or merge into what is there",
    ),
    Route(
        stage="forget",
        consumes=e.ForgetRequested,
        produces=(e.MemoryForgotten, e.ForgetSettled),
        about="delete for good",
    ),
    # the life of a memory
    Route(
        stage="supersede",
        consumes=e.SupersedeRequested,
        produces=(e.MemoriesStored, e.ChangeSettled),
        about="mark one memory as replaced by another",
    ),
    Route(
        stage="expire",
        consumes=e.ExpireRequested,
        produces=(e.MemoriesStored, e.ChangeSettled),
        about="end the validity of a memory",
    ),
    Route(
        stage="restore",
        consumes=e.RestoreRequested,
        produces=(e.MemoriesStored, e.ChangeSettled),
        about="bring a memory back into force",
    ),
    # many at once
    Route(
        stage="admit",
        consumes=e.ImportRequested,
        produces=(e.ImportAdmitted,),
        about="take secrets and personal data out of what is imported",
    ),
    Route(
        stage="import",
        consumes=e.ImportAdmitted,
        produces=(e.MemoriesStored, e.ImportSettled),
        about="commit many at once",
    ),
    # what follows a commit
    Route(stage="settle", consumes=e.CaptureSettled, about="tell who waits for a capture"),
    Route(stage="index", consumes=e.MemoriesStored, about="make them findable"),
    Route(stage="unindex", consumes=e.MemoryForgotten, about="make it unfindable"),
    Route(stage="topics", consumes=e.MemoriesStored, about="note what they are about"),
    Route(stage="untopic", consumes=e.MemoryForgotten, about="note that it is gone"),
    Route(stage="guides", consumes=e.MemoriesStored, about="keep those at hand that guide work"),
    Route(stage="unguide", consumes=e.MemoryForgotten, about="drop it from what guides work"),
    Route(
        stage="load_reranker",
        consumes=e.MemoriesStored,
        about="load the reranker when the first memory is stored",
    ),
    Route(stage="announce", consumes=e.MemoriesStored, about="notify open MCP sessions"),
    Route(stage="announce_gone", consumes=e.MemoryForgotten, about="notify open MCP sessions"),
    # to the team
    Route(
        stage="push",
        consumes=e.MemoriesStored,
        overflow=Overflow.DROP,
        about="have them sent to the team, where they are shared",
    ),
    Route(
        stage="push_gone",
        consumes=e.MemoryForgotten,
        overflow=Overflow.DROP,
        about="have the team delete it too",
    ),
    # a query
    Route(
        stage="answer",
        consumes=e.QueryRequested,
        produces=(e.QueryAnswered,),
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
        heard = route.consumes.__name__
        lines.append(f"    {heard}([{heard}]) --> {route.stage}")
        lines += [f"    {route.stage} --> {s.__name__}([{s.__name__}])" for s in route.produces]
        lines += [
            f"    {route.stage} -.-> {s.__name__}([{s.__name__}])" for s in route.publishes_during
        ]
    return "\n".join(lines)
