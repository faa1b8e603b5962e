"""What the command line and other clients may ask of the daemon: one struct in, one object out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from ...bus.events import (
    CaptureRequested,
    PromptEnriched,
    PromptSubmitted,
    QueryAnswered,
    QueryRequested,
    ResponseReady,
)
from ...bus.prompt_results import ClassifyResult, ExplainResult
from ...bus.prompts import ProjectFacts
from ...bus.results import CaptureResult, ProjectResult, RecallResult, TopicResult, TopicsResult
from ...bus.service_results import SqlResult, SqlViewsResult, StatusResult
from ...bus.values import Place, Provenance, Query
from ...sinks.project.identity import Standing
from ...stages.language.search_intent import ends
from ...stages.parse import parse
from ..app.app import App
from ..app.questions import Questions
from ..entrance.handler import HookHandler
from ..entrance.set_aside import capture_durably
from . import results as answers
from .memories import MemoryCalls
from .params import (
    FAILURES,
    CallRefused,
    CaptureParams,
    NoParams,
    QuotingRefusal,
    RecallParams,
    SqlParams,
    Table,
    TextParams,
    TopicParams,
    reason_of,
    scope_of,
)
from .sessions import SessionCalls
from .team import TeamCalls
from .transfer import TransferCalls
from .undo import Journal, UndoCalls
from .uses import UseCalls, uses_of

CAPTURE_S = 10.0
_MAX_REFUSAL_CHARS = 2000
QUERY_S = 10.0
# So many memories are looked through for the words of a topic that is not in the index.
_MOST_HOLDING = 100
# Less would be shown as 0.00. What answers in other words often has no more than .02.
LEAST_RECALLED = 0.005
Fields = dict[str, str]


class Calls:
    """Answers calls. ``handle`` is the one entrance."""

    def __init__(
        self, app: App, entrance: HookHandler, status: Callable[[], Awaitable[StatusResult]]
    ) -> None:
        self._app = app
        self._entrance = entrance
        self._status = status
        self._questions = Questions(app.archive, app.settings.store.memory_limit_mb)
        journal = Journal(app.clock)
        self._table: Table = {
            "capture": (CaptureParams, self.capture),
            "recall": (RecallParams, self.recall),
            "topics": (TopicParams, self.topics),
            "classify": (TextParams, self.classify),
            "explain": (TextParams, self.explain),
            "status": (NoParams, self.status),
            "sql": (SqlParams, self.sql),
            "sql_views": (NoParams, self.sql_views),
            **MemoryCalls(app, journal).table,
            **SessionCalls(app, entrance.places).table,
            **TransferCalls(app).table,
            **TeamCalls(app).table,
            **UseCalls(app, journal).table,
            **UndoCalls(app, journal).table,
            "project": (NoParams, self.project),
            "project-alias": (NoParams, self.project_alias),
            "project-split": (NoParams, self.project_split),
        }

    async def handle(self, name: str, fields: Fields, body: bytes) -> tuple[bool, bytes]:
        """Whether the call succeeded, and its answer or ``{"error": …}`` as JSON.

        An error that quotes memories says so in ``quotes``.
        """
        if name not in self._table:
            return False, _refusal(f"unknown call {name}; known: {', '.join(self._table)}")
        kind, method = self._table[name]
        try:
            params = msgspec.json.decode(body or b"{}", type=kind)
            answer = await method(params, await self._entrance.places.find(fields))
        except (UnicodeDecodeError, RecursionError) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else "not UTF-8"
            return False, _refusal(f"the parameters of {name} are {why}")
        except msgspec.DecodeError as error:
            return False, _refusal(str(error))
        except FAILURES as error:
            more = {"quotes": "memories"} if isinstance(error, QuotingRefusal) else {}
            return False, _refusal(reason_of(error), **more)
        return True, msgspec.json.encode(answer)

    # --- keeping ---------------------------------------------------------------------------------

    async def capture(self, params: CaptureParams, place: Place) -> CaptureResult:
        if not params.text.strip():
            raise CallRefused("there is no text to capture")
        if not 0.0 <= params.confidence <= 1.0:
            raise CallRefused(f"confidence = {params.confidence}; allowed: 0.0 to 1.0")
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=f"mem_{self._app.new_id()}",
            text=params.text,
            scope=scope_of(params.scope, place),
            namespace=params.namespace,
            tags=params.tags,
            questions=params.questions,
            triggers=params.triggers,
            confidence_percent=round(params.confidence * 100),
            # Over MCP the agent writes, and not the user.
            own_words=params.hook == "cli",
            own_namespace=params.hook == "cli" and params.namespace is not None,
            provenance=Provenance(hook=params.hook, branch=place.branch or ""),
            root=place.root,
        )
        settled = await capture_durably(self._app, request, within_s=CAPTURE_S)
        return answers.capture_answer(settled)

    # --- finding ---------------------------------------------------------------------------------

    async def recall(self, params: RecallParams, place: Place) -> RecallResult:
        if not 1 <= params.limit <= 1000:
            raise CallRefused(f"limit = {params.limit}; allowed: 1 to 1000")
        query = Query(
            text=params.query,
            scopes=place.readable,
            limit=params.limit,
            mode=params.mode,
            namespaces=(params.namespace,) if params.namespace else (),
            since=params.since,
            until=params.until,
            asked=params.query if params.mode == "hybrid" else "",
            min_relevance=LEAST_RECALLED if params.mode == "hybrid" else 0.0,
            thorough=params.thorough,
        )
        event = QueryRequested(trace=self._app.new_id(), query=query)
        answered = await self._app.bus.request(event, QueryAnswered, within_s=QUERY_S)
        archive = await self._app.archive.get()
        topics = archive.topics.search(query.text, query.scopes)
        memories = (hit.memory for hit in answered.recalled.hits)
        code = await self._app.code.check(memories, place)
        buried = self._app.learned.is_buried
        return answers.recall_answer(answered.query, answered.recalled, topics, buried, code)

    async def topics(self, params: TopicParams, place: Place) -> TopicsResult | TopicResult:
        archive = await self._app.archive.get()
        if params.topic is None:
            topics, scopes = archive.topics, place.readable
            return answers.topics_answer(
                topics.list(scopes, limit=params.limit), topics.count(scopes), topics.last_indexed
            )
        ids = archive.topics.lookup(params.topic, place.readable)
        ids = ids or await self._ids_holding(params.topic, place)
        memories = await archive.store.get(ids[: params.limit], place.readable)
        related = archive.topics.related(params.topic, place.readable)
        return answers.topic_answer(params.topic, memories, related, len(ids))

    async def _ids_holding(self, topic: str, place: Place) -> tuple[str, ...]:
        """The memories that hold every word of ``topic``, which the index of topics has not."""
        query = Query(text=topic, scopes=place.readable, limit=_MOST_HOLDING, mode="text")
        words = topic.casefold().replace("-", " ").split()
        hits = (await self._app.archive.recall(query)).hits if words else ()
        return tuple(
            hit.memory.id
            for hit in hits
            if all(word in hit.memory.content.casefold() for word in words)
        )

    async def sql(self, params: SqlParams, place: Place) -> SqlResult:
        if not 1 <= params.limit <= 1000:
            raise CallRefused(f"limit = {params.limit}; allowed: 1 to 1000")
        scopes = None if params.everywhere else place.readable
        try:
            return await self._questions.ask(
                params.query, params.text, scopes=scopes, limit=params.limit
            )
        except ValueError as error:
            raise CallRefused(str(error)) from None

    async def sql_views(self, params: NoParams, place: Place) -> SqlViewsResult:
        return await self._questions.views()

    # --- understanding ---------------------------------------------------------------------------

    async def classify(self, params: TextParams, place: Place) -> ClassifyResult:
        prompt = self._prompt(params.text, place)
        parsed = parse(prompt)
        event = await self._app.handlers.classify(
            PromptEnriched(
                trace=prompt.trace, prompt=prompt, parsed=parsed.parsed, project=ProjectFacts()
            )
        )
        return answers.classify_answer(params.text, event)

    async def explain(self, params: TextParams, place: Place) -> ExplainResult:
        prompt = self._prompt(params.text, place)
        await self._app.handlers.refresh_instructions(place, prompt.client)
        ready = await self._app.bus.request(prompt, ResponseReady, within_s=QUERY_S)
        candidates = [verdict.memory_id for verdict in ready.built.verdicts] if ready.built else []
        uses = await uses_of(self._app, candidates, known_only=True) if candidates else ()
        stages = self._app.prompt_log.stages(prompt.trace)
        return answers.explain_answer(ready, stages=stages, uses=uses)

    def _prompt(self, text: str, place: Place) -> PromptSubmitted:
        return PromptSubmitted(
            trace=self._app.new_id(),
            session="",
            client="cli",
            place=place,
            text=text,
            detailed=True,
            rehearsal=True,
        )

    async def status(self, params: NoParams, place: Place) -> StatusResult:
        return await self._status()

    async def project(self, params: NoParams, place: Place) -> ProjectResult:
        """Which project the client's directory is."""
        return _project_result(self._app.projects.standing(place.root))

    async def project_alias(self, params: NoParams, place: Place) -> ProjectResult:
        return self._judge_project(place, is_member=True)

    async def project_split(self, params: NoParams, place: Place) -> ProjectResult:
        return self._judge_project(place, is_member=False)

    def _judge_project(self, place: Place, *, is_member: bool) -> ProjectResult:
        try:
            return _project_result(self._app.projects.judge(place.root, is_member=is_member))
        except ValueError as error:
            raise CallRefused(str(error)) from None


def _refusal(message: str, **more: str) -> bytes:
    """``{"error": …}``; a message that quotes what was sent is cut in its middle."""
    return msgspec.json.encode({"error": ends(message, _MAX_REFUSAL_CHARS)} | more)


def _project_result(standing: Standing) -> ProjectResult:
    claimed = standing.claimed
    return ProjectResult(
        directory=standing.top,
        project=standing.project.id,
        claimed=claimed.id if claimed else "",
    )
