from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.values import Memory, Provenance, Scope
from subcog.pipeline.imports.item import BadImport
from subcog.pipeline.imports.markdown import read_markdown, write_memory

NOW = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
TRICKY = st.sampled_from(
    "\n|\n\n|## [decisions] x|<!-- subcog:end -->|\\<!-- subcog:end -->|-->|--|```|\\|---|\t| |é"
    "|<!-- subcog:memory {} -->".split("|")
)
TEXTS = st.lists(
    TRICKY | st.text(st.characters(exclude_categories=("Cs",)), max_size=20), max_size=12
).map("".join)


def memory(**fields):
    known = {
        "id": f"mem_{1:026}",
        "scope": Scope("project", "shop"),
        "namespace": "decisions",
        "content": "We use DuckDB",
        "summary": "We use DuckDB",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Memory(**(known | fields))


def written(*memories):
    return "\n".join(write_memory(each) for each in memories)


def read(folder, text):
    file = folder / "notes.md"
    file.write_bytes(text.encode())
    return list(read_markdown(file, name="notes.md"))


def same(item, memory):
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    return fields == {name: getattr(memory, name) for name in fields}


def test_a_memory_comes_back_with_every_field(tmp_path):
    one = memory(
        version=4,
        tags=("a-->", "b--c", '"'),
        confidence_percent=55,
        provenance=Provenance(hook="PreCompact", file="a -- b.py", gate="explicit"),
        valid_to=NOW,
        superseded_by=f"mem_{2:026}",
        sources=(Provenance(hook="cli"),),
    )
    [item] = read(tmp_path, written(one))
    assert same(item, one)


@given(content=TEXTS, summary=TEXTS)
def test_no_text_is_changed_on_the_way(tmp_path_factory, content, summary):
    folder = tmp_path_factory.mktemp("markdown", numbered=True)
    first, second = memory(content=content, summary=summary), memory(id=f"mem_{2:026}")
    items = read(folder, written(first, second))
    assert [item.content for item in items] == [content, second.content]
    assert items[0].summary == summary


def test_an_editor_that_writes_carriage_returns_breaks_nothing(tmp_path):
    [item] = read(tmp_path, written(memory(content="one\ntwo")).replace("\n", "\r\n"))
    assert item.content.replace("\r", "") == "one\ntwo"


def test_the_heading_for_readers_may_be_changed_or_left_out(tmp_path):
    text = written(memory(content="the text"))
    changed = text.replace("## [decisions] We use DuckDB", "## [decisions] Something else")
    without = text.replace("## [decisions] We use DuckDB\n\n", "")
    for each in (changed, without):
        assert [item.content for item in read(tmp_path, each)] == ["the text"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("<!-- subcog:end -->", ""), 1),
        (('"version":1', '"version":"x"'), 1),
        (('"version":1', '"version":0'), 1),
        (('"id":"mem_', '"id":"nem_'), 1),
        (("<!-- subcog:memory {", "<!-- subcog:memory "), 1),
    ],
)
def test_a_damaged_memory_is_told_with_its_line(tmp_path, change, line):
    with pytest.raises(BadImport, match=rf"notes\.md, line {line}: "):
        read(tmp_path, written(memory()).replace(*change))


def test_a_memory_that_does_not_end_before_the_next_is_damaged(tmp_path):
    text = written(memory(), memory(id=f"mem_{2:026}")).replace("<!-- subcog:end -->", "", 1)
    with pytest.raises(BadImport, match="line 1: the memory does not end"):
        read(tmp_path, text)


def test_notes_are_one_memory_a_heading(tmp_path):
    text = "before\n\n# One\n\nfirst\n\n### [decisions] Two #\nsecond\nline\n\n## Empty\n"
    items = read(tmp_path, text)
    assert [item.content for item in items] == ["before", "One\n\nfirst", "Two\n\nsecond\nline"]
    assert [item.namespace for item in items] == ["", "", "decisions"]
    assert {item.id for item in items} == {None}
    assert {item.provenance.file for item in items} == {"notes.md"}


def test_a_hash_in_a_code_fence_is_no_heading(tmp_path):
    text = "# One\n\n```sh\n# a comment\n```\n\n~~~\n## no\n```\n## no\n~~~\n# Two\n\nend\n"
    items = read(tmp_path, text)
    assert [item.content.split("\n")[0] for item in items] == ["One", "Two"]


def test_the_properties_of_a_note_are_read(tmp_path):
    text = (
        "---\ntags:\n  - auth\n  - 'web app'\ntype: gotchas\ncreated: 2026-01-02\n---\n\n# T\n\nx\n"
    )
    [item] = read(tmp_path, text)
    assert item.tags == ("auth", "web app")
    assert item.namespace == "gotchas"
    assert item.created_at == datetime(2026, 1, 2, tzinfo=UTC)
    [item] = read(tmp_path, '---\ntags: [a, "b"]\n---\nx')
    assert item.tags == ("a", "b")
    front = (
        "# by hand\ndate created: 2026-01-02\naliases:\n- x\n\ntags: [\n  a\n]\nnested:\n  k: 1\n"
    )
    for properties in (front, ""):
        [item] = read(tmp_path, f"---\n{properties}---\nx")
        assert item.content == "x"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("title: Deploy, then test [on Mondays]", "Deploy, then test [on Mondays]"),
        ("title: [WIP] The canary: one node", "[WIP] The canary: one node"),
        ('title: "Say \\"no\\", always"', 'Say "no", always'),
        ("title: 'It''s slow'", "It's slow"),
        ('title: "One" or "two"', '"One" or "two"'),
        ("title: >-\n  First: one node,\n\n  # then all\ntags: x", "First: one node, # then all"),
        ("title: |\n  Only\n    two\ntype: rule", "Only two"),
        ("title: It goes on\n  below: here", "It goes on below: here"),
        ("links:\n  - url: x\n    title: Theirs\nmore:\n  # of ours\n  title: Ours", "Ours"),
    ],
)
def test_a_property_is_kept_as_it_is_written(tmp_path, written, title):
    [item] = read(tmp_path, f"---\n{written}\n---\nx")
    assert item.content == f"{title}\n\nx"


@pytest.mark.parametrize(
    "line", ["og:title: x", "📅: x", '"due date": x', "Changed (UTC): 2024", "a/b: 3", "%% mine %%"]
)
def test_an_odd_line_among_properties_makes_them_no_text(tmp_path, line):
    [item] = read(tmp_path, f"---\ntitle: A\n{line}\ntags: [a, b]\n---\nx")
    assert (item.content, item.tags) == ("A\n\nx", ("a", "b"))


@pytest.mark.parametrize(
    "text",
    [
        "---\nno end\n",
        "---",
        "---\n" + "x\n" * 100,
        "---\nWe deploy on Mondays.\n---\nAnd test before.\n",
        "---\nname: x\n\nAnd text all the same.\n\n---\n",
        "---\n- an item\n- of no property\n---\nmore",
        "---\nhttps://example.org/runbook\n---\nmore",
    ],
)
def test_a_line_of_dashes_that_opens_no_properties_is_text(tmp_path, text):
    [item] = read(tmp_path, text)
    assert item.content == text.strip()


def test_a_title_between_dashes_is_a_title(tmp_path):
    assert read(tmp_path, "---\n# Title\n---\nx")[-1].content == "Title\n\n---\nx"


def test_notes_and_memories_may_stand_in_one_file(tmp_path):
    items = read(tmp_path, f"# Mine\n\nfirst\n\n{written(memory())}\n# Mine too\n\nlast\n")
    assert [item.id is None for item in items] == [True, False, True]


def test_what_is_not_utf_8_is_told_with_its_line(tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(b"# One\n\nfirst \xff\n")
    with pytest.raises(BadImport, match="not UTF-8"):
        list(read_markdown(file))


def test_an_empty_file_has_no_memories(tmp_path):
    assert read(tmp_path, "") == read(tmp_path, "\n\n# Only a title\n") == []


def test_the_properties_of_a_note_are_kept(tmp_path):
    front = "---\ntitle: Deploys\ncategory: rule\ndate: 2026-01-02\nupdated: 2026-02-01\n---\n"
    first, second = read(tmp_path, f"{front}On Mondays.\n# Canary\nFirst one node.\n")
    assert first.content == "Deploys\n\nOn Mondays."
    assert second.content == "Deploys / Canary\n\nFirst one node."
    assert (first.namespace, first.tags) == ("patterns", ("rule",))
    assert first.updated_at == datetime(2026, 2, 1, tzinfo=UTC)


def test_a_list_without_a_heading_is_one_memory_an_item(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("- Our standup is at 9:30.\n- We use pnpm, not npm,\n  for the workspaces.\n")
    texts = [item.content for item in read_markdown(file)]
    assert texts == ["Our standup is at 9:30.", "We use pnpm, not npm,\nfor the workspaces."]


@pytest.mark.parametrize(
    "text", ["Shopping:\n- a\n- b", "# Shopping\n- a\n- b", "- one\n", "- a\nb"]
)
def test_a_list_that_belongs_to_something_stays_with_it(tmp_path, text):
    file = tmp_path / "notes.md"
    file.write_text(text)
    assert len(list(read_markdown(file))) == 1
