from datetime import timedelta

import pytest
from msgspec.structs import replace

from subcog.bus.events import Admitted, Draft, ForgetRequested, ImportAdmitted
from subcog.bus.values import CleanText, Memory, Provenance
from subcog.sinks.memories.bulk_import import id_in
from subcog.sinks.store.rows import content_hash
from tests.archives import opened_desk
from tests.stores import ELSEWHERE, HERE, START


@pytest.fixture
async def bench(tmp_path):
    async with opened_desk(tmp_path) as bench:
        yield bench


def memory(number=1, text="", **fields):
    known = {
        "id": f"mem_{number:026}",
        "version": 3,
        "scope": HERE,
        "namespace": "decisions",
        "content": text or f"Decision number {number} is about quartzite {number}",
        "summary": "said shortly",
        "tags": ("a", "b"),
        "confidence_percent": 70,
        "provenance": Provenance(hook="PreCompact", session="s", gate="explicit"),
        "created_at": START,
        "updated_at": START + timedelta(days=1),
        "sources": (Provenance(hook="cli"),),
    }
    return Memory(**(known | fields))


async def bring(bench, *memories, known_by_id=True, as_new=False, rehearsal=False, before=()):
    admitted = tuple(
        Admitted(
            draft=Draft(
                memory=replace(each, content="", summary=""),
                known_by_id=known_by_id,
                as_new=as_new,
                before=before,
            ),
            content=CleanText(each.content),
            summary=CleanText(each.summary),
        )
        for each in memories
    )
    event = ImportAdmitted(trace="t", admitted=admitted, declined=0, rehearsal=rehearsal)
    settled = await bench.publish(await bench.archive.bulk_import.store(event))
    return dict(settled.outcomes)


async def everything(bench, scope=HERE):
    return await bench.archive.store.page([scope], limit=1000)


async def test_one_of_ours_comes_back_with_every_field_and_is_found(bench):
    came = memory(valid_from=START, valid_to=START + timedelta(days=999), contradicts="mem_x")
    assert await bring(bench, came) == {"stored": 1}
    assert await everything(bench) == (replace(came, content_hash=content_hash(came.content)),)
    assert await bench.find("quartzite") == [came.id]
    assert bench.archive.topics.lookup("quartzite", (HERE,)) == (came.id,)


async def test_importing_again_changes_nothing(bench):
    came = [memory(number) for number in range(5)]
    await bring(bench, *came)
    before = await everything(bench)
    assert await bring(bench, *came) == {"unchanged": 5}
    assert await everything(bench) == before


async def test_the_newer_version_wins_whichever_side_has_it(bench):
    await bring(bench, memory(text="third"))
    assert await bring(bench, memory(text="fifth", version=5)) == {"updated": 1}
    assert await bring(bench, memory(text="fourth", version=4)) == {"unchanged": 1}
    [now] = await everything(bench)
    assert (now.content, now.version) == ("fifth", 5)


async def test_a_text_that_was_changed_in_the_file_is_a_new_version(bench):
    await bring(bench, memory(text="as it was"))
    assert await bring(bench, memory(text="as somebody edited it")) == {"updated": 1}
    [now] = await everything(bench)
    assert (now.content, now.version) == ("as somebody edited it", 4)
    assert now.provenance.gate == "changed in an imported file"
    assert now.updated_at == bench.clock.now


async def test_what_was_forgotten_here_stays_forgotten(bench):
    await bring(bench, memory())
    await bench.archive.forget(ForgetRequested(trace="t", id=memory().id, scopes=(HERE,)))
    assert await bring(bench, memory()) == {"forgotten": 1}
    assert await everything(bench) == ()


@pytest.mark.parametrize("known_by_id", [False, True])
async def test_a_forgotten_text_comes_back_under_no_other_id(bench, known_by_id):
    await bring(bench, memory(1, "We use argon2id for passwords"))
    await bench.archive.forget(ForgetRequested(trace="t", id=memory(1).id, scopes=(HERE,)))
    came = [memory(2, "**we use `argon2id`** for passwords!"), memory(3, "Something else")]
    for rehearsal in (True, False):
        outcomes = await bring(bench, *came, known_by_id=known_by_id, rehearsal=rehearsal)
        assert outcomes == {"forgotten": 1, "stored": 1}
    assert [each.content for each in await everything(bench)] == ["Something else"]


@pytest.mark.parametrize("known_by_id", [False, True])
async def test_what_a_project_forgot_under_an_earlier_name_is_not_imported(bench, known_by_id):
    await bring(bench, memory())
    await bench.archive.forget(ForgetRequested(trace="t", id=memory().id, scopes=(HERE,)))
    came, how = memory(2, memory().content, scope=ELSEWHERE), {"known_by_id": known_by_id}
    assert await bring(bench, came, before=(HERE,), **how) == {"forgotten": 1}
    assert await bring(bench, came, **how) == {"stored": 1}


async def test_a_forgotten_text_does_not_come_back_under_a_heading(bench):
    await bring(bench, memory(1, "The night watch drinks decaf"))
    await bench.archive.forget(ForgetRequested(trace="t", id=memory(1).id, scopes=(HERE,)))
    below = memory(2, "Crew\n\n- The night watch drinks decaf.")
    after = memory(3, "We eat at six.\n\nThe night watch drinks decaf")
    came = await bring(bench, below, after, known_by_id=False)
    assert came == {"forgotten": 1, "stored": 1}


async def test_a_memory_that_is_here_does_not_turn_into_a_forgotten_text(bench):
    await bring(bench, memory(1, "We use argon2id"), memory(2, "We use bcrypt"))
    await bench.archive.forget(ForgetRequested(trace="t", id=memory(1).id, scopes=(HERE,)))
    assert await bring(bench, memory(2, "We use argon2id", version=9)) == {"forgotten": 1}
    assert await bring(bench, memory(2, "We use scrypt", version=9)) == {"updated": 1}


async def test_a_copy_in_another_scope_gets_ids_of_its_own_always_the_same(bench):
    old, new = memory(1, superseded_by=memory(2).id), memory(2, supersedes=memory(1).id)
    await bring(bench, old, new)
    copies = [replace(each, scope=ELSEWHERE) for each in (old, new)]
    assert await bring(bench, *copies) == {"stored": 2}
    assert await bring(bench, *copies) == {"unchanged": 2}
    by_id = {each.id: each for each in await everything(bench, ELSEWHERE)}
    assert by_id[id_in(ELSEWHERE, old.id)].superseded_by == id_in(ELSEWHERE, new.id)
    assert by_id[id_in(ELSEWHERE, new.id)].supersedes == id_in(ELSEWHERE, old.id)
    assert len(await everything(bench)) == 2


async def test_one_id_in_two_scopes_of_one_batch_is_a_memory_in_each(bench):
    old, new = memory(1), memory(2, supersedes=memory(1).id)
    copies = [replace(each, scope=ELSEWHERE) for each in (new, old)]
    assert await bring(bench, old, *copies, new) == {"stored": 4}
    assert await bring(bench, old, *copies, new) == {"unchanged": 4}
    assert {each.id for each in await everything(bench, ELSEWHERE)} == {
        new.id,
        id_in(ELSEWHERE, old.id),
    }
    assert (await bench.current(id_in(HERE, new.id))).supersedes == old.id


async def test_what_is_to_be_new_changes_nothing_that_is_here_and_chooses_no_id(bench):
    await bring(bench, memory(1, "as it was"))
    came = [
        memory(1, "as somebody would have it", version=9),
        memory(2, supersedes=memory(1).id),
        memory(3, supersedes=memory(2).id),
    ]
    assert await bring(bench, *came, as_new=True) == {"differs": 1, "stored": 2}
    found = {each.content: each for each in await everything(bench)}
    assert found["as it was"].id == memory(1).id
    two, three = (found[came[at].content] for at in (1, 2))
    assert (two.id, two.supersedes) == (id_in(HERE, memory(2).id), memory(1).id)
    assert (three.id, three.supersedes) == (id_in(HERE, memory(3).id), two.id)
    counts = {"differs": 1, "unchanged": 2}
    assert await bring(bench, *came, as_new=True) == counts
    assert len(await everything(bench)) == 3


async def test_a_superseded_memory_comes_back_hidden(bench):
    await bring(bench, memory(1, superseded_by=memory(2).id), memory(2, supersedes=memory(1).id))
    assert await bench.find("quartzite") == [memory(2).id]


async def test_of_strangers_each_text_is_stored_once(bench):
    one, same = memory(1, "The same words"), memory(2, " The same words\n")
    assert await bring(bench, one, same, known_by_id=False) == {"stored": 1, "unchanged": 1}
    again = memory(3, "The same words")
    assert await bring(bench, again, known_by_id=False) == {"unchanged": 1}
    elsewhere = memory(4, "The same words", namespace="learnings")
    assert await bring(bench, elsewhere, known_by_id=False) == {"unchanged": 1}


async def test_a_rehearsal_counts_and_stores_nothing(bench):
    await bring(bench, memory(1))
    counts = await bring(bench, memory(1), memory(2), memory(2), rehearsal=True)
    assert counts == {"unchanged": 2, "stored": 1}
    assert len(await everything(bench)) == 1


async def test_a_thousand_at_once_are_all_found(bench):
    came = [memory(number) for number in range(1000)]
    assert await bring(bench, *came) == {"stored": 1000}
    assert bench.archive.count == 1000
    assert (await bench.find("quartzite 777"))[0] == memory(777).id


def test_the_id_of_a_copy_keeps_the_time_and_the_form():
    copy = id_in(ELSEWHERE, "mem_01m80a4jxjsh35q3dhqe8kxxeb")
    assert copy.startswith("mem_01m80a4jxj")
    assert len(copy) == 30
    assert copy != id_in(HERE, "mem_01m80a4jxjsh35q3dhqe8kxxeb")
    assert set(copy[4:]) <= set("0123456789abcdefghjkmnpqrstvwxyz")


FORMS = ("curl -o names the output file", "curl -O names the output file")


async def test_two_texts_of_an_import_that_differ_in_case_are_two_versions(bench):
    came = [memory(number, text, version=1) for number, text in enumerate(FORMS)]
    for rehearsal in (True, False):
        outcomes = await bring(bench, *came, known_by_id=False, as_new=True, rehearsal=rehearsal)
        assert outcomes == {"stored": 1, "updated": 1}
    [now] = await everything(bench)
    history = await bench.archive.store.history(now.id, [HERE])
    assert [(one.version, one.content) for one in history] == [(1, FORMS[0]), (2, FORMS[1])]
    assert now.provenance.gate == "only case or white space differs"

    again = await bring(bench, *came, known_by_id=False, as_new=True)
    assert again == {"differs": 1, "unchanged": 1}
    assert await everything(bench) == (now,)


@pytest.mark.parametrize(("as_new", "outcome"), [(True, "differs"), (False, "updated")])
async def test_what_is_here_in_another_case_is_not_told_to_be_unchanged(bench, as_new, outcome):
    await bring(bench, memory(1, FORMS[0]))
    came = memory(2, FORMS[1])
    assert await bring(bench, came, known_by_id=False, as_new=as_new) == {outcome: 1}
    [now] = await everything(bench)
    assert now.content == FORMS[outcome == "updated"]
    assert await bring(bench, memory(3, FORMS[0]), known_by_id=False, as_new=as_new) == {
        ("unchanged" if as_new else "differs"): 1
    }
