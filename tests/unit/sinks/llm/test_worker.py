"""What the worker does around litellm, with litellm played."""

import asyncio
import os
import subprocess
import sys
from types import SimpleNamespace

import msgspec
import pytest

from subcog.sinks.llm.worker import Worker, trouble_of
from subcog.sinks.llm.worker_process import (
    MAX_ANSWER_CHARS,
    Answer,
    Ask,
    Cancel,
    Configure,
    Ready,
    Trouble,
    line_of,
    read_from_worker,
)


class PlayedLiteLLM:
    """Does what the user's words name."""

    def __init__(self, keys=True):
        self.keys = keys
        self.calls = []
        self.cancelled = 0

    def validate_environment(self, model):
        return {"keys_in_environment": self.keys, "missing_keys": []}

    async def acompletion(self, **call):
        self.calls.append(call)
        word = call["messages"][1]["content"]
        if word == "hang":
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if word == "bug":
            raise AttributeError("the secret prompt")
        content = {"null": None, "long": "x" * 100_000}.get(word, word.upper())
        message = SimpleNamespace(message=SimpleNamespace(content=content))
        return SimpleNamespace(choices=[message])


def make_ask(user, number=1, timeout_s=5.0):
    return Ask(id=number, system="s", user=user, max_tokens=10, timeout_s=timeout_s)


async def serve(litellm, *messages, env=None, api_base="http://x/v1", wait_for=0):
    """What a worker says to these messages, after its ``Ready``."""
    source = asyncio.StreamReader()
    out, into = os.pipe()
    settings = Configure(model="openai/m", api_base=api_base)
    worker = Worker(litellm, settings, into)
    async with asyncio.timeout(5):
        serving = asyncio.create_task(worker.serve(source))
        for message in messages:
            source.feed_data(line_of(message))
            await asyncio.sleep(0.01)
        said = b""
        while said.count(b"\n") < 1 + wait_for:
            said += await asyncio.to_thread(os.read, out, 1 << 20)
        source.feed_eof()
        await serving
    os.close(into)
    while more := os.read(out, 1 << 20):
        said += more
    os.close(out)
    ready, *rest = [read_from_worker(line) for line in said.splitlines()]
    assert ready == Ready()
    return rest


async def test_a_question_is_answered_with_what_the_model_wrote():
    litellm = PlayedLiteLLM()
    assert await serve(litellm, make_ask("hello"), wait_for=1) == [Answer(id=1, text="HELLO")]
    (call,) = litellm.calls
    assert call["model"] == "openai/m"
    assert call["api_base"] == "http://x/v1"
    assert (call["num_retries"], call["max_retries"]) == (0, 0)
    assert [message["role"] for message in call["messages"]] == ["system", "user"]


async def test_no_words_are_empty_words_and_too_many_are_cut():
    said = await serve(PlayedLiteLLM(), make_ask("null"), make_ask("long", 2), wait_for=2)
    assert said == [Answer(id=1, text=""), Answer(id=2, text="x" * MAX_ANSWER_CHARS)]


async def test_a_cancelled_question_ends_without_a_word():
    litellm = PlayedLiteLLM()
    said = await serve(litellm, make_ask("hang"), Cancel(id=1), make_ask("next", 2), wait_for=1)
    assert said == [Answer(id=2, text="NEXT")]
    assert litellm.cancelled == 1


async def test_when_the_input_ends_what_is_being_asked_is_dropped():
    litellm = PlayedLiteLLM()
    assert await serve(litellm, make_ask("hang")) == []
    assert litellm.cancelled == 1


async def test_whatever_a_library_raises_is_one_trouble_and_quotes_nothing():
    said = await serve(PlayedLiteLLM(), make_ask("bug"), make_ask("next", 2), wait_for=2)
    assert said == [Trouble(id=1, kind="malformed"), Answer(id=2, text="NEXT")]
    assert b"secret" not in msgspec.json.encode(said)


async def test_a_question_gives_up_by_itself_in_the_end():
    said = await serve(PlayedLiteLLM(), make_ask("hang", timeout_s=0.01), wait_for=1)
    assert said == [Trouble(id=1, kind="timeout")]


@pytest.mark.parametrize(
    ("ours", "providers", "base", "sent"),
    [
        ("k1", True, "http://x/v1", "k1"),
        ("", True, "http://x/v1", None),
        ("", False, "http://x/v1", "none"),
        ("", False, "", None),
    ],
)
async def test_the_key_is_ours_the_providers_own_or_none(monkeypatch, ours, providers, base, sent):
    monkeypatch.setenv("SUBCOG_LLM_API_KEY", ours)
    litellm = PlayedLiteLLM(keys=providers)
    await serve(litellm, make_ask("hello"), api_base=base, wait_for=1)
    assert litellm.calls[0]["api_key"] == sent


class Raised(Exception):
    def __init__(self, status=0, headers=None):
        super().__init__("text that quotes a prompt")
        self.status_code = status
        self.litellm_response_headers = headers


def caused(error, cause):
    error.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (Raised(500, {}), Trouble(id=1, kind="status", status=500)),
        (
            Raised(429, {"retry-after": "7"}),
            Trouble(id=1, kind="status", status=429, retry_after_s=7),
        ),
        (
            Raised(429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}),
            Trouble(id=1, kind="status", status=429),
        ),
        (Raised(429, {"retry-after": "9" * 9}), None),
        (Raised(500), Trouble(id=1, kind="malformed")),
        (Raised(401), Trouble(id=1, kind="refused")),
        (caused(Raised(500), ConnectionResetError()), Trouble(id=1, kind="connection")),
        (caused(Raised(500), TimeoutError()), Trouble(id=1, kind="timeout")),
        (KeyError("choices"), Trouble(id=1, kind="malformed")),
    ],
)
def test_an_exception_is_named_by_what_it_means(error, trouble):
    named = trouble_of(1, error)
    if trouble is None:
        assert named.retry_after_s == 3600
    else:
        assert named == trouble


def test_the_daemons_side_never_imports_litellm():
    code = (
        "import sys; import subcog.pipeline.app.llm, subcog.sinks.llm.worker;"
        "print([m for m in ('litellm', 'openai', 'aiohttp', 'httpx') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
