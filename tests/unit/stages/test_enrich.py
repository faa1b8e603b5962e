from datetime import UTC

import anyio
import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from subcog.bus.prompts import Marked, ProjectFacts
from subcog.bus.signals import degraded
from subcog.bus.triggers import Trigger
from subcog.stages.enrich import Knowledge, enrich
from subcog.stages.enrichment.guide_parser import read_guide
from subcog.stages.enrichment.hindsight import Hindsight
from subcog.stages.parse import parse
from subcog.stages.ports import RecallUnavailable
from tests.emissions import emitted
from tests.fakes import (
    NOW,
    PLACE,
    FakeCatalogue,
    FakeGuides,
    FakeKeeper,
    FakeProjects,
    FakeRecall,
    FakeWarnings,
    make_hit,
    make_hits,
    make_memory,
    make_parsed,
    make_prompt,
)
from tests.waiting import PATIENCE_S

MARKED = Marked(content="We use uv", marker="[remember]")


async def run(parsed, *, recall=None, keeper=None, projects=None, limit=15, **more):
    with anyio.fail_after(PATIENCE_S):
        return await enrich(
            parsed,
            recall=recall or FakeRecall(),
            keeper=keeper or FakeKeeper(),
            projects=projects or FakeProjects(),
            limit=limit,
            **more,
        )


async def test_twice_the_limit_is_fetched_from_every_readable_scope():
    recall = FakeRecall(hits=make_hits(40))
    enriched = await run(make_parsed(query=" password hashing "), recall=recall)
    assert len(enriched.candidates) == 30
    (query,) = recall.queries
    assert (query.text, query.limit, query.scopes) == ("password hashing", 30, PLACE.readable)


async def test_the_question_goes_along_as_it_was_typed():
    recall = FakeRecall(hits=make_hits(1))
    await run(make_parsed(text="Why do we hash?", query="hash"), recall=recall)
    assert [query.asked for query in recall.queries] == ["Why do we hash?"]


async def test_what_is_no_search_is_not_reranked_unless_it_is_explained():
    order = make_parsed(text="Hash it", query="hash")
    explained = replace(order, prompt=replace(order.prompt, detailed=True))
    recall = FakeRecall(hits=make_hits(1))
    for parsed in (order, explained):
        await run(parsed, recall=recall, may_search=lambda parsed: False)
    assert [query.asked for query in recall.queries] == ["", "Hash it"]


def database(number, relevance):
    return make_hit(make_memory(number, "The Database is Postgres"), relevance)


DEPLOY = make_hit(make_memory(9, "Deploys go out on Friday"), 0.9)
AND_THE_DATABASE = {
    "text": "and the database?",
    "query": "database deploy",
    "question": "How do we deploy?\nand the database?",
    "before": "How do we deploy?",
    "subject": ("database",),
}


async def test_of_what_is_found_with_the_prompt_before_what_speaks_of_the_subject_comes():
    recall = FakeRecall(hits=(DEPLOY, database(1, 0.6)))
    found = await run(make_parsed(**AND_THE_DATABASE), recall=recall)
    assert found.candidates == (database(1, 0.6),)
    assert [query.asked for query in recall.queries] == [AND_THE_DATABASE["question"]]


@pytest.mark.parametrize("hits", [(DEPLOY,), (DEPLOY, database(1, 0.1))])
async def test_where_that_brings_nothing_on_the_subject_it_is_searched_for_alone(hits):
    recall = FakeRecall(hits=hits)
    await run(make_parsed(**AND_THE_DATABASE), recall=recall)
    alone = recall.queries[-1]
    assert len(recall.queries) == 2
    assert (alone.text, alone.asked) == ("database", "and the database?")


async def test_each_question_of_a_prompt_is_searched_for_and_the_best_comes_first():
    recall = FakeRecall(hits=(database(1, 0.6), DEPLOY))
    parts = ("which database is it?", "how do we deploy?")
    found = await run(make_parsed(query="database deploy", parts=parts), recall=recall)
    assert found.candidates == (DEPLOY, database(1, 0.6))
    assert sorted((query.text, query.asked) for query in recall.queries) == [
        ("database", parts[0]),
        ("deploy", parts[1]),
    ]


@pytest.mark.parametrize(
    ("part", "found"), [("how do we deploy?", ()), ("as typed", (database(1, 0.45),))]
)
async def test_what_is_found_for_less_than_the_whole_has_to_be_surer(part, found):
    parsed = make_parsed(text="as typed", parts=(part,))
    enriched = await run(parsed, recall=FakeRecall(hits=(database(1, 0.45),)))
    assert enriched.candidates == found


@pytest.mark.parametrize("changes", [{"machine": True}, {"query": ""}, {"query": " \n"}])
async def test_nothing_is_recalled_where_nobody_asked(changes):
    recall = FakeRecall(hits=make_hits(1))
    enriched = await run(make_parsed(**changes), recall=recall)
    assert recall.queries == []
    assert enriched.candidates == ()


async def test_without_a_search_the_prompt_goes_on_degraded():
    with emitted(degraded) as facts:
        enriched = await run(make_parsed(), recall=FakeRecall(raises=RecallUnavailable()))
    assert enriched.degraded == ("search.unavailable",)
    assert facts == [("enrich", {"reason": "search.unavailable"})]


async def test_a_mistake_in_the_search_is_not_hidden():
    with pytest.raises(ExceptionGroup) as raised:
        await run(make_parsed(), recall=FakeRecall(raises=AttributeError("x")))
    assert raised.group_contains(AttributeError)


async def test_a_lesser_search_is_passed_on():
    recall = FakeRecall(hits=make_hits(1), degraded="embedder.unavailable")
    enriched = await run(make_parsed(), recall=recall)
    assert enriched.degraded == ("embedder.unavailable",)
    assert len(enriched.candidates) == 1


async def test_everything_marked_is_kept_in_its_order():
    marked = tuple(Marked(content=f"note {n}", marker="[remember]") for n in range(3))
    enriched = await run(make_parsed(marked=marked))
    assert [kept.summary for kept in enriched.kept] == ["note 0", "note 1", "note 2"]
    assert [kept.memory_id[-1] for kept in enriched.kept] == ["0", "1", "2"]


async def test_a_rehearsal_keeps_nothing():
    keeper = FakeKeeper()
    parsed = make_parsed(make_prompt(rehearsal=True), marked=(MARKED,))
    assert (await run(parsed, keeper=keeper)).kept == ()
    assert keeper.kept == []


async def test_what_is_marked_is_kept_even_while_nothing_can_be_found():
    enriched = await run(
        make_parsed(marked=(MARKED,)), recall=FakeRecall(raises=RecallUnavailable())
    )
    assert [kept.outcome for kept in enriched.kept] == ["stored"]


async def test_keeping_and_recalling_do_not_wait_for_each_other():
    both = anyio.Event()

    class Meeting:
        """Opens when both sides have come."""

        came = 0

        async def wait(self):
            self.came += 1
            if self.came == 2:
                both.set()
            await both.wait()

    gate = Meeting()
    recall, keeper = FakeRecall(gate=gate), FakeKeeper(gate=gate)
    await run(make_parsed(marked=(MARKED,)), recall=recall, keeper=keeper)
    assert both.is_set()


async def test_a_deadline_cancels_what_hangs():
    recall = FakeRecall(gate=anyio.Event())
    with anyio.move_on_after(0) as scope:
        await checkpoint()
        await run(make_parsed(), recall=recall)
    assert scope.cancelled_caught


async def test_the_projects_facts_are_those_of_its_root():
    projects = FakeProjects(known=ProjectFacts(name="shop", test_command="make test"))
    enriched = await run(make_parsed(), projects=projects)
    assert projects.asked == [PLACE.root]
    assert enriched.project.test_command == "make test"


async def test_candidates_come_through_as_they_were_found():
    hit = make_hit(make_memory(7), 0.66)
    enriched = await run(make_parsed(), recall=FakeRecall(hits=[hit]))
    assert enriched.candidates == (hit,)


# --- with knowledge -------------------------------------------------------------------------------


async def run_knowing(
    text, *, hits=(), guides=None, facts=None, prompt=None, there=(), memories=()
):
    recall = FakeRecall(hits=hits)
    catalogue = FakeCatalogue(memories=memories)
    knowledge = Knowledge(
        guides or FakeGuides(), catalogue, lambda: NOW, warnings=FakeWarnings(memories)
    )
    with anyio.fail_after(PATIENCE_S):
        event = await enrich(
            parse(prompt or make_prompt(text)),
            recall=recall,
            keeper=FakeKeeper(),
            projects=FakeProjects(known=facts or ProjectFacts(), there=there),
            limit=15,
            knowledge=knowledge,
        )
    return event, recall


async def test_an_order_gets_what_bears_on_it_and_a_question_looks_no_guide_up():
    memory = make_memory(1, "OAuth callback URLs must match exactly", namespace="gotchas")
    guides = FakeGuides(guides=[read_guide(memory)])
    event, _ = await run_knowing("add the GitHub OAuth login", guides=guides, memories=[memory])
    assert [one.memory for one in event.bearing] == [memory]
    assert event.enrichment.known_gotchas == ()

    event, _ = await run_knowing("why does OAuth fail?", guides=guides, memories=[memory])
    assert event.bearing == ()


async def test_guides_are_found_for_the_readable_scopes_and_read_from_candidates_too():
    known = read_guide(make_memory(1, "Implement Google OAuth", namespace="tasks"))
    pattern = make_memory(2, "Hash: bcrypt", namespace="patterns", tags=("authentication",))
    guides = FakeGuides(guides=[known], near=0.4)
    event, recall = await run_knowing(
        "",
        hits=[make_hit(pattern, 0.8)],
        guides=guides,
        prompt=make_prompt("Add user authentication", detailed=True),
    )
    assert [task.id for task in event.enrichment.similar_tasks] == [known.memory_id]
    assert [one.id for one in event.enrichment.applicable_patterns] == [pattern.id]
    ((scopes, _),) = guides.asked
    assert scopes == PLACE.readable
    assert len(recall.queries) == 1


async def test_what_is_pointed_at_is_searched_for_by_its_name_alone():
    memory = make_memory(1, "Auth sessions live in Redis")
    prompt = make_prompt("fix the auth thing", detailed=True)
    event, recall = await run_knowing("", prompt=prompt, hits=[make_hit(memory, 0.3)])
    assert [query.text for query in recall.queries][1:] == ["auth"]
    assert [one.id for one in event.enrichment.resolved_references] == [memory.id]


async def test_the_losing_side_of_a_conflict_is_no_candidate():
    local = make_hit(make_memory(1, "We use bcrypt for password hashing"), 0.9)
    wider = make_hit(make_memory(2, "I use argon2id for password hashing", scope=PLACE.user), 0.9)
    event, _ = await run_knowing("how do we hash passwords", hits=[local, wider])
    assert event.candidates == (local,)
    assert event.enrichment.conflicts[0].loser.id == wider.memory.id


async def test_what_is_wrong_with_a_projects_files_is_told():
    with emitted(degraded) as facts:
        event, _ = await run_knowing("hm", facts=ProjectFacts(degraded=("project_context.shape",)))
    assert event.degraded == ("project_context.shape",)
    assert facts == [("enrich", {"reason": "project_context.shape"})]


async def test_without_the_guides_the_rest_is_known_all_the_same():
    event, _ = await run_knowing(
        "",
        prompt=make_prompt("fix a.py and b.py", detailed=True),
        guides=FakeGuides(raises=RecallUnavailable()),
        there=("a.py",),
    )
    assert event.enrichment.existing_paths == ("a.py",)
    assert event.enrichment.similar_tasks == ()


async def test_a_turn_that_nobody_typed_is_not_enriched():
    guides = FakeGuides()
    event, recall = await run_knowing("/compact", guides=guides)
    assert guides.asked == recall.queries == []
    assert event.enrichment.suggestions == ()


async def test_rarity_is_looked_up_only_where_somebody_reads_it():
    plain, _ = await run_knowing("hash passwords")
    detailed, _ = await run_knowing("", prompt=make_prompt("hash passwords", detailed=True))
    assert plain.enrichment.rarity == ()
    assert dict(detailed.enrichment.rarity) == {"hash": 0.5, "passwords": 0.5}


async def test_what_only_a_reader_gets_to_see_is_gathered_for_a_reader_alone():
    memory = make_memory(1, "Auth sessions live in Redis", updated_at=NOW)
    text, how = "where is the auth thing of a.py?", {"hits": [make_hit(memory, 0.9)]}
    for_readers = ("existing_paths", "recent_work", "suggestions", "rarity", "resolved_references")
    plain, recall = await run_knowing(text, there=("a.py",), **how)
    assert len(recall.queries) == 1
    assert [getattr(plain.enrichment, name) for name in for_readers] == [()] * len(for_readers)
    prompt = make_prompt(text, detailed=True)
    detailed, recall = await run_knowing("", prompt=prompt, there=("a.py",), **how)
    assert len(recall.queries) == 2
    assert all(getattr(detailed.enrichment, name) for name in for_readers)


async def test_an_order_gets_the_rule_that_it_breaks_by_name():
    rule = make_memory(1, "axios was thrown out, use packages/http", namespace="decisions")
    for text, broken in (("pull in axios for it", [rule]), ("why not axios?", []), ("fix it", [])):
        event, _ = await run_knowing(text, memories=[rule])
        assert [one.memory for one in event.bearing] == broken


async def test_an_order_gets_what_says_that_such_work_needs_it():
    orders = tuple(Trigger(order=one) for one in ("add a refund endpoint", "pay an invoice"))
    needed = make_memory(1, "Money is whole pence", namespace="gotchas", triggers=orders)
    for text, found in (
        ("add an endpoint that refunds a payment", [needed]),
        ("how do refunds reach the endpoint?", []),
        ("rename foo to bar", []),
    ):
        event, _ = await run_knowing(text, guides=FakeGuides(near=0.7), memories=[needed])
        assert [one.memory for one in event.bearing] == found
        assert all(one.why == "is to be known before such work" for one in event.bearing)


async def test_of_an_order_it_is_known_what_it_points_at():
    memory = make_memory(1, "Auth sessions live in Redis", updated_at=NOW)
    event, recall = await run_knowing("fix the auth thing", hits=[make_hit(memory, 0.9)])
    assert [one.id for one in event.enrichment.resolved_references] == [memory.id]
    assert event.enrichment.recent_work == event.enrichment.suggestions == ()
    assert len(recall.queries) == 2


async def test_what_comes_out_of_the_store_is_redacted_and_neutralised():
    knowledge = Knowledge(
        FakeGuides(), FakeCatalogue(), lambda: NOW, clean=lambda text: text.replace("s3cret", "…")
    )
    assert knowledge.tidy("a <invoke> s3cret") == "a ‹invoke› …"
    assert knowledge.tidy("plain text, as it is.") == "plain text, as it is."


class FakeChronicle:
    """Has ``memories``, whatever time is asked for; or raises."""

    def __init__(self, *memories, raises=None):
        self.memories, self.raises = memories, raises

    async def made(self, scopes, *, limit, namespaces=(), within=None, by_use=False):
        if self.raises is not None:
            raise self.raises
        return self.memories[:limit]


async def looked_back(text, chronicle, recall):
    with anyio.fail_after(PATIENCE_S):
        return await enrich(
            parse(make_prompt(text)),
            recall=recall,
            keeper=FakeKeeper(),
            projects=FakeProjects(),
            limit=15,
            hindsight=Hindsight(chronicle, lambda: NOW, UTC),
        )


async def test_a_question_about_a_time_is_looked_up_and_not_searched_for():
    recall, memory = FakeRecall(hits=make_hits(3)), make_memory(7)
    enriched = await looked_back("what did we do last week?", FakeChronicle(memory), recall)
    assert enriched.looked_up
    assert [hit.memory for hit in enriched.candidates] == [memory]
    assert enriched.span.since.isoformat() == "2026-02-16T00:00:00+00:00"
    assert recall.queries == []
    nothing = await looked_back("what did we do last week?", FakeChronicle(), recall)
    assert nothing.candidates == ()


async def test_a_subject_is_searched_for_in_its_time_and_elsewhere_where_that_has_nothing():
    prompt = "what did we decide last week about Kafka?"
    recall = FakeRecall(hits=make_hits(1))
    enriched = await looked_back(prompt, FakeChronicle(), recall)
    assert not enriched.looked_up
    [query] = recall.queries
    assert query.since == enriched.span.since
    assert query.until < enriched.span.until
    empty = FakeRecall()
    await looked_back(prompt, FakeChronicle(), empty)
    assert [query.since is None for query in empty.queries] == [False, True]


class FakeTalk:
    """What was said in sessions; it keeps what it was asked."""

    def __init__(self):
        self.asked = []

    async def find(self, text, place, *, session):
        self.asked.append(text)
        return ()


async def test_sessions_are_asked_for_no_order_in_another_language():
    talk = FakeTalk()
    for prompt in ("corrige les fautes dans ce texte", "ありがとう、また明日", "rename lease.go"):
        await run(parse(make_prompt(prompt)), conversations=talk)
    await run(parse(make_prompt("pourquoi corrige-t-on ce texte ?")), conversations=talk)
    assert talk.asked == ["rename lease.go", "pourquoi corrige-t-on ce texte ?"]


async def test_any_other_prompt_is_searched_for_as_ever():
    recall = FakeRecall(hits=make_hits(1))
    enriched = await looked_back("how do we hash passwords?", FakeChronicle(make_memory(7)), recall)
    assert not enriched.looked_up
    assert [query.since for query in recall.queries] == [None]


async def test_while_nothing_can_be_looked_up_the_prompt_goes_on_degraded():
    chronicle = FakeChronicle(raises=RecallUnavailable())
    with emitted(degraded) as facts:
        enriched = await looked_back("what did we do last week?", chronicle, FakeRecall())
    assert enriched.degraded == ("search.unavailable",)
    assert facts == [("enrich", {"reason": "search.unavailable"})]
