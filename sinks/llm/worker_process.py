"""The daemon's side of the model worker: one child process at most, there when it is needed.

Beside it stands what both sides say to each other: one JSON object a line, either way.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Sequence
from typing import Literal

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, ByteSendStream, Process, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec import Struct

# The longest line that either side takes; an answer is cut far below that. A question about a whole
# session has up to 24,000 characters, each of up to 14 bytes: an emoji, escaped twice.
MAX_LINE = 512 * 1024
MAX_ANSWER_CHARS = 8192

Kind = Literal["timeout", "connection", "status", "malformed", "refused"]


class Configure(Struct, frozen=True, kw_only=True, tag="configure"):
    """The first line: which model, and where, empty for the provider's own address."""

    model: str
    api_base: str


class Ask(Struct, frozen=True, kw_only=True, tag="ask"):
    """One question. ``timeout_s`` is when the worker gives up by itself."""

    id: int
    system: str
    user: str
    max_tokens: int
    timeout_s: float


class Cancel(Struct, frozen=True, kw_only=True, tag="cancel"):
    """Nobody wants the answer to ``id`` any more: close its connection."""

    id: int


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """The worker has loaded what it needs."""


class Answer(Struct, frozen=True, kw_only=True, tag="answer"):
    """What the model wrote, cut at ``MAX_ANSWER_CHARS``."""

    id: int
    text: str


class Trouble(Struct, frozen=True, kw_only=True, tag="trouble"):
    """There is no answer. ``retry_after_s`` is what the provider asked for, 0 for nothing."""

    id: int
    kind: Kind
    status: int = 0
    retry_after_s: float = 0.0


ToWorker = Configure | Ask | Cancel
FromWorker = Ready | Answer | Trouble

_encoder = msgspec.json.Encoder()
_to_worker: msgspec.json.Decoder[ToWorker] = msgspec.json.Decoder(ToWorker)
_from_worker: msgspec.json.Decoder[FromWorker] = msgspec.json.Decoder(FromWorker)
# What the daemon said, and what the worker said. Both raise ``ValueError``.
read_to_worker = _to_worker.decode
read_from_worker = _from_worker.decode


def line_of(message: ToWorker | FromWorker) -> bytes:
    """``message`` as a line."""
    return _encoder.encode(message) + b"\n"


# litellm takes three to six seconds to import, more on a busy machine.
START_S = 60.0
# What a worker gets to leave by itself, when its input has ended, before it is killed.
STOP_S = 1.0
IDLE_S = 900.0
_log = logging.getLogger(__name__)


class WorkerGone(ConnectionError):
    """The worker ended, or could not be started."""

    def __init__(self, message: str = "the language model worker has exited") -> None:
        super().__init__(message)


class _Slot:
    """A question that waits; ``answer`` stays None if the worker ends first."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: Answer | Trouble | None = None


class _Child:
    """One life of the worker."""

    def __init__(self) -> None:
        self.stdin: ByteSendStream | None = None
        self.settled = anyio.Event()
        self.ready = False
        self.waiting: dict[int, _Slot] = {}
        self.used_at = anyio.current_time()

    def hear(self, message: FromWorker) -> None:
        if isinstance(message, Ready):
            self.ready = True
            self.settled.set()
        elif slot := self.waiting.get(message.id):
            slot.answer = message
            slot.done.set()

    async def send(self, message: ToWorker) -> None:
        if self.stdin is None:
            raise WorkerGone
        try:
            await self.stdin.send(line_of(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise WorkerGone from error

    def end(self) -> None:
        """Wake whoever waits: nothing more will come."""
        self.stdin = None
        self.ready = False
        self.settled.set()
        for slot in self.waiting.values():
            slot.done.set()


class ModelProcess:
    """Runs ``command`` when it is needed, and ends it after ``idle_s`` without a question."""

    def __init__(
        self, command: Sequence[str], configure: Configure, *, idle_s: float = IDLE_S
    ) -> None:
        self._command = tuple(command)
        self._configure = configure
        self._idle_s = idle_s
        self._child: _Child | None = None

    @property
    def state(self) -> Literal["none", "starting", "ready"]:
        if self._child is None:
            return "none"
        return "ready" if self._child.ready else "starting"

    async def start(self, tasks: TaskGroup) -> None:
        """Return when the worker is ready; its life goes on in ``tasks``. Raises ``WorkerGone``."""
        if self._child is None:
            self._child = _Child()
            tasks.start_soon(self._live, self._child, name="model worker")
        child = self._child
        with anyio.move_on_after(START_S):
            await child.settled.wait()
        if not child.ready:
            raise WorkerGone("the model worker does not start")

    async def call(self, ask: Ask) -> Answer | Trouble:
        """The worker's answer. Cancelled, it cancels the question there. Raises ``WorkerGone``."""
        child = self._child
        if child is None:
            raise WorkerGone
        slot = child.waiting[ask.id] = _Slot()
        try:
            await child.send(ask)
            await slot.done.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(STOP_S, shield=True):
                await self._cancel(child, ask.id)
            raise
        finally:
            child.used_at = anyio.current_time()
            del child.waiting[ask.id]
        if slot.answer is None:
            raise WorkerGone
        return slot.answer

    async def _cancel(self, child: _Child, number: int) -> None:
        try:
            await child.send(Cancel(id=number))
        except WorkerGone:
            return

    async def _live(self, child: _Child) -> None:
        """One life: from the start to the end of its output, of its usefulness, or of ours."""
        started = anyio.current_time()
        try:
            process = await anyio.open_process(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, cwd="/"
            )
            try:
                await self._converse(child, process, started)
            finally:
                self._let_go(child)
                with anyio.move_on_after(STOP_S, shield=True):
                    await process.aclose()  # kills it, if that takes longer
                _log.info(
                    "the language model worker has exited", extra={"exit_code": process.returncode}
                )
        except OSError as error:
            _log.error(
                "cannot run the language model worker", extra={"error": type(error).__name__}
            )
        finally:
            self._let_go(child)

    def _let_go(self, child: _Child) -> None:
        """Nobody asks it any more: while it leaves, the next question starts another one."""
        child.end()
        if self._child is child:
            self._child = None

    async def _converse(self, child: _Child, process: Process, started: float) -> None:
        if process.stdin is None or process.stdout is None:
            raise OSError("a process without pipes")
        child.stdin = process.stdin
        await child.send(self._configure)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._until_idle, child, tasks.cancel_scope)
            await self._listen(child, process.stdout, started)
            tasks.cancel_scope.cancel()

    async def _listen(self, child: _Child, source: ByteReceiveStream, started: float) -> None:
        lines = BufferedByteReceiveStream(source)
        try:
            while True:
                child.hear(read_from_worker(await lines.receive_until(b"\n", MAX_LINE)))
                if started and child.ready:
                    took_s = round(anyio.current_time() - started, 1)
                    _log.info("the language model worker is ready", extra={"took_s": took_s})
                    started = 0.0
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            return
        except (anyio.DelimiterNotFound, ValueError) as error:
            _log.error(
                "the language model worker sent a malformed message",
                extra={"error": type(error).__name__},
            )

    async def _until_idle(self, child: _Child, scope: anyio.CancelScope) -> None:
        while True:
            left_s = child.used_at + self._idle_s - anyio.current_time()
            if left_s <= 0 and child.ready and not child.waiting:
                scope.cancel()
                return
            await anyio.sleep(max(left_s, self._idle_s / 10))
