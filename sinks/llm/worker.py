"""The model worker: a child process of the daemon, and the only place that imports litellm.

litellm takes seconds and 170 MB to import and holds up the loop that imports it, so it lives here.
Questions come in as lines on standard input, answers leave as lines on standard output, in any
order; when the input ends, so does the process. Nothing is retried here and nothing is written
anywhere else: what a library prints might quote a prompt.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from .worker_process import (
    MAX_ANSWER_CHARS,
    MAX_LINE,
    Answer,
    Ask,
    Cancel,
    Configure,
    FromWorker,
    Kind,
    Ready,
    Trouble,
    line_of,
    read_to_worker,
)

KEY_VARIABLE = "SUBCOG_LLM_API_KEY"
# A server of one's own mostly wants no key, but the clients of the providers want to send one.
NO_KEY = "none"
MAX_RETRY_AFTER_S = 3600.0
# Never reached, and always the same: for another one litellm makes a client with new connections.
CLIENT_TIMEOUT_S = 600.0


class Worker:
    """Asks one model, through litellm, which ``litellm`` is."""

    def __init__(self, litellm: Any, settings: Configure, out: int) -> None:
        self._litellm = litellm
        self._settings = settings
        self._out = out
        self._key = self._find_key(os.environ)
        self._tasks: dict[int, asyncio.Task[Any]] = {}

    def _find_key(self, env: Mapping[str, str]) -> str | None:
        """Our own variable, else None for the provider's own, else what stands for no key."""
        if key := env.get(KEY_VARIABLE):
            return key
        found = self._litellm.validate_environment(model=self._settings.model)
        return None if found["keys_in_environment"] or not self._settings.api_base else NO_KEY

    async def serve(self, source: asyncio.StreamReader) -> None:
        """Answer until the input ends, then drop what is still being asked."""
        self._say(Ready())
        while line := await source.readline():
            message = read_to_worker(line)
            if isinstance(message, Ask):
                self._start(message)
            elif isinstance(message, Cancel) and (task := self._tasks.get(message.id)):
                task.cancel()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _start(self, ask: Ask) -> None:
        task = self._tasks[ask.id] = asyncio.create_task(self._complete(ask))
        task.add_done_callback(lambda done: self._finish(ask.id, done))

    async def _complete(self, ask: Ask) -> str:
        async with asyncio.timeout(ask.timeout_s):
            reply = await self._litellm.acompletion(
                model=self._settings.model,
                api_base=self._settings.api_base or None,
                api_key=self._key,
                messages=[
                    {"role": "system", "content": ask.system},
                    {"role": "user", "content": ask.user},
                ],
                response_format={"type": "json_object"},
                temperature=0,
                max_tokens=ask.max_tokens,
                timeout=CLIENT_TIMEOUT_S,
                num_retries=0,
                max_retries=0,
            )
        return str(reply.choices[0].message.content or "")

    def _finish(self, number: int, task: asyncio.Task[Any]) -> None:
        # Whatever a library raised is data here: one question has no answer, the next is asked.
        del self._tasks[number]
        if task.cancelled():
            return
        if error := task.exception():
            self._say(trouble_of(number, error))
        else:
            self._say(Answer(id=number, text=task.result()[:MAX_ANSWER_CHARS]))

    def _say(self, message: FromWorker) -> None:
        rest = line_of(message)
        while rest:
            rest = rest[os.write(self._out, rest) :]


def trouble_of(number: int, error: BaseException) -> Trouble:
    """What an exception of litellm means; nothing of its text, which may quote the prompt."""
    headers = getattr(error, "litellm_response_headers", None)
    status = int(getattr(error, "status_code", 0) or 0)
    return Trouble(
        id=number,
        kind=_kind_of(error, headers, status),
        status=status if headers is not None else 0,
        retry_after_s=_retry_after_s(headers or {}),
    )


def _kind_of(error: BaseException, headers: object, status: int) -> Kind:
    names = {kind.__name__ for each in _chain(error) for kind in type(each).__mro__}
    if names & {"TimeoutError", "Timeout", "APITimeoutError"}:
        return "timeout"
    if headers is not None:
        return "status"
    if _is_of_connection(error):
        return "connection"
    # What was no answer litellm reports as an inner error of the server, without its headers.
    return "malformed" if status in {0, 500} else "refused"


def _is_of_connection(error: BaseException) -> bool:
    # litellm's own errors derive from those of the client that it uses; only those below count.
    return any(
        isinstance(each, OSError)
        or (type(each).__name__ == "APIConnectionError" and _is_of(each, "openai"))
        or _is_of(each, "httpx", "httpcore", "aiohttp")
        for each in _chain(error)
    )


def _is_of(error: BaseException, *packages: str) -> bool:
    return type(error).__module__.partition(".")[0] in packages


def _chain(error: BaseException) -> Iterator[BaseException]:
    """``error`` and what it was raised for, at most a few steps."""
    each: BaseException | None = error
    for _ in range(12):
        if each is None:
            return
        yield each
        each = each.__cause__ or each.__context__


def _retry_after_s(headers: Mapping[str, str]) -> float:
    value = str(headers.get("retry-after", ""))
    return min(float(value), MAX_RETRY_AFTER_S) if value.isdecimal() else 0.0


def _import_litellm() -> Any:
    # Without this the import asks the network for a table of prices.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # And without this it reads a file .env, which may be an agent's project's.
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = True  # not every provider knows every one of ours
    litellm.telemetry = False
    return litellm


async def _warm_up(litellm: Any) -> None:
    """Ask a port where nobody listens: half a second of imports waits in litellm's first call."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        attempt = litellm.acompletion(
            model="openai/none",
            api_base=f"http://127.0.0.1:{closed.getsockname()[1]}/v1",
            api_key=NO_KEY,
            messages=[{"role": "user", "content": ""}],
            timeout=1,
            num_retries=0,
            max_retries=0,
        )
        await asyncio.wait({asyncio.create_task(attempt)})


async def _run(source: int, out: int) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_LINE)
    pipe = os.fdopen(source, "rb", buffering=0)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    settings = read_to_worker(await reader.readline())
    if not isinstance(settings, Configure):
        return
    # What it makes now stays for good: to collect garbage meanwhile takes a sixth of the time.
    gc.disable()
    litellm = _import_litellm()
    await _warm_up(litellm)
    gc.freeze()
    gc.enable()
    await Worker(litellm, settings, out).serve(reader)
    await litellm.close_litellm_async_clients()


def main() -> None:
    """Serve standard input; whatever a library prints goes nowhere."""
    out = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    asyncio.run(_run(os.dup(0), out))


if __name__ == "__main__":
    main()
