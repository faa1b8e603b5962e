"""Many agent sessions at once on one daemon: what they send, what must come back, and how fast.

Each project has its own word in every memory, and each session asks about each subject more than
once. So what a session must see is known exactly: each memory of its project once, and no word of
another project. ``Load.problems`` names whatever was otherwise.
"""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from subcog.bus.frames import read_reply_head, request_frame
from tests.integration.house import House

WORDS = "heron otter badger lynx falcon marten beaver kestrel".split()
# A memory, a question that asks for it, and a file that has to do with it.
SUBJECTS = (
    (
        "In {} we use argon2id for password hashing because bcrypt truncates at 72 bytes.",
        "how do we hash passwords here?",
        "src/password_hashing.py",
    ),
    (
        "The test suite of {} hangs on CI when Postgres starts after it: wait for pg_isready.",
        "why does the test suite hang on CI?",
        "tests/conftest.py",
    ),
    (
        "The billing module of {} lives in services/billing and is owned by the payments team.",
        "where is the billing module?",
        "services/billing/invoice.py",
    ),
    (
        "Background jobs of {} run in arq rather than Celery, with Redis as the only dependency.",
        "what do background jobs run in?",
        "src/background_jobs.py",
    ),
    (
        "Deploys of {} go through ArgoCD and never through kubectl by hand.",
        "how do we deploy to production with ArgoCD or kubectl?",
        "deploy/argocd.yaml",
    ),
    (
        "Alembic autogenerate overlooks changed server defaults in {}: write that by hand.",
        "why does Alembic autogenerate miss changed server defaults?",
        "migrations/env.py",
    ),
)
_ID = re.compile(r"\bmem_[0-9a-z]{26}\b")


@dataclass
class Seen:
    """What one session was shown: how often each memory, and whose words."""

    ids: Counter[str] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    kept: int = 0


class Load:
    """``sessions`` sessions in half as many projects, each with so many prompts and tool events."""

    def __init__(self, house: House, *, sessions: int, prompts: int, tools: int) -> None:
        self._house = house
        self._sessions, self._prompts, self._tools = sessions, prompts, tools
        self._words = WORDS[: max(1, min(len(WORDS), sessions // 2))]
        self._ids: dict[str, set[str]] = defaultdict(set)
        self.took_ms: dict[str, list[float]] = {"UserPromptSubmit": [], "PostToolUse": []}
        self.seen = {f"load-{number}": Seen() for number in range(sessions)}
        self.took_s = 0.0

    @property
    def sent(self) -> Counter[str]:
        """How many of each event were sent and answered."""
        return Counter({event: len(took_ms) for event, took_ms in self.took_ms.items()})

    def project(self, word: str) -> Path:
        """The directory of the project with this word."""
        folder = self._house.root / word
        folder.mkdir(exist_ok=True)
        return folder

    def capture(self) -> None:
        """Keep the memories that every session of a project must see."""
        for word in self._words:
            for memory, _, _ in SUBJECTS:
                text = {"text": memory.format(word), "namespace": "decisions"}
                answer = self._exchange("call", "capture", word, text)
                self._ids[word].add(answer["id"])

    def run(self) -> None:
        """All sessions at once, each sending one event after the other."""
        began = time.perf_counter()
        with ThreadPoolExecutor(self._sessions) as agents:
            for done in [agents.submit(self._session, n) for n in range(self._sessions)]:
                done.result()
        self.took_s = time.perf_counter() - began

    def _session(self, number: int) -> None:
        word, session = self._words[number % len(self._words)], f"load-{number}"
        seen = self.seen[session]
        for event, payload in self._events(session, word):
            began = time.perf_counter()
            answer = self._exchange("hook", event, word, {"session_id": session} | payload)
            self.took_ms[event].append((time.perf_counter() - began) * 1000)
            context = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
            seen.ids.update(_ID.findall(context))
            seen.words |= {one for one in WORDS if one in context}
            seen.kept += "kept as" in answer.get("systemMessage", "")

    def _events(self, session: str, word: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Prompts evenly among the tool events; every seventh prompt keeps something."""
        each = self._tools // self._prompts
        for number in range(self._prompts):
            _, asked, _ = SUBJECTS[number % len(SUBJECTS)]
            if _keeps(number):
                asked = f"[remember] {session} of {word} noted as number {number} that all is well"
            yield "UserPromptSubmit", {"prompt": asked}
            for edit in range(each):
                _, _, file = SUBJECTS[(number * each + edit) % len(SUBJECTS)]
                written = {"file_path": str(self.project(word) / file), "content": "pass\n"}
                yield "PostToolUse", {"tool_name": "Write", "tool_input": written}

    def _exchange(self, kind: str, name: str, word: str, body: dict[str, Any]) -> dict[str, Any]:
        project = str(self.project(word))
        fields = {"project": project, "cwd": project, "client": "claude"}
        with self._house.connect() as connection, connection.makefile("rwb") as stream:
            stream.write(request_frame(kind, name, fields, json.dumps(body).encode()))
            stream.flush()
            while (head := read_reply_head(stream.readline())).status == "wait":
                pass
            answer: dict[str, Any] = json.loads(stream.read(head.body))
        assert head.status == "ok", answer
        return answer

    # --- what must be so -----------------------------------------------------------------------

    def problems(self) -> Iterator[str]:
        """A line for each event that was lost, doubled, or reached another session."""
        for event, count in self.sent.items():
            if (counted := self.outcomes(event).total()) != count:
                yield f"{event}: {count} sent, {counted} counted by the daemon"
        for number in range(self._sessions):
            yield from self._of_session(number)

    def _of_session(self, number: int) -> Iterator[str]:
        word, session = self._words[number % len(self._words)], f"load-{number}"
        seen = self.seen[session]
        if others := seen.words - {word}:
            yield f"{session} of {word} was shown what {', '.join(sorted(others))} know"
        if twice := [one for one, times in seen.ids.items() if times > 1]:
            yield f"{session} was shown {len(twice)} memories more than once"
        asked = {number % len(SUBJECTS) for number in range(self._prompts) if not _keeps(number)}
        if len(asked) == len(SUBJECTS) and (missing := self._ids[word] - set(seen.ids)):
            yield f"{session} was never shown {len(missing)} of its project's memories"
        keeping = sum(map(_keeps, range(self._prompts)))
        if seen.kept != keeping:
            yield f"{session} asked to keep {keeping} and was told of {seen.kept}"

    def outcomes(self, event: str) -> Counter[str]:
        """How the daemon says that these hooks ended."""
        status, body = self._house.exchange("call", "status", b"{}")
        assert status == "ok"
        with urllib.request.urlopen(json.loads(body)["metrics_url"], timeout=30) as page:
            families = text_string_to_metric_families(page.read().decode())
        found: Counter[str] = Counter()
        for family in families:
            for one in family.samples:
                if one.name == "subcog_hooks_total" and one.labels["event"] == event:
                    found[one.labels["outcome"]] += int(one.value)
        return found


def _keeps(number: int) -> bool:
    return number % 7 == 6


def wait_for_metrics(house: House) -> None:
    """The daemon serves HTTP a moment after it answers hooks."""
    deadline = time.monotonic() + 30
    while not house.ask("status")["metrics_url"]:
        assert time.monotonic() < deadline, "no metrics"
