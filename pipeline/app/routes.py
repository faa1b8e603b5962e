"""The map: which stage consumes and produces which event. Docs and ``subcog routes`` use it."""

from __future__ import annotations

from msgspec import Struct

from ...bus import events as e
from ...bus.bus import Overflow


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
        "parse the prompt: markers, entities, search terms",
        produces=(e.PromptParsed,),
    ),
    Route(
        "read_instructions",
        e.PromptSubmitted,
        "read again what the agent's own files of instructions say, where they changed",
        concurrency=4,
        capacity=16,
        overflow=Overflow.DROP,
    ),
    Route(
        "enrich",
        e.PromptParsed,
        "recall candidates and sessions, read the project's facts, store what is marked",
        produces=(e.PromptEnriched,),
        publishes_during=(e.CaptureRequested,),
        concurrency=64,
    ),
    Route(
        "classify",
        e.PromptEnriched,
        "classify the search intent of the prompt",
        produces=(e.IntentClassified,),
        publishes_during=(e.IntentRefined,),
        concurrency=256,
    ),
    Route(
        "inject",
        e.IntentClassified,
        "select what goes to the model, possibly nothing",
        produces=(e.ContextBuilt,),
    ),
    Route(
        "respond", e.ContextBuilt, "format the answer for the agent", produces=(e.ResponseReady,)
    ),
    Route(
        "refine",
        e.IntentRefined,
        "keep a late answer of the language model for the session's next hook",
    ),
    # other moments
    *(
        Route(stage, event, about, produces=(e.ResponseReady, e.MemoriesShown), concurrency=16)
        for stage, event, about in (
            (
                "greet",
                e.SessionStarted,
                "greet a new session with open blockers, tasks and recent decisions",
            ),
            ("warn", e.ActionProposed, "show what warns of an action that is about to be done"),
            ("remind", e.ToolUsed, "show what is known about a file that was changed"),
            ("remedy", e.ToolFailed, "show what is known about an error"),
        )
    ),
    Route(
        "note_begun",
        e.ActionProposed,
        "remember which commands are running",
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route(
        "note_failure",
        e.ToolFailed,
        "remember which command failed, until it passes",
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route(
        "note_mend",
        e.ToolUsed,
        "keep what made a command pass that had failed",
        publishes_during=(e.CaptureRequested,),
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route(
        "preserve",
        e.CompactionStarted,
        "list what the summary of a compaction must keep",
        produces=(e.ResponseReady,),
        publishes_during=(e.ReviewRequested,),
        concurrency=16,
    ),
    *(
        Route(stage, event, f"request a review of the {what}", produces=(e.ReviewRequested,))
        for stage, event, what in (
            ("finish_turn", e.TurnEnded, "turn"),
            ("finish_session", e.SessionEnded, "end of a session"),
        )
    ),
    Route(
        "review",
        e.ReviewRequested,
        "read the transcript: keep passages, capture statements, record tasks",
        produces=(e.SessionReviewed,),
        publishes_during=(e.CaptureRequested, e.ExpireRequested, e.RestoreRequested),
        concurrency=4,
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route(
        "consolidate",
        e.SessionReviewed,
        "have the language model sum up a session, where llm.consolidate allows it",
        publishes_during=(e.CaptureRequested,),
        capacity=16,
        overflow=Overflow.DROP,
    ),
    Route(
        "trace",
        e.ResponseReady,
        "record how a prompt was processed, for `subcog trace`",
        capacity=256,
        overflow=Overflow.DROP,
    ),
    Route("warm", e.SessionStarted, "load the project's guides before the first prompt"),
    Route("use", e.ContextBuilt, "count the use of injected memories"),
    Route("use_shown", e.MemoriesShown, "count the use of memories shown at other moments"),
    Route(
        "reasons_shown", e.MemoriesShown, "remember why a memory was shown, for `subcog://session`"
    ),
    Route("reasons", e.ContextBuilt, "remember why a memory was shown, for `subcog://session`"),
    # what becomes of the memories that were shown; no hook waits for it
    *(
        Route(stage, event, about, concurrency=16, capacity=256, overflow=Overflow.DROP)
        for stage, event, about in (
            ("follow_prompt", e.PromptSubmitted, "note whether a prompt objects to a memory"),
            ("follow_context", e.ContextBuilt, "follow the memories that a prompt was given"),
            ("follow_shown", e.MemoriesShown, "follow the memories shown at other moments"),
            (
                "follow_action",
                e.ActionProposed,
                "note what the agent knows before it is shown more",
            ),
            ("follow_use", e.ToolUsed, "note which memories an action takes up or heeds"),
            ("follow_failure", e.ToolFailed, "note which failures came although a memory warned"),
            ("follow_answer", e.TurnEnded, "note which memories an answer takes up or quotes"),
            ("follow_capture", e.CaptureSettled, "note which memories were captured again"),
        )
    ),
    # a capture
    Route(
        "detect",
        e.CaptureRequested,
        "determine namespace, tags and text",
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
        "commit a memory, or merge it into an existing one",
        produces=(e.MemoriesStored, e.CaptureSettled, e.TextStored),
        concurrency=256,
    ),
    *(
        Route(stage, e.TextStored, about, produces=(e.MemoriesStored,), overflow=Overflow.DROP)
        for stage, about in (
            ("anchor", "note where the code is that a memory names"),
            ("contradict", "note which memory another one contradicts in other words"),
        )
    ),
    Route(
        "forget",
        e.ForgetRequested,
        "delete a memory permanently",
        produces=(e.ForgetSettled,),
        publishes_during=(e.MemoryForgotten,),
    ),
    # the life of a memory
    *(
        Route(
            stage,
            event,
            about,
            produces=(e.ChangeSettled,),
            publishes_during=(e.MemoriesStored,),
        )
        for stage, event, about in (
            ("supersede", e.SupersedeRequested, "mark one memory as replaced by another"),
            ("expire", e.ExpireRequested, "end the validity of a memory"),
            ("restore", e.RestoreRequested, "make a superseded or expired memory valid again"),
        )
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
        "commit imported memories in bulk",
        produces=(e.ImportSettled,),
        publishes_during=(e.MemoriesStored,),
    ),
    # what follows a commit
    Route("settle", e.CaptureSettled, "answer whoever waits for a capture"),
    Route("index", e.MemoriesStored, "add memories to the search index"),
    Route("unindex", e.MemoryForgotten, "remove it from the search index"),
    Route("topics", e.MemoriesStored, "add memories to the topic index"),
    Route("untopic", e.MemoryForgotten, "remove it from the topic index"),
    Route("guides", e.MemoriesStored, "add memories to the guide index"),
    Route("unguide", e.MemoryForgotten, "remove it from the guide index"),
    Route("load_reranker", e.MemoriesStored, "load the reranker when the first memory is stored"),
    Route("announce", e.MemoriesStored, "notify open MCP sessions"),
    Route("announce_gone", e.MemoryForgotten, "notify open MCP sessions"),
    # to the team and to the page, which do without one now and then
    *(
        Route(stage, event, about, overflow=Overflow.DROP)
        for stage, event, about in (
            ("push", e.MemoriesStored, "wake the sending of shared memories to the team"),
            ("push_gone", e.MemoryForgotten, "wake the sending of a deletion to the team"),
            ("record_prompt", e.ResponseReady, "record an answered prompt for the page"),
            (
                "record_shown",
                e.MemoriesShown,
                "record for the page what was shown at another moment",
            ),
            ("record_capture", e.CaptureSettled, "record a settled capture for the page"),
            ("record_forgotten", e.MemoryForgotten, "record a deletion for the page"),
        )
    ),
    # a query
    Route(
        "answer", e.QueryRequested, "answer a search", produces=(e.QueryAnswered,), concurrency=16
    ),
)

# What comes in from outside, and what goes out.
ENTRANCES: tuple[type[e.Event], ...] = (
    e.PromptSubmitted,
    e.SessionStarted,
    e.ActionProposed,
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
