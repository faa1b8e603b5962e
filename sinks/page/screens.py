"""The screens: each is a question to the daemon, and a template for its answer."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ...bus.prompt_results import ExplainResult
from ...bus.prompts import Verdict
from ...bus.results import (
    HistoryResult,
    ListResult,
    MemoryResult,
    RecallResult,
    Result,
    StalePage,
    WhyResult,
)
from ...bus.service_results import StatusResult, TeamStatusResult
from ...bus.sessions import (
    FoundSessions,
    SessionResult,
    SessionsResult,
)
from ...bus.values import NAMESPACES
from .activity import Activity, Entry, MomentSeen, PromptSeen, latency_of
from .bodies import text_in
from .listings import (
    WHICH,
    Asked,
    Listing,
    asked_by,
    day_of,
    found_session,
    listed_session,
    listing,
    stale_listing,
)
from .render import render
from .visits import PagePort, Refused, Visit

PER_PAGE = 50
MAX_FOUND = 100
MAX_LISTED = 1000
MAX_SESSIONS = 300
SHOWN_ENTRIES = 50
IN_PARTS = ("memories", "review")
T = TypeVar("T", bound=Result)


class Screen(Struct, frozen=True):
    """One screen: its path, what it is called in the navigation, and its heading."""

    name: str
    title: str
    heading: str


SCREENS = (
    Screen("now", "Now", "What happens now"),
    Screen("memories", "Memories", "Memories"),
    Screen("review", "Review", "Review"),
    Screen("sessions", "Sessions", "Sessions"),
    Screen("try", "Try", "What would be injected"),
    Screen("health", "Health", "Health"),
)
TEAM = Screen("team", "Team", "Team")


class Screens:
    """Answers the GET requests of a visit."""

    def __init__(self, port: PagePort, activity: Activity) -> None:
        self._port = port
        self._activity = activity

    @property
    def routes(self) -> list[Route]:
        """One a screen, and one a thing that can be opened."""
        return [
            Route("/", _first),
            Route("/now", self.now),
            Route("/memories", self.memories),
            Route("/memory/{id}", self.memory),
            Route("/review", self.review),
            Route("/sessions", self.sessions),
            Route("/sessions/{id:path}", self.session),
            Route("/try", self.rehearse, methods=["GET", "POST"]),
            Route("/health", self.health),
            Route("/team", self.team),
        ]

    # --- now -------------------------------------------------------------------------------------

    async def now(self, request: Request) -> Response:
        visit = visit_of(request)
        scopes = frozenset(await self._port.readable(visit.fields))
        entries = self._activity.recent(scopes)[-SHOWN_ENTRIES:][::-1]
        facts = {
            "entries": entries,
            "last": entries[0].number if entries else 0,
            "summaries": await summaries_of(self._port, visit, named_by_id(entries)),
            "clean": self._port.clean,
        }
        return self._answer(request, "now", facts)

    # --- memories --------------------------------------------------------------------------------

    async def memories(self, request: Request) -> Response:
        visit, asked = visit_of(request), asked_by(request)
        if asked.q:
            typing = request.query_params.get("part") == "typing"
            found = await self._found(visit, asked, thorough=not typing)
            told, after = f"{len(found)} found, best first", None
        elif asked.which == "stale":
            found, looked_at, after = await self._stale(visit, asked)
            told = f"{len(found)} of the {looked_at} looked at here"
        else:
            listed = await self._ask(visit, "list", ListResult, limit=PER_PAGE, **asked.params())
            found, after = [listing(memory) for memory in listed.memories], listed.next
            told = f"{listed.total:,} in all, newest first"
        shown = {name: value for name in asked.__struct_fields__ if (value := getattr(asked, name))}
        facts = {
            "asked": asked,
            "memories": found,
            "told": told,
            "empty": "Nothing like that is remembered here.",
            "next": f"?{urlencode(shown | {'after': after})}" if after else None,
            "namespaces": NAMESPACES,
            "whiches": WHICH,
        }
        return self._answer(request, "memories", facts)

    async def _found(self, visit: Visit, asked: Asked, *, thorough: bool) -> list[Listing]:
        """What a search finds, in its order, of what the other filters let through."""
        given: dict[str, object] = {"query": asked.q, "limit": MAX_FOUND, "thorough": thorough}
        filters = asked.params()
        if "namespace" in filters:
            given["namespace"] = filters.pop("namespace")
        found = (await self._ask(visit, "recall", RecallResult, **given)).memories
        held = await self._let_through(visit, [memory.id for memory in found], filters)
        if asked.which == "stale" and held:
            page = await self._ask(visit, "stale", StalePage, ids=[*held])
            held = {memory.id for memory in page.memories}
        return [
            listing(memory, note=f"relevance {memory.score:.2f}")
            for memory in found
            if memory.id in held
        ]

    async def _stale(self, visit: Visit, asked: Asked) -> tuple[list[Listing], int, str | None]:
        page = await self._ask(visit, "stale", StalePage, after=asked.after)
        filters = {name: value for name, value in asked.params().items() if name != "after"}
        held = await self._let_through(visit, [memory.id for memory in page.memories], filters)
        found = [stale_listing(memory) for memory in page.memories if memory.id in held]
        return found, page.looked_at, page.next

    async def _let_through(
        self, visit: Visit, ids: list[str], filters: Mapping[str, object]
    ) -> set[str]:
        """Those of ``ids`` that the ``filters`` of a list let through."""
        if not (ids and filters):
            return {*ids}
        let = await self._ask(visit, "list", ListResult, ids=ids, limit=MAX_FOUND, **filters)
        return {memory.id for memory in let.memories}

    async def memory(self, request: Request) -> Response:
        visit, id_ = visit_of(request), request.path_params["id"]
        memory = await self._ask(visit, "get", MemoryResult, id=id_)
        why = await self._ask(visit, "why", WhyResult, id=memory.id)
        versions = (await self._ask(visit, "history", HistoryResult, id=memory.id)).versions
        facts = {
            "memory": memory,
            "why": why,
            "versions": versions,
            "origin": why.said_by or "not known",
            "namespaces": NAMESPACES,
        }
        return self._answer(request, "memories", facts, template="memory")

    async def review(self, request: Request) -> Response:
        visit, asked = visit_of(request), asked_by(request)
        given = {"after": asked.after} if asked.after else {}
        listed = await self._ask(
            visit, "list", ListResult, unreviewed=True, limit=PER_PAGE, **given
        )
        facts = {"memories": listed.memories, "total": listed.total, "next": listed.next}
        return self._answer(request, "review", facts)

    # --- sessions --------------------------------------------------------------------------------

    async def sessions(self, request: Request) -> Response:
        visit, query = visit_of(request), request.query_params.get("q", "").strip()
        if query:
            hits = await self._ask(visit, "search_sessions", FoundSessions, query=query, limit=50)
            found = [found_session(hit) for hit in hits.sessions]
            days = [("Found, best first", found)] if found else []
        else:
            held = await self._ask(visit, "sessions", SessionsResult, limit=MAX_SESSIONS)
            by_day = itertools.groupby(map(listed_session, held.sessions), day_of)
            days = [(day, [*those]) for day, those in by_day]
        empty = "No session says that." if query else "No session of this project is kept yet."
        return self._answer(request, "sessions", {"query": query, "days": days, "empty": empty})

    async def session(self, request: Request) -> Response:
        visit, id_ = visit_of(request), request.path_params["id"]
        session = await self._ask(visit, "session", SessionResult, id=id_)
        kept = await self._ask(visit, "list", ListResult, session=session.id, limit=MAX_LISTED)
        facts = {"session": session, "kept": kept.memories}
        return self._answer(request, "sessions", facts, template="session")

    # --- the rest --------------------------------------------------------------------------------

    async def rehearse(self, request: Request) -> Response:
        """What would be injected for a prompt; to the script, which posts it, that part alone."""
        visit, is_posted = visit_of(request), request.method == "POST"
        asked = request.query_params.get("q", "")
        query = (await text_in(request, "q", "prompt") if is_posted else asked).strip()
        answer = await self._ask(visit, "explain", ExplainResult, text=query) if query else None
        unfetched = _unfetched(answer.inject.verdicts) if answer else ()
        facts: dict[str, object] = {
            "query": query,
            "answer": answer,
            "intent": (answer.classify.intent_type if answer else None) or "",
            "summaries": await summaries_of(self._port, visit, unfetched),
        }
        return self._answer(request, "try", facts, is_part=is_posted)

    async def health(self, request: Request) -> Response:
        visit = visit_of(request)
        status = await self._ask(visit, "status", StatusResult)
        scopes = frozenset(await self._port.readable(visit.fields))
        prompts = [e for e in self._activity.recent(scopes) if isinstance(e, PromptSeen)]
        problems = [status.problem, status.backup.problem if status.backup else None]
        facts = {
            "status": status,
            "problems": [problem for problem in (*problems, *status.damage) if problem],
            "latency": latency_of(prompts),
            "degraded": Counter(reason for prompt in prompts for reason in prompt.degraded),
        }
        return self._answer(request, "health", facts)

    async def team(self, request: Request) -> Response:
        team = await self._ask(visit_of(request), "team-status", TeamStatusResult)
        if not team.joined:
            raise Refused("no team was joined: `subcog team join URL`")
        return self._answer(request, "team", {"team": team})

    # --- answers ---------------------------------------------------------------------------------

    async def _ask(self, visit: Visit, call: str, kind: type[T], **params: object) -> T:
        return await self._port.ask(visit.fields, call, kind, params)

    def _answer(
        self,
        request: Request,
        name: str,
        facts: dict[str, object],
        *,
        template: str = "",
        is_part: bool = False,
    ) -> Response:
        """The screen ``name``, or the part of it that changes where the script asks for that."""
        template = template or name
        if is_part or ("part" in request.query_params and template in IN_PARTS):
            path = visit_of(request).path
            return HTMLResponse(render(f"{template}_part.html", path=path, **facts))
        return HTMLResponse(self.page(request, name, f"{template}.html", facts))

    def page(self, request: Request, name: str, template: str, facts: dict[str, object]) -> str:
        """A whole page, with what all of them have."""
        visit = visit_of(request)
        screens = (*SCREENS, TEAM) if self._port.has_team() else SCREENS
        return render(
            template,
            path=visit.path,
            project=self._port.project(visit.fields),
            screens=screens,
            screen=next(each for each in (*SCREENS, TEAM) if each.name == name),
            **facts,
        )


async def _first(request: Request) -> Response:
    return RedirectResponse(f"{visit_of(request).path}{SCREENS[0].name}")


def visit_of(request: Request) -> Visit:
    """Whose request it is; the door has put it there."""
    visit: Visit = request.state.visit
    return visit


async def summaries_of(port: PagePort, visit: Visit, ids: Iterable[str]) -> dict[str, str]:
    """The summaries of those of ``ids`` that are there."""
    wanted = list(dict.fromkeys(ids))[:MAX_LISTED]
    if not wanted:
        return {}
    params = {"ids": wanted, "limit": len(wanted)}
    listed = await port.ask(visit.fields, "list", ListResult, params)
    return {memory.id: memory.summary for memory in listed.memories}


def named_by_id(entries: Iterable[Entry]) -> Iterator[str]:
    """The memories that ``entries`` name by their ids alone."""
    for entry in entries:
        if isinstance(entry, MomentSeen):
            yield from (shown.memory_id for shown in entry.shown)
        elif isinstance(entry, PromptSeen):
            yield from _unfetched(entry.verdicts)


def _unfetched(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """What is far from relevant was not fetched."""
    return (one.memory_id for one in verdicts if not one.summary)
