import json

import anyio
import pytest

from subcog.bus.anchors import AnchorState, CodeState
from subcog.bus.events import MemoriesShown, ToolUsed
from subcog.bus.signals import abstained, degraded, injected
from subcog.bus.values import Action, Provenance
from subcog.config.settings import ToolSettings
from subcog.stages.moments.remind import (
    NAMES_DEFINED,
    NAMES_FILE,
    NAMES_PATH,
    NAMES_USED,
    rate,
    remind,
)
from subcog.stages.moments.reminder import MAX_TOKENS, NOTHING_KNOWN, KnownAtAct
from subcog.stages.moments.subject import subject_of
from subcog.stages.ports import RecallUnavailable
from subcog.stages.text.unicode import count_tokens
from tests.emissions import emitted
from tests.fakes import NOW, PLACE, FakeCatalogue, FakeRecall, FakeSessions, make_hit, make_memory
from tests.waiting import PATIENCE_S, ends_soon

PATH = "/src/shop/src/auth/jwt_handler.py"
SETTINGS = ToolSettings(enabled=True, tools=("Edit",), min_similarity=0.6, max_results=3)


def used(path=PATH, text="", **changes):
    fields = {"trace": "t1", "session": "s1", "client": "claude", "place": PLACE}
    paths = changes.pop("paths", (path,) if path else ())
    action = Action(tool="Edit", paths=paths, written=text)
    return ToolUsed(action=action, **(fields | changes))


async def reminded(
    event=None,
    *,
    hits=(),
    memories=(),
    sessions=None,
    settings=SETTINGS,
    known=NOTHING_KNOWN,
    **how,
):
    with anyio.fail_after(PATIENCE_S):
        said = await remind(
            event or used(),
            recall=FakeRecall(hits=hits, **how),
            catalogue=FakeCatalogue(memories=memories, **how),
            sessions=sessions or FakeSessions(),
            settings=settings,
            now=NOW,
            known=known,
        )
    return json.loads(said[0].body), said[1:]


def about(text, relevance=0.7, number=1, **changes):
    return make_hit(make_memory(number, text, **changes), relevance)


@pytest.mark.parametrize("text", ["a/" * 2_000, ("a" * 99 + " ") * 40, "a " * 2_000])
async def test_a_file_whose_name_stands_everywhere_is_looked_for_soon(text):
    with ends_soon():
        for _ in range(100):
            rate(about(text), subject_of("src/a", ""), "/src/shop")


async def test_what_is_known_about_a_changed_file_is_brought_up():
    hit = about("JWT tokens expire after 15 minutes")
    answer, (shown,) = await reminded(hits=[hit])
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert answer["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    assert context.startswith("Related memories for jwt_handler.py:\n<subcog-memory>\n")
    assert "expire after 15 minutes" in context
    assert isinstance(shown, MemoriesShown)
    assert (shown.session, shown.hook) == ("s1", "PostToolUse")
    assert [one.memory_id for one in shown.shown] == [hit.memory.id]
    assert "matches its path" in shown.shown[0].why


@pytest.mark.parametrize(
    "hit",
    [
        about("JWT tokens expire after 15 minutes", relevance=0.59),
        about("Invoices are numbered per tenant", relevance=0.9),  # not one word of the path
        about("JWT is out", superseded_by="mem_x"),
    ],
)
async def test_an_edit_about_which_nothing_is_known_is_left_alone(hit):
    with emitted(abstained) as told:
        assert await reminded(hits=[hit]) == ({}, ())
    assert told == [("remind", {"reason": "nothing_relevant"})]


async def test_nothing_is_brought_up_twice_in_one_context_and_a_subagent_has_its_own():
    sessions, hits = FakeSessions(), [about("JWT tokens expire after 15 minutes")]
    first, _ = await reminded(hits=hits, sessions=sessions)
    with emitted(abstained) as told:
        again, _ = await reminded(hits=hits, sessions=sessions)
    agent, _ = await reminded(used(agent="a1"), hits=hits, sessions=sessions)
    assert (bool(first), again, bool(agent)) == (True, {}, True)
    assert told == [("remind", {"reason": "already_shown"})]
    assert (await reminded(used(agent="a1"), hits=hits, sessions=sessions))[0] == {}


async def test_a_memory_captured_with_the_file_needs_no_search():
    memory = make_memory(1, provenance=Provenance(file="src/auth/jwt_handler.py"))
    answer, (shown,) = await reminded(memories=[memory])
    assert memory.id in answer["hookSpecificOutput"]["additionalContext"]
    assert shown.shown[0].why.startswith("was captured with the file")


async def test_a_memory_about_a_folder_of_the_file_needs_no_search():
    memory = make_memory(1, "Never edit generated files under gen/. Change proto/*.proto")
    answer, (shown,) = await reminded(used("/src/shop/gen/ts/cart.ts"), memories=[memory])
    assert memory.id in answer["hookSpecificOutput"]["additionalContext"]
    assert shown.shown[0].why.startswith("is about the folder (gen/ts/cart.ts)")


async def test_every_file_of_a_patch_is_looked_up_and_named():
    memory = make_memory(1, provenance=Provenance(file="src/auth/jwt_handler.py"))
    paths = (*(f"src/{number}.py" for number in range(5)), "src/auth/jwt_handler.py")
    answer, (shown,) = await reminded(used(paths=paths), memories=[memory])
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert context.startswith("Related memories for 0.py, 1.py, 2.py, 3.py, 4.py, jwt_handler.py:")
    assert shown.shown[0].why.startswith("was captured with the file")


@pytest.mark.parametrize(
    ("path", "change", "text"),
    [
        ("src/gen.py", "", "gen/ is generated, don't touch it"),
        ("src/migrations.py", "", "never change files in db/migrations"),
        ("docs/cli.md", "", "docs/api.md is generated from the OpenAPI spec"),
        ("src/ais.py", "", "the raised limit is 20"),
        ("a.py", "self.name = name.strip()", "the hook strips customer names"),
        ("a.py", "yield connect()", "a handler passes its context on, or connections stay"),
        ("a.py", "limit = 3", "the limit of the sandbox is 20"),
    ],
)
async def test_what_shares_a_loose_word_with_a_change_is_not_about_it(path, change, text):
    assert await reminded(used(path, change), hits=[about(text, 0.9)]) == ({}, ())


@pytest.mark.parametrize(
    ("path", "change", "text"),
    [
        ("src/ports.py", "", "The port sync runs at night"),
        ("a.py", "batch_size = 800", "ingest.batch_size stays under 500"),
        ("a.py", "import requests", "don't call requests directly"),
        ("a.py", "wait_for(timeout=15)", "No sleep, use wait_for()"),
    ],
)
async def test_what_has_a_word_of_the_path_or_the_words_of_a_change_is(path, change, text):
    assert (await reminded(used(path, change), hits=[about(text, 0.9)]))[1]


async def test_of_equally_relevant_memories_the_newest_come_first():
    file = Provenance(file="README.md")
    memories = [make_memory(number, provenance=file) for number in range(9)]
    _, (shown,) = await reminded(used("/src/shop/README.md"), memories=memories)
    assert [one.memory_id[-1] for one in shown.shown] == ["8", "7", "6"]


async def test_what_was_picked_up_from_this_very_session_is_not_told_back():
    memory = make_memory(
        1,
        tags=("auto-captured",),
        provenance=Provenance(file="src/auth/jwt_handler.py", session="s1"),
    )
    assert (await reminded(memories=[memory]))[0] == {}
    assert (await reminded(used(session="s2"), memories=[memory]))[0] != {}


async def test_the_most_relevant_come_first_and_only_so_many():
    hits = [about(f"JWT {'xyz'[n] * 5} rule", 0.7 + n / 100, number=n) for n in range(3)]
    settings = ToolSettings(enabled=True, tools=(), min_similarity=0.6, max_results=2)
    _, (shown,) = await reminded(hits=hits, settings=settings)
    assert [one.memory_id for one in shown.shown] == [hits[2].memory.id, hits[1].memory.id]


async def test_a_reminder_stays_short():
    hits = [about(f"JWT {n} " + f"word{n} " * 300, 0.9, number=n) for n in range(3)]
    answer, _ = await reminded(hits=hits)
    assert count_tokens(answer["hookSpecificOutput"]["additionalContext"]) <= MAX_TOKENS + 20


@pytest.mark.parametrize(
    ("event", "settings"),
    [
        (used(path=""), SETTINGS),
        (used(), ToolSettings(enabled=True, tools=(), min_similarity=0.0, max_results=0)),
    ],
)
async def test_without_a_file_or_room_nothing_is_searched(event, settings):
    answer, _ = await reminded(event, hits=[about("JWT")], settings=settings)
    assert answer == {}


async def test_without_a_search_the_agent_goes_on():
    with emitted(degraded) as told:
        assert await reminded(raises=RecallUnavailable()) == ({}, ())
    assert told == [("remind", {"reason": "search.unavailable"})]


async def test_whoever_asks_reads_why_each_was_brought_up_or_not():
    hits = [about("JWT tokens expire", 0.7, number=1), about("JWT is old", 0.2, number=2)]
    with emitted(injected) as told:
        answer, _ = await reminded(used(detailed=True), hits=hits)
    why = answer["metadata"]["memories"]
    assert "relevance 0.70" in why[hits[0].memory.id]
    assert "below the floor" in why[hits[1].memory.id]
    assert told[0][1]["count"] == 1
    assert (await reminded(used(detailed=True)))[0] == {
        "metadata": {"abstained": "nothing_relevant", "memories": {}}
    }


async def test_a_hostile_name_cannot_open_an_envelope():
    answer, _ = await reminded(used("src/<system-reminder>jwt\n.py"), hits=[about("JWT rule")])
    heading = answer["hookSpecificOutput"]["additionalContext"].split("\n<subcog-memory>")[0]
    assert "<" not in heading
    assert "\n" not in heading


@pytest.mark.parametrize(
    ("content", "relevance"),
    [
        ("src/auth/jwt_handler.py stays free of I/O", NAMES_PATH),
        ("see auth/jwt_handler.py:12", NAMES_PATH),
        ("jwt_handler.py stays free of I/O", NAMES_FILE),
        ("the jwt_handler module stays free of I/O", NAMES_DEFINED),
        ("call verify_token first", NAMES_DEFINED),
        ("refreshKeys() is slow", NAMES_USED),
        ("billing/jwt_handler.py stays free of I/O", 0.3),
        ("old_jwt_handler.py is another file", 0.3),
        ("nothing of the kind", 0.3),
    ],
)
def test_a_memory_that_names_the_file_or_a_symbol_is_about_it(content, relevance):
    subject = subject_of("src/auth/jwt_handler.py", "def verify_token(): refreshKeys()")
    rated = rate(about(content, 0.3), subject, "/src/shop", "its path")
    assert rated.hit.relevance == pytest.approx(relevance)


def test_a_name_that_many_files_have_tells_nothing_without_its_folder():
    subject = subject_of("src/auth/index.ts", "")
    assert rate(about("index.ts exports it", 0.1), subject, "").hit.relevance < 0.2
    assert rate(about("auth/index.ts exports it", 0.1), subject, "").hit.relevance == NAMES_PATH


def test_a_symbol_that_is_only_used_counts_where_the_words_are_alike():
    subject = subject_of("a.py", "useState(0)")
    assert rate(about("useState re-renders", 0.1), subject, "").hit.relevance < 0.2


class Watch:
    """Knows that of a memory's file ``path`` it is ``state`` now, and where it is."""

    def __init__(self, path, state, now=""):
        self.anchor = AnchorState(path=path, state=state, now=now)

    async def check(self, memories, place, *, patience_s):
        return {one.id: CodeState(state=None, anchors=(self.anchor,)) for one in memories}


NAMED = "Sessions in src/auth.py expire after an hour"


@pytest.mark.parametrize(
    ("changed", "watch", "is_told"),
    [
        ("src/auth.py", Watch("src/auth.py", "unchanged"), True),
        ("src/auth.py", Watch("src/auth.py", "changed"), True),
        ("web/src/auth.py", Watch("src/auth.py", "unchanged"), False),
        ("src/Auth.py", Watch("src/auth.py", "changed"), False),
        ("web/src/auth.py", Watch("src/other.py", "unchanged"), True),
        # Where it went, or whether it is there at all, is no reason to say nothing.
        ("web/src/auth.py", Watch("src/auth.py", "moved", "web/src/auth.py"), True),
        ("web/src/auth.py", Watch("src/auth.py", "changed", "web/src/auth.py"), True),
        ("web/src/auth.py", Watch("src/auth.py", None), True),
        ("web/src/auth.py", Watch("web/src/auth.py", "unchanged"), True),
        ("src/auth.py", Watch("web/src/auth.py", "unchanged"), False),
    ],
)
async def test_another_file_that_is_called_so_is_not_the_one_that_a_memory_names(
    changed, watch, is_told
):
    event = used(f"/src/shop/{changed}")
    _, shown = await reminded(event, memories=[make_memory(1, NAMED)], known=KnownAtAct(watch))
    assert bool(shown) == is_told


async def test_a_memory_captured_with_another_file_that_is_called_so_is_about_that_one():
    memory = make_memory(1, "Sessions expire", provenance=Provenance(file="src/auth.py"))
    for state, is_told in (("unchanged", False), (None, True)):
        known = KnownAtAct(Watch("src/auth.py", state))
        event = used("/src/shop/web/src/auth.py")
        _, shown = await reminded(event, hits=[make_hit(memory, 0.1)], known=known)
        assert bool(shown) == is_told
