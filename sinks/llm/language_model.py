"""The language model as a racer: asked within a deadline, cached, and behind a circuit breaker.

The hook's time is the one thing that is never spent twice: a question that cannot be answered in
time goes on behind the hook's back, where failures are also retried, and what comes late is handed
over. Each question is told once, as ``asked``, with the way it ended.
"""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

import anyio
from anyio.abc import TaskGroup
from cachetools import LRUCache
from msgspec import Struct
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from ...bus.prompts import DetectionSource, SearchIntent, Vote
from ...bus.signals import asked, emit
from .circuit_breaker import CircuitBreaker, State
from .worker_process import Answer, Ask, ModelProcess, Trouble, WorkerGone

MAX_TOKENS = 120
# Beyond so many at once a question is not asked: it would only make the others late.
MAX_CALLS = 16
MAX_CACHED = 512
# Behind the hook's back a failure of the moment is tried so often.
ATTEMPTS = 2
# So many answers in a row that came too late, and the hook no longer waits for the next.
SLOW_ANSWERS = 5
WINDOW = 100
MIN_WINDOW = 20
MAX_TIMEOUT_RATE = 0.1
_log = logging.getLogger(__name__)

Late = Callable[[Vote], Awaitable[bool]]


class PromptSpec(Struct, frozen=True, kw_only=True):
    """What is asked, and how an answer is read; ``read`` raises ``ValueError`` for what is none.

    ``clean`` takes out of a text what must not leave the machine.
    """

    system: str
    question: Callable[[str], str]
    read: Callable[[str], SearchIntent | None]
    clean: Callable[[str], str]


class _NoAnswer(ConnectionError):
    """An attempt failed; ``transient`` where the next may not."""

    def __init__(self, outcome: str, *, transient: bool = False, pause_s: float = 0.0) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.transient = transient
        self.pause_s = pause_s


class _Call:
    """One question. ``vote`` is what the hook gets; once it has ``left``, what comes is late."""

    def __init__(self, text: str, key: bytes, within_s: float, late: Late | None) -> None:
        self.text = text
        self.key = key
        self.within_s = within_s
        self.late = late
        self.started = anyio.current_time()
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.vote: Vote | None = None
        self.left = False
        self.sent = False

    @property
    def took_s(self) -> float:
        return anyio.current_time() - self.started

    def cast(self, intent: SearchIntent | None, missing: str = "") -> Vote:
        return Vote(
            racer=DetectionSource.LLM,
            intent=intent,
            took_ms=self.took_s * 1000,
            missing=missing,
        )

    def let_go(self, missing: str) -> Vote:
        """The hook need not wait any longer: there is no answer for it."""
        self.vote = self.vote or self.cast(None, missing)
        self.left = True
        self.done.set()
        return self.vote


class LanguageModel:
    """Fulfils the ``Model`` port. ``async with model.running():`` around all use.

    ``late_s`` is how long a question may go on after its deadline. ``problem`` says why nothing can
    be asked at all, and is empty if something can.
    """

    def __init__(
        self,
        worker: ModelProcess,
        brief: PromptSpec,
        *,
        late_s: float,
        breaker: CircuitBreaker,
        problem: str = "",
    ) -> None:
        self._worker = worker
        self._brief = brief
        self._late_s = late_s
        self._breaker = breaker
        self.problem = problem
        self._numbers = count(1)
        self._cache: LRUCache[bytes, SearchIntent | None] = LRUCache(MAX_CACHED)
        self._answers_s: deque[float] = deque(maxlen=SLOW_ANSWERS)
        self._missed: deque[bool] = deque(maxlen=WINDOW)
        self._warned = False
        self._calls = 0
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hold what is being asked; at the end all of it is cancelled and the worker leaves."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                tasks.cancel_scope.cancel()

    @property
    def breaker(self) -> State:
        return self._breaker.state

    def status(self) -> dict[str, object]:
        """What ``subcog status`` shows."""
        return {
            "breaker": self._breaker.state.name.lower(),
            "worker": self._worker.state,
            "asking": self._calls,
            "cached": len(self._cache),
            "problem": self.problem or None,
        }

    def warm(self) -> None:
        """Start the worker, because it is likely to be needed soon."""
        if self._tasks is not None and not self.problem and self._worker.state == "none":
            self._tasks.start_soon(self._warm, self._tasks)

    async def _warm(self, tasks: TaskGroup) -> None:
        try:
            await self._worker.start(tasks)
        except WorkerGone:
            self._breaker.fail()

    # --- asking ----------------------------------------------------------------------------------

    async def ask(self, text: str, *, within_s: float, late: Late | None = None) -> Vote:
        """The vote on ``text``, at most ``within_s`` from now; see the port."""
        text = self._brief.clean(text)
        late = late if self._late_s else None
        call = _Call(text, self._key(text), max(0.0, within_s), late)
        if call.key in self._cache:
            return call.cast(self._cache[call.key])
        if self.problem or self._tasks is None:
            return call.cast(None, "not_installed" if self.problem else "stopped")
        if self._calls >= MAX_CALLS:
            return call.cast(None, "busy")
        if not self._breaker.admit():
            emit(asked, "model", outcome="breaker_open", took_s=0.0)
            return call.cast(None, "breaker_open")
        return await self._wait_for(call, self._tasks)

    async def _wait_for(self, call: _Call, tasks: TaskGroup) -> Vote:
        starting = self._worker.state != "ready"
        self._calls += 1
        tasks.start_soon(self._pursue, call, tasks)
        try:
            with anyio.move_on_after(self._patience_s(call.within_s)):
                await call.done.wait()
        except anyio.get_cancelled_exc_class():
            call.scope.cancel()
            raise
        if call.vote is not None:
            return call.vote
        return call.let_go("starting" if starting else "timeout")

    def _patience_s(self, within_s: float) -> float:
        """Nothing while an answer in time cannot be expected, so that slow costs the hook nothing.

        What comes late is measured too, so a model that becomes faster is waited for again.
        """
        slow = len(self._answers_s) == SLOW_ANSWERS and min(self._answers_s) > within_s
        return 0.0 if slow or self._worker.state != "ready" else within_s

    async def _pursue(self, call: _Call, tasks: TaskGroup) -> None:
        """Ask, whether anybody still waits or not, and tell how it ended."""
        failure = ""
        try:
            with call.scope:
                await self._worker.start(tasks)
                late_s = self._late_s if call.late is not None else 0.0
                call.scope.deadline = anyio.current_time() + call.within_s + late_s
                intent = await self._answer(call)
        except WorkerGone:
            self._breaker.fail()
            failure = "error"
        except _NoAnswer as error:
            failure = error.outcome
        finally:
            self._calls -= 1
        if call.scope.cancelled_caught:
            failure = self._cut_off(call)
        if failure:
            self._end(call, failure)
            call.let_go(failure)
        else:
            await self._settle(call, intent)

    async def _settle(self, call: _Call, intent: SearchIntent | None) -> None:
        self._cache[call.key] = intent
        vote = call.cast(intent)
        if not call.left:
            call.vote = vote
            call.done.set()
            self._end(call, "won")
        elif call.late is None or not await call.late(vote):
            self._end(call, "late_unused")
        else:
            self._note(missed=True)

    def _cut_off(self, call: _Call) -> str:
        """The way a question ended that was stopped: by its time, or by who asked it."""
        if anyio.current_time() < call.scope.deadline:
            self._breaker.give_up()
            return "cancelled"
        if call.sent:
            self._breaker.fail()
        else:
            self._breaker.give_up()
        return "timeout"

    def _end(self, call: _Call, outcome: str) -> None:
        emit(asked, "model", outcome=outcome, took_s=call.took_s)
        if outcome != "cancelled":
            self._note(missed=outcome in {"timeout", "late_unused"})

    async def complete(self, system: str, user: str, *, max_tokens: int, within_s: float) -> str:
        """What the model writes, for somebody who is in no hurry; "" where it writes nothing.

        Prompts come first: nothing is asked while the breaker is not closed, and how it ends is
        not counted for it.
        """
        if self.problem or self._tasks is None or self._breaker.state is not State.CLOSED:
            return ""
        ask = Ask(
            id=next(self._numbers),
            system=system,
            user=user,
            max_tokens=max_tokens,
            timeout_s=within_s,
        )
        try:
            with anyio.move_on_after(within_s):
                await self._worker.start(self._tasks)
                said = await self._worker.call(ask)
                return said.text if isinstance(said, Answer) else ""
        except WorkerGone:
            _log.warning("the language model worker has exited")
        return ""

    # --- attempts --------------------------------------------------------------------------------

    async def _answer(self, call: _Call) -> SearchIntent | None:
        """The first answer of as many attempts as are worth it; only the first is waited for."""
        retrying = AsyncRetrying(
            sleep=anyio.sleep,
            stop=stop_after_attempt(ATTEMPTS if call.late is not None else 1),
            wait=wait_random_exponential(multiplier=0.25, max=1.0),
            retry=retry_if_exception(self._worth_another),
            before_sleep=lambda state: _leave_behind(call),
            reraise=True,
        )
        return await retrying(self._attempt, call)

    def _worth_another(self, error: BaseException) -> bool:
        closed = self._breaker.state is State.CLOSED
        return isinstance(error, _NoAnswer) and error.transient and closed

    async def _attempt(self, call: _Call) -> SearchIntent | None:
        started = anyio.current_time()
        try:
            call.sent = True
            intent = self._read(await self._worker.call(self._question(call)))
        except _NoAnswer as error:
            self._breaker.fail(pause_s=error.pause_s)
            raise
        self._breaker.succeed()
        self._answers_s.append(anyio.current_time() - started)
        return intent

    def _question(self, call: _Call) -> Ask:
        return Ask(
            id=next(self._numbers),
            system=self._brief.system,
            user=self._brief.question(call.text),
            max_tokens=MAX_TOKENS,
            timeout_s=max(0.001, call.scope.deadline - anyio.current_time()),
        )

    def _read(self, said: Answer | Trouble) -> SearchIntent | None:
        """The intent in an answer, or None. Raises ``_NoAnswer``."""
        if isinstance(said, Trouble):
            outcome = said.kind if said.kind in {"timeout", "malformed"} else "error"
            transient = said.kind == "connection" or said.status >= 500
            raise _NoAnswer(outcome, transient=transient, pause_s=said.retry_after_s)
        try:
            return self._brief.read(said.text)
        except ValueError:
            raise _NoAnswer("malformed") from None

    # --- remembering -----------------------------------------------------------------------------

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]

    def _note(self, *, missed: bool) -> None:
        """Warn once when more than a tenth of the answers come too late for the hook."""
        self._missed.append(missed)
        if len(self._missed) < MIN_WINDOW:
            return
        rate = sum(self._missed) / len(self._missed)
        if rate > MAX_TIMEOUT_RATE and not self._warned:
            extra = {"percent": round(100 * rate), "of": len(self._missed)}
            _log.warning("the language model often misses its deadline", extra=extra)
        self._warned = rate > MAX_TIMEOUT_RATE


def _leave_behind(call: _Call) -> None:
    call.let_go("error")
