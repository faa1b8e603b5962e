"""Three machines, whose lines come and go and whose clocks disagree, end with the same."""

from contextlib import AsyncExitStack
from datetime import timedelta

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from subcog.sinks.store.rows import digest
from subcog.sinks.team import sync
from tests import machines
from tests.postgres import MEMBERS, fresh_database
from tests.proxy import Proxy
from tests.stores import HERE, START, FakeClock, make_row
from tests.team_store import ReadableStore
from tests.thorough import times
from tests.waiting import until

WHO = st.integers(0, len(MEMBERS) - 1)
WHICH = st.integers(0, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("capture"), WHO, WHICH),
        st.tuples(st.just("say otherwise"), WHO, WHICH),
        st.tuples(st.just("retag"), WHO, WHICH),
        st.tuples(st.just("forget"), WHO, WHICH),
        st.tuples(st.sampled_from(["cut", "mend", "meet"]), WHO, st.just(0)),
    ),
    min_size=8,
    max_size=30,
)
DAYS = st.tuples(*[st.integers(-20, 20)] * len(MEMBERS))


class House:
    """Three machines on one database, each with a line of its own, and what was acknowledged."""

    def __init__(self, there):
        self.there = there
        self.machines, self.lines = [], []
        self.said, self.captured, self.gone, self.cut = {}, set(), set(), set()
        self._count = 0

    async def do(self, step, who, which):
        machine = self.machines[who]
        if step in {"cut", "mend"}:
            await self._line(who, is_cut=step == "cut")
        elif step == "meet":
            if who not in self.cut:
                await machine.in_step()
        elif step == "capture":
            self._count += 1
            row = make_row(self._count)
            await machine.put(row)
            self._note(row.memory)
            self.captured.add(row.memory.id)
        elif step == "forget":
            # Not one that became of two others: whose texts go with it cannot be told here.
            if known := sorted(self.captured & (await machine.current()).keys()):
                await self._change(machine, step, known[which % len(known)])
        elif known := sorted(await machine.current()):
            await self._change(machine, step, known[which % len(known)])

    async def _line(self, who, *, is_cut):
        if is_cut and who not in self.cut:
            self.cut.add(who)
            await anyio.to_thread.run_sync(self.lines[who].cut)
        elif not is_cut and who in self.cut:
            self.cut.discard(who)
            await anyio.to_thread.run_sync(self.lines[who].mend)

    async def _change(self, machine, step, memory_id):
        self._count += 1
        if step == "forget":
            await machine.forget(memory_id)
            self.gone.add(memory_id)
        elif step == "retag":
            await machine.change(memory_id, tags=(f"tag-{self._count}",))
        else:
            text = f"{machine.member} says {self._count}"
            fields = {"content": text, "summary": text, "content_hash": text}
            if (changed := await machine.change(memory_id, **fields)) is not None:
                self._note(changed)

    def _note(self, memory):
        self.said[memory.content] = memory.id

    async def converge(self):
        for who in range(len(self.machines)):
            await self._line(who, is_cut=False)
        await until(self._is_the_same)

    async def _is_the_same(self):
        if any([(await machine.replica.depth()).count for machine in self.machines]):
            return False
        ours = [digests(await machine.current()) for machine in self.machines]
        there = digests({m.id: m for m in await self.there.page([HERE], limit=10_000)})
        return all(each == there for each in ours)

    async def heard(self, machine):
        """Every text that is on a machine, in whatever version."""
        histories = [await machine.store.history(each, [HERE]) for each in await machine.current()]
        return {memory.content for history in histories for memory in history}


def digests(memories):
    return {memory_id: (m.version, digest(m)) for memory_id, m in memories.items()}


@pytest.mark.slow
@settings(max_examples=times(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, days=DAYS)
def test_machines_that_are_cut_off_now_and_then_lose_nothing_and_converge(
    postgres, tmp_path_factory, steps, days
):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sync, "MAX_PAUSE_S", 0.5)
        anyio.run(play, postgres, tmp_path_factory.mktemp("team"), steps, days)


async def play(server, folder, steps, days):
    async with AsyncExitStack() as parts:
        database = parts.enter_context(fresh_database(server))
        there = ReadableStore(database.url(), clock=FakeClock())
        parts.push_async_callback(there.close)
        house = House(there)
        for member, apart in zip(MEMBERS, days, strict=True):
            line = parts.enter_context(Proxy(("127.0.0.1", server.port)))
            url = database.url(member).replace(str(server.port), str(line.port))
            clock = FakeClock(START + timedelta(days=100 + apart))
            store = ReadableStore(url, clock=clock)
            machine = await parts.enter_async_context(
                machines.machine(folder, store, member, HERE, clock=clock)
            )
            house.machines.append(machine)
            house.lines.append(line)
        for machine in house.machines:
            await parts.enter_async_context(machine.running())
        for step in steps:
            await house.do(*step)
        await house.converge()
        for machine in house.machines:
            heard = await house.heard(machine)
            kept = {text for text, memory_id in house.said.items() if memory_id not in house.gone}
            assert kept <= heard
