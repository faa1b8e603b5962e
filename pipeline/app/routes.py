"""The map: which stage consumes and produces which event. Docs and ``subcog routes`` use it."""

from __future__ import annotations

from msgspec import Struct

from ...bus import events as e
from ...bus.bus import Overflow


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
        about="parse the prompt: markers, entities, search terms",
    ),
    Route(
        stage="enrich",
        consumes=e.PromptParsed,
        produces=(e.PromptEnriched,),
        publishes_during=(e.CaptureRequested,),
        concurrency=64,
        about="recall candidates and sessions, read the project's facts, store what is marked",
    ),
    Route(
        stage="classify",
        consumes=e.PromptEnriched,
        produces=(e.IntentClassified,),
        publishes_during=(e.IntentRefined,),
        concurrency=256,
        about="classify the search intent of the prompt",
    ),
    Route(
        stage="inject",
        consumes=e.IntentClassified,
        produces=(e.ContextBuilt,),
        about="select what goes to the model, possibly nothing",
    ),
    Route(
        stage="respond",
        consumes=e.ContextBuilt,
        produces=(e.ResponseReady,),
        about="format the answer for the agent",
    ),
    Route(
        stage="refine",
        consumes=e.IntentRefined,
        about="keep a late answer of the language model for the session's next hook",
    ),
    # other moments
    Route(
        stage="greet",
        consumes=e.SessionStarted,
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="greet a new session with open blockers, tasks and recent decisions",
    ),
    Route(
        stage="remind",
        consumes=e.ToolUsed,
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="show what is known about a file that was changed",
    ),
    Route(
        stage="remedy",
        consumes=e.ToolFailed,
        produces=(e.ResponseReady, e.MemoriesShown),
        concurrency=16,
        about="show what is known about an error",
    ),
    Route(
        stage="preserve",
        consumes=e.CompactionStarted,
        produces=(e.ResponseReady,),
        publishes_during=(e.ReviewRequested,),
        concurrency=16,
        about="list what the summary of a compaction must keep",
    ),
    Route(
        stage="finish_turn",
        consumes=e.TurnEnded,
        produces=(e.ReviewRequested,),
        about="request a review of the turn",
    ),
    Route(
        stage="finish_session",
        consumes=e.SessionEnded,
        produces=(e.ReviewRequested,),
        about="request a review of the end of a session",
    ),
    Route(
        stage="review",
        consumes=e.ReviewRequested,
        publishes_during=(e.CaptureRequested,),
        concurrency=4,
        capacity=256,
        overflow=Overflow.DROP,
        about="read the transcript: keep passages, capture statements, record tasks",
    ),
    Route(
        stage="trace",
        consumes=e.ResponseReady,
        capacity=256,
        overflow=Overflow.DROP,
        about="record how a prompt was processed, for `subcog trace`",
    ),
    Route(
        stage="warm",
        consumes=e.SessionStarted,
        about="load the project's guides before the first prompt",
    ),
    Route(
        stage="use",
        consumes=e.ContextBuilt,
        about="count the use of injected memories",
    ),
    Route(
        stage="use_shown",
        consumes=e.MemoriesShown,
        about="count the use of memories shown at other moments",
    ),
    Route(
        stage="reasons_shown",
        consumes=e.MemoriesShown,
        about="remember why a memory was shown, for `subcog://session`",
    ),
    Route(
        stage="reasons",
        consumes=e.ContextBuilt,
        about="remember why a memory was shown, for `subcog://session`",
    ),
    # a capture
    Route(
        stage="detect",
        consumes=e.CaptureRequested,
        produces=(e.CaptureDetected, e.CaptureSettled),
        about="determine namespace, tags and text",
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
        about="commit a memory, or merge it into an existing one",
    ),
    Route(
        stage="forget",
        consumes=e.ForgetRequested,
        produces=(e.MemoryForgotten, e.ForgetSettled),
        about="delete a memory permanently",
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
        about="make a superseded or expired memory valid again",
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
        about="commit imported memories in bulk",
    ),
    # what follows a commit
    Route(stage="settle", consumes=e.CaptureSettled, about="answer whoever waits for a capture"),
    Route(stage="index", consumes=e.MemoriesStored, about="add memories to the search index"),
    Route(stage="unindex", consumes=e.MemoryForgotten, about="remove it from the search index"),
    Route(stage="topics", consumes=e.MemoriesStored, about="add memories to the topic index"),
    Route(stage="untopic", consumes=e.MemoryForgotten, about="remove it from the topic index"),
    Route(stage="guides", consumes=e.MemoriesStored, about="add memories to the guide index"),
    Route(stage="unguide", consumes=e.MemoryForgotten, about="remove it from the guide index"),
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
        about="wake the sending of shared memories to the team",
    ),
    Route(
        stage="push_gone",
        consumes=e.MemoryForgotten,
        overflow=Overflow.DROP,
        about="wake the sending of a deletion to the team",
    ),
    # a query
    Route(
        stage="answer",
        consumes=e.QueryRequested,
        produces=(e.QueryAnswered,),
        concurrency=16,
        about="answer a search",
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
