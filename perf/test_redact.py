"""The secret filter on ordinary and hostile text: growth gates, time is reported.

python -m pytest perf/test_redact.py -s -q
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pytest

from subcog.stages.redaction.redact import RULES_FILE, Redactor
from subcog.stages.redaction.rules import read_rules

from .report import say

# Twenty times the text may take at most this many times as long.
GROWTH = 30.0
# Below this many milliseconds the clock says more about the machine than about the text.
NOISE_MS = 0.2
SHORT, LONG = 1_000, 20_000
REDACTOR = Redactor.load()
THOROUGH = Redactor(
    msgspec.structs.replace(rule, hints=("",) if rule.hints else (), reach=None, needs="")
    for rule in read_rules(RULES_FILE)
)
NOTES = (
    "We use argon2id for password hashing because bcrypt truncates at 72 bytes. ",
    "The gateway drops every second request since we moved it, and nobody knows why. ",
    "See src/auth/login.py and `UserAccountServiceV2`, commit 3f786850e387.\n",
    "The token is refreshed by the client: token = request.headers.get('x-auth'). ",
    "Deploys go through ArgoCD, never kubectl; config/default.toml has port 8080 (10.0.0.1).\n",
)
KINDS = {
    "notes": "".join(NOTES),
    "prose": NOTES[1],
    "code": "    key = self.auth_token(request, api_key=settings.api_key)\n",
    "log lines": "2026-01-01 10:00:00,123 ERROR at a.b.c(42): password=*** user@host\n",
    "words of hints": "token key secret pass auth api -p :: @ +1 ",
    "wrapped lines": "abcdefgh\nijklmnop\n",
    "secrets": "token=" + "gh" + "p_" + "aB3d" * 9 + " and more ",
    "urls": "https://example.com/a/b?c=d&e=f ",
    "digits": "1234 5678 9012 3456 ",
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
}


def text_of(kind: str, chars: int) -> str:
    """Exactly ``chars`` characters of one kind of text."""
    return (KINDS[kind] * (chars // len(KINDS[kind]) + 1))[:chars]


def times_ms(call: Callable[[], object], runs: int) -> list[float]:
    """Milliseconds of this thread's own time for each of ``runs`` calls."""
    return list(_times(call, runs))


def _times(call: Callable[[], object], runs: int) -> Iterator[float]:
    for _ in range(runs):
        started = time.thread_time()
        call()
        yield (time.thread_time() - started) * 1000


@pytest.mark.parametrize("kind", KINDS)
def test_redacting_is_linear(kind: str) -> None:
    short, long = text_of(kind, SHORT), text_of(kind, LONG)
    once = times_ms(partial(REDACTOR.redact, short), 100)
    many = times_ms(partial(REDACTOR.redact, long), 12)
    say(f"redact, {kind}, {SHORT:,} characters", once, target="1")
    say(f"redact, {kind}, {LONG:,} characters", many, target="20")
    growth = min(many) / max(min(once), NOISE_MS)
    print(f"  growth {growth:.1f} for {LONG // SHORT} times the text")
    assert growth < GROWTH


def test_what_a_prompt_has_redacted() -> None:
    """Ten notes, as many as one context shows at most."""

    def all_of_them() -> None:
        for note in NOTES * 2:
            REDACTOR.redact(note)

    say("redact, ten short notes", times_ms(all_of_them, 300), target="1")


def test_hints_make_ordinary_text_several_times_faster() -> None:
    for kind in ("notes", "prose", "code"):
        text = text_of(kind, SHORT)
        quick = min(times_ms(partial(REDACTOR.redact, text), 100))
        thorough = min(times_ms(partial(THOROUGH.redact, text), 20))
        print(f"\n{kind}: {quick:.2f} ms with hints, {thorough:.2f} ms without")
        assert thorough > 3 * quick
