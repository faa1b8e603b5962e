from subcog.sinks.mcp.completion import Values, complete, values_in


class FakePort:
    """Holds memories and sessions of these ids, the oldest first."""

    def __init__(self, ids=(), sessions=()):
        self.ids, self.sessions = list(ids), list(sessions)

    async def latest(self, *, limit, namespaces=()):
        return [{"id": each} for each in self.ids[::-1][:limit]]

    async def starting(self, beginning, *, limit):
        return [each for each in self.ids if each.startswith(beginning)][:limit]

    async def call(self, name, params, *, brief=False):
        return {"sessions": [{"id": each} for each in self.sessions[::-1][: params["limit"]]]}


MANY = [f"mem_01k{number:03}" for number in range(130)]


async def completed(port, typed, template="memory/{id}"):
    return complete(typed, await values_in(port, f"subcog://{template}", "id", typed))


async def test_of_more_ids_than_are_told_no_number_is_told_and_that_there_are_more():
    for typed in ("", "m", "mem_", "MEM_01"):
        found = await completed(FakePort(MANY), typed)
        assert found.values == MANY[:-101:-1], "the newest"
        assert (found.total, found.has_more) == (None, True)


async def test_an_old_id_is_found_by_its_beginning_with_or_without_prefix_in_any_case():
    for typed in (MANY[0], MANY[0][4:], MANY[0].upper(), "mem_01k00"):
        found = await completed(FakePort(MANY), typed)
        assert MANY[0] in found.values
        assert (found.total, found.has_more) == (len(found.values), False)


async def test_ids_that_are_few_are_counted():
    found = await completed(FakePort(MANY[:3]), "")
    assert (found.values, found.total, found.has_more) == (MANY[2::-1], 3, False)
    assert (await completed(FakePort(), "")).total == 0


async def test_an_old_session_is_found_and_of_too_many_no_number_is_told():
    many = [f"{number:04}-a" for number in range(1200)]
    found = await completed(FakePort(sessions=many[:130]), many[0], "session/{id}")
    assert (found.values, found.total, found.has_more) == ([many[0]], 1, False)
    found = await completed(FakePort(sessions=many), "0", "session/{id}")
    assert (found.total, found.has_more) == (None, True)


def test_what_begins_as_typed_comes_before_what_has_it_elsewhere():
    found = complete("B", Values(["ab", "ba", "b", "c"]))
    assert (found.values, found.total, found.has_more) == (["ba", "b", "ab"], 3, False)
