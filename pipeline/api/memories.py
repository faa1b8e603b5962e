"""The calls about known memories: read, list, change, explain and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from msgspec import UNSET
from msgspec.structs import replace

from ...bus.events import (
    CaptureRequested,
    ChangeSettled,
    Event,
    ExpireRequested,
    ForgetRequested,
    ForgetSettled,
    RestoreRequested,
    SupersedeRequested,
)
from ...bus.results import (
    CaptureResult,
    ForgetResult,
    HistoryResult,
    LeftCopy,
    ListResult,
    MemoryResult,
    SaidAround,
    StalePage,
    WhyResult,
)
from ...bus.values import UNASKED, Memory, Place, Provenance, Scope
from ...config.ids import full_id
from ...stages.text.envelope import author_name
from ..app.app import App
from ..entrance.set_aside import capture_durably
from . import results as answers
from .params import (
    CallRefused,
    ExpireParams,
    ForgetParams,
    IdParams,
    ListParams,
    RestoreParams,
    StaleParams,
    SupersedeParams,
    Table,
    UpdateParams,
    find_memory,
    find_session,
    not_found,
)
from .transfer import copy_answer, look_for_copies
from .undo import Journal, What
from .uses import uses_of

if TYPE_CHECKING:
    from ...sinks.repair.kept_copies import Cleaned, Copy
    from ...sinks.store.reads import Filter

STALE_PAGE = 100
# So long one page of them is compared with the code; it is asked for page by page.
STALE_S = 5.0
CHANGE_S = 10.0
FORGET_S = 10.0
_SAME_WORDS = "Nothing is superseded: these are its words, up to case and white space."


class MemoryCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App, journal: Journal) -> None:
        self._app = app
        self._journal = journal
        self.table: Table = {
            "get": (IdParams, self.get),
            "list": (ListParams, self.list),
            "update": (UpdateParams, self.update),
            "supersede": (SupersedeParams, self.supersede),
            "expire": (ExpireParams, self.expire),
            "restore": (RestoreParams, self.restore),
            "history": (IdParams, self.history),
            "why": (IdParams, self.why),
            "stale": (StaleParams, self.stale),
            "forget": (ForgetParams, self.forget),
        }

    # --- read ------------------------------------------------------------------------------------

    async def get(self, params: IdParams, place: Place) -> MemoryResult:
        archive = await self._app.archive.get()
        memory = await find_memory(archive, params.id, place)
        return answers.memory_answer(memory, await archive.search.newer(memory))

    async def list(self, params: ListParams, place: Place) -> ListResult:
        """A page of the memories that hold, newest first."""
        store = (await self._app.archive.get()).store
        scopes = [s for s in place.readable if params.scope in {None, s.kind}]
        if not scopes:
            return ListResult(memories=(), total=0, next=None)
        authors = None
        if params.author is not None:
            asked = author_name(params.author).casefold()
            authors = [a for a in await store.authors(scopes) if author_name(a).casefold() == asked]
        if (session := params.session) is not None:
            session = find_session(session, await store.sessions(scopes)) or session
        wanted = _filter(params, authors, session)
        after = await self._behind(params.after, place) if params.after else ""
        # One more than asked for tells whether this is the last page.
        found = await store.list(scopes, wanted, limit=params.limit + 1, after=after)
        memories = found.memories[: params.limit]
        return ListResult(
            memories=tuple(
                answers.listed_answer(memory, found.times_shown[memory.id]) for memory in memories
            ),
            total=found.total,
            next=memories[-1].id if len(found.memories) > params.limit else None,
        )

    async def stale(self, params: StaleParams, place: Place) -> StalePage:
        """Of one page of the project's memories by id, those whose code changed or is gone."""
        store, scopes = (await self._app.archive.get()).store, [place.project]
        page = await store.get(params.ids, scopes)
        if not params.ids:
            page = await store.page(scopes, after=params.after, limit=STALE_PAGE)
        now = self._app.clock()
        held = [m for m in page if m.anchors and answers.hidden_because(m, now) is None]
        states = await self._app.code.check(held, place, patience_s=STALE_S)
        found = [m for m in held if states[m.id].state in {"changed", "gone"}]
        return StalePage(
            memories=tuple(answers.stale_answer(memory, states[memory.id]) for memory in found),
            looked_at=len(page),
            compared=len(held),
            unknown=sum(states[memory.id].state is None for memory in held),
            next=page[-1].id if page and not params.ids else None,
        )

    # --- change ----------------------------------------------------------------------------------

    async def update(self, params: UpdateParams, place: Place) -> CaptureResult:
        given = (params.text, params.namespace, params.tags, params.questions, params.triggers)
        if all(one is None for one in given):
            raise CallRefused(
                "nothing to update: give a text, a namespace, tags, questions or triggers"
            )
        old = await self._memory(params.id, place)
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=old.id,
            text=old.content if params.text is None else params.text,
            scope=old.scope,
            namespace=params.namespace or old.namespace,
            tags=old.tags if params.tags is None else params.tags,
            questions=params.questions,
            triggers=params.triggers,
            confidence_percent=old.confidence_percent,
            provenance=Provenance(hook=params.hook, branch=place.branch or ""),
            revises=old.id,
            made_from=params.version,
            root=place.root,
        )
        read = old.version if params.version is None else params.version
        return self._updated(await self._capture(request, made_from=read), old)

    def _updated(self, answer: CaptureResult, old: Memory) -> CaptureResult:
        """``answer``; what it says to have changed of ``old`` can be taken back."""
        if answer.version is not UNSET and answer.version != old.version:
            self._journal.note("update", old, after=answer.version)
        return answer

    async def supersede(
        self, params: SupersedeParams, place: Place
    ) -> MemoryResult | CaptureResult:
        if (params.new is None) == (params.text is None):
            raise CallRefused("name either the new memory or its text")
        old = await self._memory(params.old, place)
        if params.new is not None:
            event = SupersedeRequested(
                trace=self._app.new_id(),
                old=old.id,
                new=await self._id(params.new, place),
                scopes=place.readable,
            )
            return await self._changed("supersede", old, event, place)
        if old.superseded_by is not None:
            raise CallRefused(f"{old.id} is superseded already, by {old.superseded_by}")
        request = CaptureRequested(
            trace=self._app.new_id(),
            id=f"mem_{self._app.new_id()}",
            text=params.text or "",
            scope=old.scope,
            namespace=old.namespace,
            tags=old.tags,
            questions=params.questions,
            triggers=params.triggers,
            provenance=Provenance(hook=params.hook, branch=place.branch or ""),
            supersedes=old.id,
            root=place.root,
        )
        answer = await self._capture(request)
        if answer.id == old.id:
            reason = f"{_SAME_WORDS} {answer.reason}".rstrip()
            return self._updated(replace(answer, reason=reason), old)
        if answer.outcome in {"stored", "merged"}:
            made = (answer.id or "") if answer.outcome == "stored" else ""
            store = (await self._app.archive.get()).store
            now = next(iter(await store.get([old.id], [old.scope])), None)
            self._journal.note("supersede", old, after=now.version if now else None, made=made)
        return replace(answer, supersedes=old.id)

    async def expire(self, params: ExpireParams, place: Place) -> MemoryResult:
        old = await self._memory(params.id, place)
        event = ExpireRequested(
            trace=self._app.new_id(), id=old.id, scopes=place.readable, at=params.at
        )
        return await self._changed("expire", old, event, place)

    async def restore(self, params: RestoreParams, place: Place) -> MemoryResult:
        old = await self._memory(params.id, place)
        event = RestoreRequested(
            trace=self._app.new_id(), id=old.id, scopes=place.readable, version=params.version
        )
        return await self._changed("restore", old, event, place)

    async def _changed(self, what: What, old: Memory, event: Event, place: Place) -> MemoryResult:
        memory = await self._change(event, place)
        self._journal.note(what, old, after=memory.version)
        return answers.memory_answer(memory)

    async def _capture(
        self, request: CaptureRequested, *, made_from: int | None = None
    ) -> CaptureResult:
        settled = await capture_durably(self._app, request, within_s=CHANGE_S, made_from=made_from)
        answer = answers.capture_answer(settled)
        return replace(answer, version=settled.memory.version) if settled.memory else answer

    async def _change(self, event: Event, place: Place) -> Memory:
        settled = await self._app.bus.request(event, ChangeSettled, within_s=CHANGE_S)
        if settled.missing is not None:
            raise not_found(settled.missing, place)
        if settled.memory is None:
            raise CallRefused(settled.reason)
        return settled.memory

    # --- explain ---------------------------------------------------------------------------------

    async def history(self, params: IdParams, place: Place) -> HistoryResult:
        return answers.history_answer(await self._versions(params.id, place))

    async def why(self, params: IdParams, place: Place) -> WhyResult:
        versions = await self._versions(params.id, place)
        archive = await self._app.archive.get()
        usage = await archive.store.usage([versions[-1].id])
        [use] = await uses_of(self._app, [versions[-1].id])
        return answers.why_answer(
            versions,
            usage.get(versions[-1].id),
            use,
            await self._said_in(versions[0], place),
            now=self._app.clock(),
        )

    async def _said_in(self, first: Memory, place: Place) -> SaidAround | None:
        """Where in its session a memory was said, if that is kept and can be read now."""
        passages, session = self._app.passages.loaded, first.provenance.session
        if passages is None or not session:
            return None
        if sources := await passages.get(first.provenance.said.split(), place.own):
            return answers.said_around(sources[0], sources[0].text)
        said = [one for scope in place.own for one in await passages.saying(scope, first.content)]
        return next(
            (answers.said_around(one, first.content) for one in said if one.session == session),
            None,
        )

    async def _versions(self, memory_id: str, place: Place) -> tuple[Memory, ...]:
        archive = await self._app.archive.get()
        wanted = await find_memory(archive, memory_id, place)
        versions = await archive.store.history(wanted.id, place.readable)
        if not versions:
            raise not_found(memory_id, place)
        return versions

    async def _id(self, given: str, place: Place) -> str:
        return (await self._memory(given, place)).id

    async def _behind(self, given: str, place: Place) -> str:
        """The id of the memory behind which a page begins; it may be forgotten since.

        Raises ``CallRefused`` where it was never there.
        """
        whole, store = full_id(given), (await self._app.archive.get()).store
        if (await store.scopes_of([whole])).get(whole) in place.readable:
            return whole
        return await self._id(given, place)

    async def _memory(self, memory_id: str, place: Place) -> Memory:
        return await find_memory(await self._app.archive.get(), memory_id, place)

    # --- delete ----------------------------------------------------------------------------------

    async def _compact(self, memory_id: str) -> None:
        try:
            await (await self._app.archive.get()).compact()
        except OSError as error:
            raise CallRefused(
                f"{memory_id} is forgotten and no longer found, but its text is still in the file "
                f"of the database: {error} The daemon compacts it as soon as it can."
            ) from None

    async def forget(self, params: ForgetParams, place: Place) -> ForgetResult:
        """Delete a memory; ``copies`` are the files that may still hold it.

        What was deleted is told as deleted, whatever becomes of the copies.
        """
        memory_id = await self._id(params.id, place)
        archive = await self._app.archive.get()
        history = await archive.store.history(memory_id, place.readable)
        if history:
            await self._require_right(history[0])
        event = ForgetRequested(trace=self._app.new_id(), id=memory_id, scopes=place.readable)
        settled = await self._app.bus.request(event, ForgetSettled, within_s=FORGET_S)
        if not settled.found or not history:
            raise not_found(params.id, place)
        is_final = params.now or params.everywhere
        self._journal.note("forget", history[-1], command=params.command, is_final=is_final)
        if is_final:
            await self._compact(memory_id)
        since = min(memory.created_at for memory in history)
        copies, unread = await look_for_copies(self._app)
        holding = [copy for copy in copies if copy.may_hold(since)]
        team = await self._team_of(history[0].scope)
        author = author_name(history[0].provenance.author) if team else ""
        answer = ForgetResult(
            id=memory_id,
            forgotten=True,
            team=team,
            author=author or UNSET,
            copies=tuple(map(copy_answer, holding)),
            unread=unread or UNSET,
        )
        if not params.everywhere:
            return answer
        cleaned = await self._clean(copies, history, place.readable)
        gone = {*cleaned.cleaned, *cleaned.removed}
        return replace(
            answer,
            cleaned=tuple(map(str, cleaned.cleaned)),
            removed=tuple(map(str, cleaned.removed)),
            left=tuple(LeftCopy(file=str(file), why=why) for file, why in cleaned.left),
            copies=tuple(copy_answer(copy) for copy in holding if copy.file not in gone),
        )

    async def _require_right(self, first: Memory) -> None:
        """``first`` is the oldest version. Raises CallRefused where only another member may."""
        author = author_name(first.provenance.author)
        if not author or not await self._team_of(first.scope):
            return
        membership = await (await self._app.team.replica()).membership()
        if membership is not None and membership.authors_alone:
            raise CallRefused(
                f"{first.id} is by {author}, and the team lets only who wrote a memory forget it: "
                "ask them, or `subcog supersede` or `subcog expire` it."
            )

    async def _team_of(self, scope: Scope) -> str | None:
        """The team that hears of it when a memory of ``scope`` is forgotten."""
        replica = await self._app.team.replica()
        membership = await replica.membership()
        if membership is None:
            return None
        sends = {sharing.scope for sharing in await replica.shared() if sharing.sends}
        return membership.team if scope in sends else None

    async def _clean(
        self, copies: Sequence[Copy], forgotten: Sequence[Memory], scopes: Sequence[Scope]
    ) -> Cleaned:
        from ...sinks.repair.kept_copies import clean_copies

        archive = await self._app.archive.get()
        scope = [forgotten[0].scope]
        work = partial(
            clean_copies,
            copies,
            forgotten,
            scopes,
            self._app.clock(),
            is_kept=lambda id_: bool(archive.store.get_now([id_], scope)),
        )
        return await anyio.to_thread.run_sync(work)


def _filter(params: ListParams, authors: Sequence[str] | None, session: str | None) -> Filter:
    from ...sinks.store.reads import Filter

    is_automatic = True if params.unreviewed else params.automatic
    return Filter(
        ids=params.ids,
        namespace=params.namespace,
        tag=params.tag,
        authors=authors,
        session=session,
        hooks=() if is_automatic is None else UNASKED,
        unhooked=is_automatic is False,
        voted=not params.unreviewed,
        unused=params.unused,
        contradicting=params.contradicting,
        without_questions=params.without_questions,
        since=params.since,
        until=params.until,
    )
