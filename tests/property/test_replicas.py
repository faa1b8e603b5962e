"""Three machines that exchange what they wrote, in any order, come to hold the same."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from subcog.bus.values import Scope
from subcog.sinks.store.rows import Row, digest
from subcog.sinks.store.store import Store
from tests.stores import START, FakeClock, make_row, opened
from tests.teams import Team, join, pull, push
from tests.thorough import times

MEMBERS = ("alice", "bob", "carol")
IDS = 3
NUMBERS = itertools.count(1)

who = st.integers(0, len(MEMBERS) - 1)
which = st.integers(0, IDS - 1)
change = st.tuples(st.sampled_from(["edit", "tag", "supersede", "forget"]), who, which, which)
exchange = st.tuples(st.sampled_from(["push", "pull"]), who, st.integers(1, 3), st.just(0))
steps = st.lists(st.one_of(change, change, exchange), max_size=12)


class Bench:
    """One member's machine. Its clock is as wrong as it likes."""

    def __init__(self, member: str, store: Store, clock: FakeClock) -> None:
        self.member = member
        self.store = store
        self.clock = clock
        self.scope = Scope("org", "none")

    async def change(self, memory_id: str, **fields: object) -> bool:
        found = await self.store.get([memory_id], [self.scope])
        for memory in found:
            changed = replace(memory, version=memory.version + 1, **fields)
            await self.store.put([Row(changed, make_row().encoding)])
        return bool(found)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def machines(runner, tmp_path_factory):
    stack = AsyncExitStack()

    async def start() -> list[Bench]:
        desks = []
        for days, member in enumerate(MEMBERS):
            clock = FakeClock(START + timedelta(days=3 * days))
            path = tmp_path_factory.mktemp(member) / "s.duckdb"
            store = await stack.enter_async_context(opened(path, clock))
            desks.append(Bench(member, store, clock))
        return desks

    yield runner.run(start())
    runner.run(stack.aclose())


@pytest.mark.slow
@settings(
    max_examples=times(10),
    phases=(Phase.explicit, Phase.generate),  # the machines are shared: nothing can be shrunk
    suppress_health_check=list(HealthCheck),
)
@given(steps=steps)
def test_whatever_the_order_all_come_to_hold_the_same_and_nothing_is_lost(steps, runner, machines):
    runner.run(run(machines, steps))


async def run(desks: list[Bench], steps: list[tuple[str, int, int, int]]) -> None:
    team = Team()
    texts: dict[str, set[str]] = {}
    scope = Scope("project", f"number {next(NUMBERS)}")
    for bench in desks:
        bench.scope = scope
        await bench.store.replica.leave()
        await join(bench.store, bench.member, sends=[scope])
    ids = [await begun(desks[0], texts) for _ in range(IDS)]
    await settle(desks, team)
    for name, at, first, second in steps:
        bench = desks[at]
        if name == "push":
            await push(bench.store, team, bench.member)
        elif name == "pull":
            await pull(bench.store, team, bench.member, limit=first)
        else:
            await act(bench, name, ids[first], ids[second], texts)
    await settle(desks, team)
    await hold_the_same(desks, ids, texts, team)


async def begun(bench: Bench, texts: dict[str, set[str]]) -> str:
    row = make_row(next(NUMBERS), scope=bench.scope)
    await bench.store.put([row])
    texts[row.memory.id] = {row.memory.content}
    return row.memory.id


async def act(bench: Bench, name: str, one: str, other: str, texts: dict[str, set[str]]) -> None:
    number = next(NUMBERS)
    if name == "forget":
        await bench.store.forget(one, [bench.scope])
    elif name == "tag":
        await bench.change(one, tags=(f"tag-{number}",))
    elif name == "supersede":
        await bench.change(one, superseded_by=other)
    elif await bench.change(one, content=f"text {number}", content_hash=f"hash {number}"):
        texts[one].add(f"text {number}")


async def settle(desks: list[Bench], team: Team) -> None:
    """Exchange until nobody has anything left to send."""
    for _ in range(30):
        for bench in desks:
            await push(bench.store, team, bench.member)
            while (await pull(bench.store, team, bench.member)).received:
                pass
        if not any([(await bench.store.replica.depth()).count for bench in desks]):
            break
    else:
        raise AssertionError("they never come to an end")
    for bench in desks:
        await pull(bench.store, team, bench.member)


async def hold_the_same(
    desks: list[Bench], ids: list[str], texts: dict[str, set[str]], team: Team
) -> None:
    current, said = [], []
    known = {key[0] for key in team.rows}
    for bench in desks:
        memories = await bench.store.get(sorted(known | set(ids)), [bench.scope])
        current.append([(m.id, m.version, digest(m)) for m in memories])
        histories = [await bench.store.history(id_, [bench.scope]) for id_ in known]
        said.append({m.content for history in histories for m in history})
    assert current[0] == current[1] == current[2]
    assert {id_ for id_, _, _ in current[0]} == known
    alive = set().union(*(texts[id_] for id_ in ids if id_ not in team.gone))
    for each in said:
        assert alive <= each
